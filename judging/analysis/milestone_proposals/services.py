"""Having milestones proposed, and deciding about each proposal."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings as site
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import BaseModel, JsonValue

from judging.evaluators.contract import NO_VERDICT, REASONS
from judging.evaluators.judges.milestones import MilestoneProposer, Proposal, ProposalSettings
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.registry import Unasked
from judging.evaluators.whole_runs import trajectory_of
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from runs.knowledge.learning import Learned, Learning, learns
from runs.models import LearningItem, LearningJob, Milestone, Run, Task, User
from runs.queue.paid_work import WorkRefusedError
from webagent.environment.placeholders import resolve_text
from webagent.llm.interface import LanguageModel, Request
from webagent.milestones.findings import Definition

ACCEPTED, REJECTED = "accepted", "rejected"


class ProposalParams(BaseModel):
    """What a job is about: a task, and the runs of it that are told."""

    task: int
    runs: list[UUID]


class ProposalsMade(BaseModel):
    """What is kept of a job: proposals, what asking took, and what people decided so far.

    Decisions by the number of the proposal: accepted or rejected. Nothing here is a milestone.
    """

    proposals: list[Proposal] = []
    stage: dict[str, JsonValue] = {}
    runs: list[UUID] = []
    decisions: dict[int, str] = {}


class MilestoneProposals(Learning):
    """The job's task becomes one item."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        params = ProposalParams.model_validate(job.params)
        if not Task.objects.filter(pk=params.task).exists():
            raise WorkRefusedError("The task is not there any more.")
        return [str(params.task)]

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        """Its proposals, or why there are none."""
        params = ProposalParams.model_validate(job.params)
        asked_model = ProposalSettings(model=job.model)
        task, runs = told(Task.objects.get(pk=key), params.runs, asked_model)
        proposer = MilestoneProposer(language_model=model, settings=asked_model)
        found = proposer.propose(task, runs)
        made = ProposalsMade.model_validate(
            {
                "proposals": list(found.proposals),
                "stage": found.stage.as_dict(),
                "runs": params.runs,
            }
        )
        if found.proposals:
            return Learned(result=made.model_dump(mode="json"))
        why = REASONS.get(found.stage.error_kind, NO_VERDICT)
        problem = f"{why}: {found.stage.error}" if found.stage.error else why
        return Learned(result=made.model_dump(mode="json"), problem=problem[:500])

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        """How many there are; a person makes milestones of them."""
        items = job.items.filter(problem="").values_list("result", flat=True)
        return {
            "proposals": sum(len(ProposalsMade.model_validate(each).proposals) for each in items)
        }


def told(
    task: Task, run_ids: Sequence[UUID], settings: ProposalSettings
) -> tuple[str, list[Trajectory]]:
    """The task's words and its runs, as the model is shown them."""
    runs = Run.objects.ended().filter(pk__in=run_ids, task=task)
    by_id = {run.pk: run for run in runs.select_related("task")}
    shown = [trajectory_of(by_id[each], settings) for each in run_ids if each in by_id]
    return resolve_text(task.goal, site.SITE_HOSTS), shown


def request_for(task: Task, run_ids: Sequence[UUID], model: str) -> Request:
    """What would be asked, to tell what it takes."""
    settings = ProposalSettings(model=model)
    proposer = MilestoneProposer(language_model=Unasked(), settings=settings)
    return proposer.requests(*told(task, run_ids, settings))[0]


class ProposalRefusedError(Exception):
    """Nothing was stored; the message says why and what to do."""


@transaction.atomic
def accept_proposals(
    *, item: LearningItem, task: Task, chosen: Mapping[int, Definition], user: User
) -> None:
    """Make milestones of these proposals, as the person has worded them, behind those there are.

    Raises ProposalRefusedError where a name is taken already, or somebody has decided meanwhile.
    """
    _decide(item, dict.fromkeys(chosen, ACCEPTED))
    milestones = [*definitions_of(task), *chosen.values()]
    names = [one.name for one in milestones]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ProposalRefusedError(
            _("The task already has a milestone of this name: %(name)s.") % {"name": twice[0]}
        )
    set_milestones(task=task, milestones=milestones, user=user, origin=Milestone.Origin.PROPOSED)


@transaction.atomic
def reject_proposals(*, item: LearningItem, numbers: Sequence[int]) -> None:
    """Put these proposals aside.

    Raises ProposalRefusedError where somebody has decided meanwhile.
    """
    _decide(item, dict.fromkeys(numbers, REJECTED))


def _decide(item: LearningItem, decisions: Mapping[int, str]) -> None:
    """Call it in a transaction, which what else may be refused takes back."""
    locked = LearningItem.objects.select_for_update().get(pk=item.pk)
    made = ProposalsMade.model_validate(locked.result)
    undecided = set(range(len(made.proposals))) - set(made.decisions)
    if not decisions.keys() <= undecided:
        raise ProposalRefusedError(_("Somebody else decided these proposals."))
    made.decisions |= decisions
    LearningItem.objects.filter(pk=item.pk).update(result=made.model_dump(mode="json"))


learns(LearningJob.Kind.MILESTONES, MilestoneProposals())
