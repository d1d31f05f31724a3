"""`imported-reward`: whatever the benchmark said at run time."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Run

NO_REWARD = gettext_noop("the run has no reward")
NOT_A_NUMBER = gettext_noop("the reward is not a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardEvaluator:
    """Passes a run whose reward is above `success_above`; keeps the reward as the score."""

    name: ClassVar[str] = "imported-reward"
    version: ClassVar[str] = "1"

    success_above: float = 0.5

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.REWARD.value,
            version=self.version,
            config={"success_above": self.success_above},
        )

    def applies_to(self, run: Run) -> bool:
        return run.reward is not None or run.outcome == Run.Outcome.ERROR

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        if run.reward is None:
            return Finding.not_applicable(NO_REWARD)
        if not isfinite(run.reward):
            return Finding.without_verdict(NOT_A_NUMBER)
        passed = run.reward > self.success_above
        verdict = Evaluation.Verdict.PASSED if passed else Evaluation.Verdict.FAILED
        check = {
            "name": "reward",
            "verdict": verdict.value,
            "expected": f"> {self.success_above:g}",
            "actual": f"{run.reward:g}",
        }
        return Finding(verdict=verdict, score=run.reward, details={"checks": [check]})
