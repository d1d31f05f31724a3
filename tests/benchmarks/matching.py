"""Matchers over a file of 10,000 answers and URLs, against comparing the strings."""

import json
from collections.abc import Iterator

from judging.evaluators.management.commands.score_cases import score_lines
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from tests.benchmarks.clock import seconds, tell

CASES = 10_000
SITE = "http://localhost:7770"


def run() -> None:
    lines = [json.dumps(case) for case in _cases()]

    def compare() -> int:
        return sum(
            str(case["eval"]) in f"{case.get('answer')} {case.get('url')}"
            for case in map(json.loads, lines)
        )

    bare = seconds(compare)
    for name in NAMES:
        matcher = build_matcher(name)
        ours = seconds(
            lambda matcher=matcher: sum(1 for _ in score_lines(lines, matcher)),  # type: ignore[misc]
            times=3,
        )
        tell(f"{name}, {CASES} cases of a file ({CASES / ours:.0f} cases/s)", ours, bare)


def _cases() -> Iterator[dict[str, object]]:
    """A third each: an answer in a sentence, a list, a URL; every second one wrong."""
    for number in range(CASES):
        off = number % 2
        if number % 3 == 0:
            references: dict[str, object] = {"exact_match": str(15000 + number)}
            answer = f"The zip code of the university is {15000 + number + off}."
        elif number % 3 == 1:
            references = {"must_include": ["Quest", f"${number}.50"]}
            answer = f"- **Quest**, for ${number + off}.50\n- shipped in 2 days"
        else:
            url = f"{SITE}/catalog/{number}?page=2"
            found = f"{SITE}/catalog/{number + off}?page=2&sort=asc"
            spec: dict[str, object] = {"eval_types": ["url_match"], "reference_url": url}
            yield {"id": number, "eval": spec, "url": found}
            continue
        spec = {"eval_types": ["string_match"], "reference_answers": references}
        yield {"id": number, "eval": spec, "answer": answer, "intent": "What does it cost?"}
