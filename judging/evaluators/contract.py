"""What every evaluator takes and gives."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast, runtime_checkable

from django.utils.translation import gettext_noop

from judging.evaluators.judges.asking import Judge
from judging.evaluators.judges.outcome import INVALID_REPLY, MANIPULATED, UNDECIDED, Judged
from judging.evaluators.matching.outcome import EvaluatorIdentity, Verdict
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Run, Task
from webagent.llm.interface import FailureKind, LanguageModel

OwnJudge = TypeVar("OwnJudge", bound=Judge[Any])

RUN_ENDED_IN_ERROR = gettext_noop("the run ended in an error")
RUN_INCOMPLETE = gettext_noop("the run is incomplete")
NO_TRAJECTORY = gettext_noop("the trajectory is not here")
RUN_NOT_EXECUTABLE = gettext_noop("the run was not executable")
INFEASIBLE = gettext_noop("the task is infeasible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an evaluator says of one run: the content of an `Evaluation`.

    `reason` says why there is no verdict and is empty where there is one. `details` may hold
    `checks`, each with name, verdict, expected, actual, normalised, message and rules; `stages`,
    what models were asked and replied; `parts`, what each step of a pipeline found; `decided_by`.
    """

    verdict: Evaluation.Verdict
    score: float | None = None
    reason: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    rationale: str = ""
    cost: Decimal | None = None
    task: Task | None = None
    """The version of the task that was judged; None for the run's own."""

    @classmethod
    def without_verdict(cls, reason: str, details: Mapping[str, object] | None = None) -> Finding:
        """The evaluator came to none, which is no failure of the agent."""
        return cls(verdict=Evaluation.Verdict.ERROR, reason=reason, details=details or {})

    @classmethod
    def not_applicable(cls, reason: str) -> Finding:
        """There is nothing that the evaluator could judge."""
        return cls(verdict=Evaluation.Verdict.NOT_APPLICABLE, reason=reason)

    @classmethod
    def infeasible(cls, task: Task) -> Finding:
        """The task cannot be done by anybody, with its reason."""
        return replace(cls.not_applicable(INFEASIBLE), rationale=task.infeasible_reason, task=task)


class Evaluator(Protocol):
    """An automatic judge with a fixed configuration. Finds the same for the same run."""

    @property
    def identity(self) -> EvaluatorIdentity: ...

    def applies_to(self, run: Run) -> bool:
        """Whether it can have anything to say about the run: cheap, and asked for every run."""
        ...

    def evaluate(self, run: Run) -> Finding:
        """Its finding. Reads the run and its task, and changes nothing."""
        ...


@runtime_checkable
class ReadsTogether(Protocol):
    """An evaluator that can read of several runs at once what it needs of each."""

    def having_read(self, runs: Sequence[Run]) -> Evaluator:
        """The same, for these runs alone, which it does not read again."""
        ...


def having_read(evaluator: Evaluator, runs: Sequence[Run]) -> Evaluator:
    """The evaluator for these runs alone: with fewer queries, where it can."""
    return evaluator.having_read(runs) if isinstance(evaluator, ReadsTogether) else evaluator


class AskingEvaluator(Evaluator, Protocol):
    """An evaluator that asks a language model."""

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most, if all is asked; (0, 0) if nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluator(ABC, Generic[OwnJudge]):
    """What evaluators that ask a language model share: how they are configured and identified."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    kind: ClassVar[EvaluatorVersion.Kind] = EvaluatorVersion.Kind.JUDGE
    judge_type: ClassVar[type[Judge[Any]]]

    judge: OwnJudge

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> Self:
        """The judge so configured. Raises ValueError for settings it does not know."""
        settings = cls.judge_type.settings_type.model_validate(config)
        judge = cls.judge_type(language_model=language_model, settings=settings)
        return cls(judge=cast("OwnJudge", judge))

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=self.kind.value,
            version=self.version,
            config=self.judge.settings.model_dump(mode="json"),
        )


def without_outcome(run: Run) -> Finding | None:
    """The finding on a run that did not end by itself, or is not here; None for all others.

    An exception is not a failure of the agent, although benchmarks reward it with 0.
    """
    if run.is_stub:
        return Finding.without_verdict(NO_TRAJECTORY)
    if run.outcome == Run.Outcome.ERROR:
        details = {"error": run.error_message[:500], "origin": run.error_origin}
        return Finding.without_verdict(RUN_ENDED_IN_ERROR, details)
    if run.outcome == Run.Outcome.INCOMPLETE:
        return Finding.without_verdict(RUN_INCOMPLETE)
    if run.outcome == Run.Outcome.NOT_EXECUTABLE:
        return Finding.not_applicable(RUN_NOT_EXECUTABLE)
    return None


NO_VERDICT = gettext_noop("the judge came to no verdict")

REASONS: Mapping[str, str] = {
    MANIPULATED: gettext_noop("the judge was manipulated"),
    INVALID_REPLY: gettext_noop("the judge's reply cannot be read"),
    UNDECIDED: gettext_noop("the judge could not decide"),
    FailureKind.RATE_LIMITED: gettext_noop("the model's provider asks to wait"),
    FailureKind.OVERLOADED: gettext_noop("the model's provider failed"),
    FailureKind.TIMED_OUT: gettext_noop("the model took too long"),
    FailureKind.UNREACHABLE: gettext_noop("the model's provider cannot be reached"),
    FailureKind.REFUSED: gettext_noop("the model refused to judge"),
    FailureKind.TRUNCATED: gettext_noop("the judge's reply was cut off"),
    FailureKind.TOO_LONG: gettext_noop("the run is too long for the model"),
    FailureKind.REJECTED: gettext_noop("the model's provider rejects the request"),
    FailureKind.NOT_AUTHORISED: gettext_noop("the model's provider rejects the key"),
    FailureKind.UNREADABLE: gettext_noop("the model's provider sent something else"),
    FailureKind.OUT_OF_BUDGET: gettext_noop("the budget is spent"),
    FailureKind.NO_CREDIT: gettext_noop("the account at the model's provider has no credit left"),
    FailureKind.NOT_CONFIGURED: gettext_noop("the model is not set up"),
}
"""Why a judge came to no verdict, by kind of error."""


def finding_of(
    judged: Judged,
    checks: Sequence[Mapping[str, object]] = (),
    more: Mapping[str, object] | None = None,
) -> Finding:
    """The finding of what a judge answered. `more` goes into its details as it is."""
    verdict = Evaluation.Verdict(judged.verdict.value)
    scores = {Verdict.PASSED: 1.0, Verdict.FAILED: 0.0}
    is_error = judged.verdict is Verdict.ERROR
    return Finding(
        verdict=verdict,
        score=scores.get(judged.verdict),
        reason=REASONS.get(judged.error_kind, NO_VERDICT) if is_error else "",
        details={
            "stages": [stage.as_dict() for stage in judged.stages],
            "manipulated": judged.is_manipulated,
            "checks": [dict(check) for check in checks],
            **(more or {}),
        },
        rationale=judged.rationale,
        cost=judged.cost,
    )
