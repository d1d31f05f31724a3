"""Having milestones proposed, and deciding about each proposal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from judging.analysis.milestone_proposals.proposing import ProposalParams, ProposalsMade
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from runs.knowledge.learning import start_learning
from runs.models import LearningItem, LearningJob, Milestone, Task, User
from webagent.milestones.findings import Definition

ACCEPTED, REJECTED = "accepted", "rejected"


class ProposalRefusedError(Exception):
    """Nothing was stored; the message says why and what to do."""


def start_proposals(*, task: Task, run_ids: Sequence[UUID], model: str, user: User) -> LearningJob:
    """Queue the question about a task and its successful runs.

    Raises:
        WorkRefusedError: the model cannot be asked.
    """
    params = ProposalParams(task=task.pk, runs=list(run_ids))
    return start_learning(
        kind=LearningJob.Kind.MILESTONES,
        model=model,
        params=params.model_dump(mode="json"),
        user=user,
    )


@transaction.atomic
def accept_proposals(
    *, item: LearningItem, task: Task, chosen: Mapping[int, Definition], user: User
) -> None:
    """Make milestones of these proposals, as the person has worded them, behind those there are.

    Raises:
        ProposalRefusedError: a name is taken already, or somebody has decided meanwhile.
    """
    made = _undecided(item, chosen)
    milestones = [*definitions_of(task), *chosen.values()]
    names = [one.name for one in milestones]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ProposalRefusedError(
            _("The task already has a milestone of this name: %(name)s.") % {"name": twice[0]}
        )
    set_milestones(task=task, milestones=milestones, user=user, origin=Milestone.Origin.PROPOSED)
    _decide(item, made, dict.fromkeys(chosen, ACCEPTED))


@transaction.atomic
def reject_proposals(*, item: LearningItem, numbers: Sequence[int]) -> None:
    """Put these proposals aside.

    Raises:
        ProposalRefusedError: somebody has decided meanwhile.
    """
    made = _undecided(item, numbers)
    _decide(item, made, dict.fromkeys(numbers, REJECTED))


def _undecided(item: LearningItem, numbers: Sequence[int] | Mapping[int, object]) -> ProposalsMade:
    locked = LearningItem.objects.select_for_update().get(pk=item.pk)
    made = ProposalsMade.model_validate(locked.result)
    open_ = set(range(len(made.proposals))) - set(made.decisions)
    if not set(numbers) <= open_:
        raise ProposalRefusedError(_("Somebody else decided these proposals."))
    return made


def _decide(item: LearningItem, made: ProposalsMade, decisions: Mapping[int, str]) -> None:
    made.decisions |= decisions
    LearningItem.objects.filter(pk=item.pk).update(result=made.model_dump(mode="json"))
