"""What an evaluator is given and what it answers: plain frozen values, no database."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Protocol

from webagent.environment.placeholders import placeholders

LONGEST_SHOWN = 2000


def excerpt(text: str) -> str:
    """The text itself, or its beginning with a note of how much there was."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text)} characters)"


class Verdict(StrEnum):
    """What an evaluator says of one outcome. An error is never a failure of the agent."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"
    NEEDS_JUDGE = "needs_judge"


class CheckVerdict(StrEnum):
    """What one check of an evaluation found."""

    PASSED = "passed"
    FAILED = "failed"
    NEEDS_JUDGE = "needs_judge"
    NO_EVIDENCE = "no_evidence"
    IGNORED = "ignored"
    """Made, but of no weight: a later judge call replaces it."""


class JudgeKind(StrEnum):
    """Which LLM judge a check hands over to."""

    FUZZY = "fuzzy"
    """Does the answer mean the same as the reference?"""
    UNACHIEVABLE = "ua"
    """Is the reported reason for giving up the actual one?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTask:
    """The part of a task that an evaluator may read.

    `evaluation` is WebArena's `eval` object as it stands in the task file, site placeholders
    already replaced; None where the task has no such specification. `host_aliases` holds groups
    of base URLs that name one and the same site, the deployment's own first.
    """

    evaluation: Mapping[str, object] | None
    intent: str = ""
    host_aliases: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOutcome:
    """What the agent left behind: its answer, the final URL, and evidence per page target.

    `pages` follows the order of `program_html`: what each target's locator returned when the run
    ended, as Python's `str` writes it ("None" for JavaScript's null, the empty string where the
    script failed), before HTML entities are resolved; None (or a missing tail) where nothing was
    captured.
    """

    answer: str | None = None
    final_url: str | None = None
    pages: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One call to an LLM judge that an evaluator would make; never made here."""

    judge: JudgeKind
    reference: str
    answer: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison: what was expected, what was there, as what it was compared, and why so.

    `rules` names the rules without which the verdict of this check would have been another.
    """

    name: str
    verdict: CheckVerdict
    expected: str
    actual: str
    normalised: str = ""
    message: str = ""
    rules: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The check as JSON-ready values to store with an evaluation, long texts cut short."""
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "expected": excerpt(self.expected),
            "actual": excerpt(self.actual),
            "normalised": excerpt(self.normalised),
            "message": self.message,
            "rules": list(self.rules),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchEvaluation:
    """What one evaluator says of one outcome.

    `score` is 0.0 or 1.0 where it is settled, else None. Where judges are needed,
    `score_if_all_pass` and `score_if_all_fail` bound it; without judge calls both equal `score`.
    `error` says in words why there is no verdict.
    """

    verdict: Verdict
    score: float | None = None
    checks: tuple[Check, ...] = ()
    judge_calls: tuple[JudgeCall, ...] = ()
    score_if_all_pass: float | None = None
    score_if_all_fail: float | None = None
    error: str | None = None
    rules: tuple[str, ...] = ()
    """Rules that made the verdict another than the strict one, in order of use."""

    def as_details(self) -> dict[str, object]:
        """Everything but verdict and score as JSON-ready values."""
        return {
            "checks": [check.as_dict() for check in self.checks],
            "judge_calls": [
                {"judge": call.judge.value, "reference": call.reference, "answer": call.answer}
                for call in self.judge_calls
            ],
            "score_if_all_pass": self.score_if_all_pass,
            "score_if_all_fail": self.score_if_all_fail,
            "error": self.error,
            "rules": list(self.rules),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorIdentity:
    """Which evaluator gave a verdict; any change of configuration is another identity."""

    name: str
    kind: str
    version: str
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def config_hash(self) -> str:
        """SHA-256 (hex) of the identity's canonical JSON: equal for equal evaluators only."""
        canonical = json.dumps(
            asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return hashlib.sha256(canonical.encode()).hexdigest()


class Matcher(Protocol):
    """An evaluator that needs nothing but its two arguments: no network, no clock, no database."""

    @property
    def identity(self) -> EvaluatorIdentity: ...

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation: ...


def not_applicable(reason: str) -> MatchEvaluation:
    """The answer of an evaluator to a task it has nothing to say about."""
    return MatchEvaluation(verdict=Verdict.NOT_APPLICABLE, error=reason)


def no_verdict(
    reason: str, checks: Sequence[Check] = (), judge_calls: Sequence[JudgeCall] = ()
) -> MatchEvaluation:
    """The answer of an evaluator that could not come to a verdict, with the reason in words."""
    return MatchEvaluation(
        verdict=Verdict.ERROR, checks=tuple(checks), judge_calls=tuple(judge_calls), error=reason
    )


def settle(checks: Sequence[Check], judge_calls: Sequence[JudgeCall]) -> MatchEvaluation:
    """One verdict from all checks.

    A failed check settles it whatever the rest holds; else missing evidence leaves no verdict;
    else a check that waits for a judge leaves it open; no checks at all pass.
    """
    found = {check.verdict for check in checks}
    rules = tuple(dict.fromkeys(rule for check in checks for rule in check.rules))
    if CheckVerdict.FAILED in found:
        verdict, if_all_pass, if_all_fail = Verdict.FAILED, 0.0, 0.0
    elif CheckVerdict.NO_EVIDENCE in found:
        missing = [check for check in checks if check.verdict is CheckVerdict.NO_EVIDENCE]
        return no_verdict(missing[0].message, checks, judge_calls)
    elif CheckVerdict.NEEDS_JUDGE in found:
        verdict, if_all_pass, if_all_fail = Verdict.NEEDS_JUDGE, 1.0, 0.0
    else:
        verdict, if_all_pass, if_all_fail = Verdict.PASSED, 1.0, 1.0
    return MatchEvaluation(
        verdict=verdict,
        score=None if verdict is Verdict.NEEDS_JUDGE else if_all_pass,
        checks=tuple(checks),
        judge_calls=tuple(judge_calls),
        score_if_all_pass=if_all_pass,
        score_if_all_fail=if_all_fail,
        rules=rules,
    )


def unresolved(found: MatchEvaluation) -> str | None:
    """The first placeholder of a site (`__GITLAB__`) that something of weight was compared with.

    No outcome can hold it, so a verdict would say nothing. None where there is none.
    """
    compared = [c.expected for c in found.checks if c.verdict is not CheckVerdict.IGNORED]
    return next(iter(placeholders(compared)), None)
