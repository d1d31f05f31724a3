"""A matcher first, a judge where the matcher leaves something to it: how two verdicts make one.

A task's score is a product: of its string_match, of its url_match, of its program_html targets.
A judge of answers can stand in for string_match alone. What failed elsewhere stays failed, and
what lacks its evidence stays without a verdict, whatever the judge thinks of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from judging.evaluators.matching.outcome import (
    Check,
    CheckVerdict,
    Matcher,
    MatchEvaluation,
    Verdict,
    no_verdict,
    settle,
)
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.strict import StrictMatcher

JUDGE_CHECK = "string_match judge"


class AskJudge(StrEnum):
    """Where the judge is asked."""

    WHERE_NEEDED = "where_needed"
    """Only where the matcher names a judge, in place of the checks that wait for it."""
    WHERE_NOT_PASSED = "where_not_passed"
    """Also where string_match says no, in place of all of its checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """A judgement of an answer. `reason`: why it came to no verdict.

    `expected` and `actual` are what it held against each other.
    """

    verdict: Verdict
    reason: str = ""
    expected: str = ""
    actual: str = ""


def is_of_string_match(check: Check) -> bool:
    """Whether the check is a part of string_match, so that a judge may stand in for it."""
    return check.name != "url_match" and not check.name.startswith("program_html")


def asks_judge(matched: MatchEvaluation, asked: AskJudge) -> bool:
    """Whether the judge's verdict can change anything, so that it is worth its price."""
    if matched.verdict not in (Verdict.FAILED, Verdict.NEEDS_JUDGE):
        return False
    found = {check.verdict for check in matched.checks if is_of_string_match(check)}
    elsewhere = {check.verdict for check in matched.checks if not is_of_string_match(check)}
    if CheckVerdict.FAILED in elsewhere:
        return False
    if asked is AskJudge.WHERE_NEEDED:
        return CheckVerdict.NEEDS_JUDGE in found and CheckVerdict.FAILED not in found
    return bool(found & {CheckVerdict.NEEDS_JUDGE, CheckVerdict.FAILED})


def combine(
    matched: MatchEvaluation, answered: JudgeAnswer | None, asked: AskJudge
) -> MatchEvaluation:
    """The verdict of both. `answered` is None where the judge was not asked.

    Of a judge that has nothing to say of the task, the matcher's own verdict stands, if it has
    one; a judge without a verdict leaves none.
    """
    if answered is None and matched.verdict is Verdict.NEEDS_JUDGE:
        return no_verdict("needs a judge", matched.checks, matched.judge_calls)
    if answered is None:
        return matched
    if answered.verdict is Verdict.NOT_APPLICABLE and matched.verdict is Verdict.FAILED:
        return matched
    if answered.verdict not in (Verdict.PASSED, Verdict.FAILED):
        return no_verdict(answered.reason or "the judge came to no verdict", matched.checks)
    return settle([*_replaced(matched.checks, asked), _judge_check(answered)], ())


def _replaced(checks: Sequence[Check], asked: AskJudge) -> list[Check]:
    """The checks with those of no more weight that the judge stands in for."""
    waiting = (CheckVerdict.NEEDS_JUDGE,)
    replaceable = tuple(CheckVerdict) if asked is AskJudge.WHERE_NOT_PASSED else waiting
    return [
        replace(check, verdict=CheckVerdict.IGNORED)
        if is_of_string_match(check) and check.verdict in replaceable
        else check
        for check in checks
    ]


def _judge_check(answered: JudgeAnswer) -> Check:
    passed = answered.verdict is Verdict.PASSED
    return Check(
        name=JUDGE_CHECK,
        verdict=CheckVerdict.PASSED if passed else CheckVerdict.FAILED,
        expected=answered.expected,
        actual=answered.actual,
        message="the judge stands in for string_match",
    )


MATCHERS = {each.name: each for each in (StrictMatcher, RepairedMatcher)}
NAMES = tuple(MATCHERS)


def build_matcher(name: str, config: Mapping[str, object] | None = None) -> Matcher:
    """The matcher of that name with that configuration; the defaults where it says nothing.

    Raises:
        ValueError: no matcher has that name, or the configuration is not one of its own.
    """
    if name not in MATCHERS:
        raise ValueError(f"no matcher is called {name}; there are {', '.join(NAMES)}")
    return MATCHERS[name].from_config(config or {})
