"""Learning jobs that propose milestones: one task each, from its runs that succeeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings as site
from pydantic import BaseModel, JsonValue

from judging.evaluators.contract import NO_VERDICT, REASONS
from judging.evaluators.judges.milestones import MilestoneProposer, ProposalSettings, Proposed
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.registry import Unasked
from judging.evaluators.whole_runs import trajectory_of
from runs.knowledge.learning import Learned, Learning, learns
from runs.models import LearningJob, Run, RunStatus, Task
from runs.queue.paid_work import WorkRefusedError
from webagent.llm.interface import LanguageModel, Request
from webagent.placeholders import resolve_text


class ProposalParams(BaseModel):
    """What a job is about: a task, and the runs of it that are told."""

    task: int
    runs: list[UUID]


class StoredProposal(BaseModel):
    """One proposal as it is kept with its job."""

    name: str
    rationale: str
    weight: float
    is_ordered: bool


class ProposalsMade(BaseModel):
    """What is kept of a job: proposals, what asking took, and what people decided so far.

    Decisions by the number of the proposal: accepted or rejected. Nothing here is a milestone.
    """

    proposals: list[StoredProposal] = []
    stage: dict[str, JsonValue] = {}
    runs: list[UUID] = []
    decisions: dict[int, str] = {}


class MilestoneProposals(Learning):
    """The job's task becomes one item."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        """The task."""
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
            {"proposals": _rows(found), "stage": found.stage.as_dict(), "runs": params.runs}
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
    runs = Run.objects.filter(pk__in=run_ids, task=task, status__in=RunStatus.ended())
    by_id = {run.pk: run for run in runs.select_related("task")}
    shown = [trajectory_of(by_id[each], settings) for each in run_ids if each in by_id]
    return resolve_text(task.goal, site.SITE_HOSTS), shown


def request_for(task: Task, run_ids: Sequence[UUID], model: str) -> Request:
    """What would be asked, to tell what it takes."""
    settings = ProposalSettings(model=model)
    proposer = MilestoneProposer(language_model=Unasked(), settings=settings)
    return proposer.requests(*told(task, run_ids, settings))[0]


def _rows(found: Proposed) -> list[dict[str, JsonValue]]:
    return [
        {
            "name": each.name,
            "rationale": each.rationale,
            "weight": each.weight,
            "is_ordered": each.is_ordered,
        }
        for each in found.proposals
    ]


learns(LearningJob.Kind.MILESTONES, MilestoneProposals())
