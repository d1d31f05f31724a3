"""Matchers over 2,000 answers, against comparing the strings."""

from __future__ import annotations

from judging.matching.outcome import MatchOutcome, MatchTask
from judging.matching.registry import NAMES, build_matcher
from tests.benchmarks.clock import seconds, tell

CASES = 2000


def run() -> None:
    tasks = [
        MatchTask(
            evaluation={
                "eval_types": ["string_match"],
                "reference_answers": {"must_include": [f"${n}.50", "Quest"]},
            },
            intent="What does it cost?",
        )
        for n in range(CASES)
    ]
    outcomes = [MatchOutcome(answer=f"The Quest costs ${n}.50 today.") for n in range(CASES)]

    def compare() -> int:
        return sum(
            f"${n}.50" in (outcome.answer or "").lower() for n, outcome in enumerate(outcomes)
        )

    bare = seconds(compare)
    for name in NAMES:
        matcher = build_matcher(name)
        ours = seconds(
            lambda matcher=matcher: [  # type: ignore[misc]
                matcher.evaluate(task, outcome)
                for task, outcome in zip(tasks, outcomes, strict=True)
            ],
            times=3,
        )
        tell(f"{name}, {CASES} answers ({CASES / ours:.0f}/s)", ours, bare)
