"""What is proposed for single runs, by rules and by the judge, beside what people said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from judging.evaluators.failure_modes import (
    FOUND,
    SIDE,
    FailureJudgeEvaluator,
    MechanicalFailureModes,
)
from judging.models import Evaluation
from webagent.recovery.failure_kinds import Mode, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedMode:
    """One mode with its reason: the rule's key, or the judge's words."""

    mode: Mode
    rule: str = ""
    rationale: str = ""
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one evaluator says of a run. `named` is None where it came to no answer."""

    evaluation: Evaluation
    named: Sequence[ProposedMode] | None
    side: Side | None = None


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
        proposal, of_run = _proposal(evaluation), said[evaluation.run_id]
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


def _proposal(evaluation: Evaluation) -> Proposal:
    details = evaluation.details if isinstance(evaluation.details, dict) else {}
    found, side = details.get(FOUND), details.get(SIDE)
    if not isinstance(found, dict) or evaluation.verdict == Evaluation.Verdict.ERROR:
        return Proposal(evaluation=evaluation, named=None)
    return Proposal(
        evaluation=evaluation,
        named=[_named(mode, found[mode]) for mode in Mode if mode in found],
        side=Side(side) if side in set(Side) else None,
    )


def _named(mode: Mode, said: object) -> ProposedMode:
    """Details may have been imported, so their form is not taken for granted."""
    known = said if isinstance(said, dict) else {}
    steps = known.get("steps")
    return ProposedMode(
        mode=mode,
        rule=str(known.get("rule") or ""),
        rationale=str(known.get("rationale") or "")[:4000],
        steps=tuple(n for n in steps[:50] if isinstance(n, int)) if isinstance(steps, list) else (),
    )
