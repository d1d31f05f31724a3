"""What an LLM judge answered, as the content of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding
from judging.evaluators.judges.outcome import INVALID_REPLY, MANIPULATED, UNDECIDED, Judged
from judging.evaluators.matching.outcome import Verdict
from judging.models import Evaluation
from webagent.llm.interface import FailureKind

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
