"""How runs failed: what people say, in one place to store it and to take it back, and what rules
and a judge propose beside it.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from judging.evaluators.failure_modes import (
    FOUND,
    SIDE,
    FailureJudgeEvaluator,
    MechanicalFailureModes,
)
from judging.models import Evaluation, FailureReview
from judging.models.causes import Batch
from runs.models import Run, User
from webagent.trajectory.values import items, mapping
from webagent.trajectory.verdict_records import OF_THE_AGENT, Mode, Side


class ProposedMode:
    """One mode with its reason: the rule's key, or the judge's words.

    Details may have been imported, so their form is not taken for granted.
    """

    def __init__(self, mode: Mode, said: object) -> None:
        known = mapping(said)
        self.mode = mode
        self.rule = str(known.get("rule") or "")
        self.rationale = str(known.get("rationale") or "")[:4000]
        self.steps = [n for n in items(known.get("steps"))[:50] if isinstance(n, int)]


class Proposal:
    """What one evaluator says of a run. `named` is None where it came to no answer."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.named: Sequence[ProposedMode] | None = None
        self.side: Side | None = None
        details = mapping(evaluation.details)
        found, side = details.get(FOUND), details.get(SIDE)
        if isinstance(found, dict) and evaluation.verdict != Evaluation.Verdict.ERROR:
            self.named = [ProposedMode(mode, found[mode]) for mode in Mode if mode in found]
            self.side = Side(side) if side in set(Side) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """All that is proposed for a run. Either is None where nobody has looked."""

    rules: Proposal | None = None
    judge: Proposal | None = None

    @property
    def spoken(self) -> list[Proposal]:
        both = (self.rules, self.judge)
        return [each for each in both if each is not None and each.named is not None]

    @property
    def modes(self) -> frozenset[Mode]:
        """Those of both; the environment's alone where one of them names it."""
        named = frozenset(each.mode for said in self.spoken for each in said.named or ())
        return frozenset({Mode.ENVIRONMENT}) if Mode.ENVIRONMENT in named else named

    @property
    def side(self) -> Side | None:
        return self.judge.side if self.judge and Mode.ENVIRONMENT not in self.modes else None

    def as_json(self) -> dict[str, object]:
        """What was before a person's eyes, as it is kept with their word."""
        if not self.spoken:
            return {}
        return {
            "modes": [mode.value for mode in Mode if mode in self.modes],
            "side": self.side or "",
            "evaluations": [str(each.evaluation.pk) for each in self.spoken],
        }


def proposed_for(run_ids: Iterable[UUID]) -> Mapping[UUID, Proposed]:
    """What is proposed for each of the runs, in one query; nothing where nobody has looked."""
    names = (MechanicalFailureModes.name, FailureJudgeEvaluator.name)
    said: defaultdict[UUID, dict[str, Proposal]] = defaultdict(dict)
    current = Evaluation.objects.filter(
        run__in=list(run_ids), is_current=True, evaluator__name__in=names
    ).select_related("evaluator")
    for evaluation in current.order_by("created_at", "pk"):
        proposal, of_run = Proposal(evaluation), said[evaluation.run_id]
        # An error takes no earlier answer back.
        if proposal.named is not None or evaluation.evaluator.name not in of_run:
            of_run[evaluation.evaluator.name] = proposal
    return defaultdict(
        Proposed,
        {
            run: Proposed(rules=found.get(names[0]), judge=found.get(names[1]))
            for run, found in said.items()
        },
    )


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


def review_runs(*, user: User, run_ids: Iterable[UUID], statement: Statement) -> Batch:
    """Say the same of all these runs, in one batch. Whoever may see them is the caller's matter."""
    return _review_runs(user, run_ids, lambda _proposed: statement)


def confirm_proposals(*, user: User, run_ids: Iterable[UUID], note: str = "") -> Batch:
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
    return FailureReview.objects.filter(batch=batch, run__in=_locked(run_ids)).undo(user)


@transaction.atomic
def _review_runs(
    user: User, run_ids: Iterable[UUID], saying_of: Callable[[Proposed], Statement | None]
) -> Batch:
    locked = _locked(run_ids)
    said = FailureReview.objects.filter(run__in=locked, is_current=True)
    current = {each.run_id: each for each in said}
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
        reviews.append(
            FailureReview(
                run_id=run_id,
                by=user,
                batch=batch,
                decision=_decision(statement, proposed),
                modes={mode.value: {} for mode in Mode if mode in statement.modes},
                side=statement.side or "",
                note=statement.note,
                proposed=proposed.as_json(),
                replaces=current.get(run_id),
            )
        )
    changed = FailureReview.objects.append(reviews)
    return Batch(batch, changed, left_out=without_proposal)


def _decision(statement: Statement, proposed: Proposed) -> Decision:
    if not proposed.spoken:
        return Decision.OWN
    if (statement.modes, statement.side) == (proposed.modes, proposed.side):
        return Decision.CONFIRMED
    return Decision.CHANGED if statement.modes else Decision.REJECTED


def _locked(run_ids: Iterable[UUID]) -> list[UUID]:
    """Those of the runs that have ended, in an order of their own, nobody else's until stored."""
    runs = Run.objects.ended().filter(pk__in=list(run_ids)).select_for_update(of=("self",))
    return list(runs.order_by("pk").values_list("pk", flat=True))
