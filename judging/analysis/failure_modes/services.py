"""People's word on how runs failed: statement it of one run or of many, and taking it back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from judging.analysis.failure_modes.proposals import Proposed, proposed_for
from judging.models import FailureReview
from runs.models import Run, RunStatus, User
from webagent.recovery.failure_kinds import OF_THE_AGENT, Mode, Side

Decision = FailureReview.Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person says of a run. Without modes: none of them fits."""

    modes: frozenset[Mode] = frozenset()
    side: Side | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if Mode.ENVIRONMENT in self.modes and len(self.modes) > 1:
            raise ValueError("the environment's failure is not the agent's as well")
        if self.side and not self.modes & set(OF_THE_AGENT):
            raise ValueError("operation and reasoning are the agent's")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """How many runs were reviewed, and the batch by which that can be undone."""

    batch: UUID
    changed: int
    without_proposal: int = 0
    """Runs with nothing proposed that could be confirmed."""


def review_runs(*, user: User, run_ids: Iterable[UUID], statement: Statement) -> ReviewResult:
    """Say the same of all these runs, in one batch. Whoever may see them is the caller's matter."""
    return _review_runs(user, run_ids, lambda _proposed: statement)


def confirm_proposals(*, user: User, run_ids: Iterable[UUID], note: str = "") -> ReviewResult:
    """Say of each run what is proposed for it; runs with nothing proposed are left alone."""

    def as_proposed(proposed: Proposed) -> Statement | None:
        if not proposed.modes:
            return None
        return Statement(modes=proposed.modes, side=proposed.side, note=note)

    return _review_runs(user, run_ids, as_proposed)


@transaction.atomic
def undo_reviews(*, user: User, batch: UUID, run_ids: Iterable[UUID]) -> int:
    """Give runs of a batch the word from before, and say how many.

    Runs of which somebody has spoken since are left as they are.
    """
    locked = _locked(run_ids)
    undone = [
        FailureReview(
            run_id=each.run_id,
            by=user,
            replaces=each,
            proposed=each.proposed,
            **_content(each.replaces),
        )
        for each in _current(locked).filter(batch=batch).select_related("replaces")
    ]
    _append(undone)
    return len(undone)


@transaction.atomic
def _review_runs(
    user: User, run_ids: Iterable[UUID], saying_of: Callable[[Proposed], Statement | None]
) -> ReviewResult:
    locked = _locked(run_ids)
    current = {each.run_id: each for each in _current(locked)}
    proposals = proposed_for(locked)
    batch = uuid.uuid4()
    reviews: list[FailureReview] = []
    without_proposal = 0
    for run_id in locked:
        proposed = proposals[run_id]
        statement = saying_of(proposed)
        if statement is None:
            without_proposal += 1
            continue
        review = _review(run_id, user, statement, proposed, batch)
        before = current.get(run_id)
        if before is None or _content(before) != _content(review):
            review.replaces = before
            reviews.append(review)
    _append(reviews)
    return ReviewResult(batch=batch, changed=len(reviews), without_proposal=without_proposal)


def _review(
    run_id: UUID, user: User, statement: Statement, proposed: Proposed, batch: UUID
) -> FailureReview:
    return FailureReview(
        run_id=run_id,
        by=user,
        batch=batch,
        decision=_decision(statement, proposed),
        modes={mode.value: {} for mode in Mode if mode in statement.modes},
        side=statement.side or "",
        note=statement.note,
        proposed=proposed.as_json(),
    )


def _decision(statement: Statement, proposed: Proposed) -> Decision:
    """What it makes of the proposal."""
    if not proposed.spoken:
        return Decision.OWN
    if (statement.modes, statement.side) == (proposed.modes, proposed.side):
        return Decision.CONFIRMED
    return Decision.CHANGED if statement.modes else Decision.REJECTED


def _locked(run_ids: Iterable[UUID]) -> list[UUID]:
    """Those of the runs that have ended, in an order of their own, nobody else's until stored."""
    runs = Run.objects.select_for_update(of=("self",)).filter(
        pk__in=list(run_ids), status__in=RunStatus.ended()
    )
    return list(runs.order_by("pk").values_list("pk", flat=True))


def _current(run_ids: Sequence[UUID]) -> QuerySet[FailureReview]:
    return FailureReview.objects.filter(run__in=run_ids, is_current=True)


def _content(review: FailureReview | None) -> dict[str, object]:
    if review is None:
        return {"decision": Decision.WITHDRAWN.value, "modes": {}, "side": "", "note": ""}
    return {
        "decision": str(review.decision),
        "modes": review.modes,
        "side": review.side,
        "note": review.note,
    }


def _append(reviews: Sequence[FailureReview]) -> None:
    replaced = [each.replaces_id for each in reviews if each.replaces_id is not None]
    FailureReview.objects.filter(pk__in=replaced).update(is_current=False)
    FailureReview.objects.bulk_create(reviews)
