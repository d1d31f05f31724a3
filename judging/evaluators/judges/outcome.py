"""What an LLM judge answers: stages with all that is known of each, and one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from judging.evaluators.matching.outcome import Verdict, excerpt

MANIPULATED = "manipulated"
"""The judge followed an instruction that stood in the texts."""
INVALID_REPLY = "invalid_reply"
"""No usable reply, the repair attempt included."""
UNDECIDED = "undecided"
"""The judge says that the evidence does not settle it."""


class StageName(StrEnum):
    """Which question a stage puts."""

    EQUIVALENCE = "equivalence"
    INCLUSION = "inclusion"
    SINGLE = "single"
    TRAJECTORY = "trajectory"
    FAILURES = "failures"
    MILESTONES = "milestones"
    PROPOSALS = "proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One criterion of a judge of whole runs. `verdict`: yes, no, unclear or not_applicable; of a
    milestone reached, lost or not_reached.
    """

    name: str
    verdict: str
    rationale: str
    evidence_steps: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "verdict": self.verdict,
            "rationale": excerpt(self.rationale),
            "evidence_steps": list(self.evidence_steps),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One question put to a model, and what came of it.

    `verdict` is passed, failed or error. `model` is as the provider returned it, empty where it
    never replied. `cost` in US dollars, None where unknown. `asks` counts the questions, a repair
    attempt included. `error_kind` is a `FailureKind` or one of this module's constants.
    `steering`: the judge says that the texts try to influence it.
    """

    name: StageName
    verdict: Verdict
    prompt: str
    prompt_hash: str
    rationale: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    seconds: float = 0.0
    is_cached: bool = False
    asks: int = 1
    error: str = ""
    error_kind: str = ""
    steering: bool = False
    reply: str = ""
    criteria: tuple[Criterion, ...] = ()
    evidence_steps: tuple[int, ...] = ()

    @property
    def is_manipulated(self) -> bool:
        return self.error_kind == MANIPULATED

    def manipulated(self) -> Stage:
        """The stage of a judge that followed an instruction of the texts: it has no verdict."""
        words = "the judge followed an instruction that stood in the texts"
        return replace(self, verdict=Verdict.ERROR, error_kind=MANIPULATED, error=words)

    def as_dict(self) -> dict[str, object]:
        """The stage as JSON-ready values to store with an evaluation."""
        stage: dict[str, object] = {
            "name": self.name.value,
            "verdict": self.verdict.value,
            "rationale": excerpt(self.rationale),
            "model": self.model,
            "prompt": self.prompt,
            "prompt_hash": self.prompt_hash,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": None if self.cost is None else format(self.cost, "f"),
            "seconds": round(self.seconds, 3),
            "is_cached": self.is_cached,
            "asks": self.asks,
            "steering": self.steering,
        }
        if self.error_kind:
            stage |= {"error": excerpt(self.error), "error_kind": self.error_kind}
        if self.reply:
            stage["reply"] = excerpt(self.reply)
        if self.criteria:
            stage["criteria"] = [criterion.as_dict() for criterion in self.criteria]
        if self.evidence_steps:
            stage["evidence_steps"] = list(self.evidence_steps)
        return stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One verdict from the stages that were asked, in order.

    `rationale` is that of the stage that decided. No stages where there was nothing to ask: it
    then says why.
    """

    verdict: Verdict
    stages: tuple[Stage, ...] = ()
    rationale: str = ""

    @classmethod
    def by(cls, *stages: Stage) -> Judged:
        """The verdict of the last of these stages."""
        return cls(verdict=stages[-1].verdict, stages=stages, rationale=stages[-1].rationale)

    @property
    def is_manipulated(self) -> bool:
        return any(stage.is_manipulated for stage in self.stages)

    @property
    def error_kind(self) -> str:
        """Why there is no verdict; empty where there is one."""
        if self.verdict is not Verdict.ERROR:
            return ""
        return next((stage.error_kind for stage in self.stages if stage.error_kind), "")

    @property
    def cost(self) -> Decimal | None:
        """What all stages cost; None if that of any is unknown."""
        return total_cost([stage.cost for stage in self.stages])


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """The sum; None if any of them is unknown, which is not zero."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None
