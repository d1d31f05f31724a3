"""From single checks to one verdict: a task's score is the product of all its checks."""

from __future__ import annotations

from collections.abc import Sequence

from judging.evaluators.matching.outcome import (
    Check,
    CheckVerdict,
    JudgeCall,
    MatchEvaluation,
    Verdict,
    no_verdict,
)
from webagent.placeholders import placeholders


def settle(checks: Sequence[Check], judge_calls: Sequence[JudgeCall]) -> MatchEvaluation:
    """One verdict from all checks.

    A failed check settles it whatever the rest holds; else missing evidence leaves no verdict;
    else a check that waits for a judge leaves it open; no checks at all pass.
    """
    found = {check.verdict for check in checks}
    rules = tuple(dict.fromkeys(rule for check in checks for rule in check.rules))
    if CheckVerdict.FAILED in found:
        if_all_pass = 0.0
    elif CheckVerdict.NO_EVIDENCE in found:
        missing = [check for check in checks if check.verdict is CheckVerdict.NO_EVIDENCE]
        return no_verdict(missing[0].message, checks, judge_calls)
    else:
        if_all_pass = 1.0
    waiting = CheckVerdict.NEEDS_JUDGE in found
    if_all_fail = 0.0 if waiting else if_all_pass
    if if_all_pass != if_all_fail:
        verdict, score = Verdict.NEEDS_JUDGE, None
    else:
        verdict = Verdict.PASSED if if_all_pass else Verdict.FAILED
        score = if_all_pass
    return MatchEvaluation(
        verdict=verdict,
        score=score,
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
