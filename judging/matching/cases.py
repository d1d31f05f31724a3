"""Scores a file of cases line by line, so that anybody can hold a matcher against another.

Input line: {"id", "eval", "answer"?, "url"?, "content"?, "intent"?}: `eval` in WebArena's schema
with placeholders replaced, `url` the final page URL, `content` what the `program_html` locators
returned (one text for every target, or a list with one text each). Output line: {"id", "score",
"needs_llm", "score_if_judge_all_pass", "score_if_judge_all_fail", "judge_calls", "error",
"details"}. `score` is null where a judge would be called or there is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from judging.matching.hosts import HostAliases
from judging.matching.outcome import (
    Matcher,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
    PageEvidence,
    no_verdict,
)
from judging.matching.specification import SpecificationError, mapping, text

LONGEST_LINE = 32 * 1024 * 1024
"""Characters; a page's HTML fits many times over."""


def read_lines(file: TextIO, limit: int = LONGEST_LINE) -> Iterator[str | None]:
    """The file's lines without blank ones; None for a line of more than `limit` characters.

    Never holds more than one line and `limit` characters.
    """
    while line := file.readline(limit + 1):
        too_long = len(line) > limit and not line.endswith("\n")
        while too_long and line and not line.endswith("\n"):
            line = file.readline(limit + 1)
        if too_long:
            yield None
        elif line.strip():
            yield line


def score_lines(
    lines: Iterable[str | None], matcher: Matcher, host_aliases: HostAliases = ()
) -> Iterator[dict[str, object]]:
    """One JSON-ready result for each line, in order; a line that makes no sense gets an error."""
    for number, line in enumerate(lines, start=1):
        identifier: object = None
        try:
            case = _parse(line, number)
            identifier = case.get("id")
            found = matcher.evaluate(_task(case, host_aliases), _outcome(case))
        except SpecificationError as error:
            found = no_verdict(str(error))
        yield _result(identifier, found)


def _parse(line: str | None, number: int) -> Mapping[str, object]:
    if line is None:
        raise SpecificationError(f"case {number} is longer than {LONGEST_LINE} characters")
    try:
        return mapping(json.loads(line), f"case {number}")
    except (json.JSONDecodeError, RecursionError) as error:
        raise SpecificationError(f"case {number} is not JSON: {error}") from error


def _task(case: Mapping[str, object], host_aliases: HostAliases) -> MatchTask:
    return MatchTask(
        evaluation=mapping(case.get("eval"), "eval"),
        intent=_optional_text(case, "intent") or "",
        host_aliases=host_aliases,
    )


def _outcome(case: Mapping[str, object]) -> MatchOutcome:
    return MatchOutcome(
        answer=_optional_text(case, "answer"),
        final_url=_optional_text(case, "url"),
        pages=_pages(case),
    )


def _optional_text(case: Mapping[str, object], key: str) -> str | None:
    value = case.get(key)
    return None if value is None else text(value, key)


def _pages(case: Mapping[str, object]) -> tuple[PageEvidence | None, ...]:
    content = case.get("content")
    if content is None:
        return ()
    if isinstance(content, list):
        return tuple(None if item is None else PageEvidence(text=str(item)) for item in content)
    targets = mapping(case.get("eval"), "eval").get("program_html")
    count = len(targets) if isinstance(targets, list) else 0
    return (PageEvidence(text=str(content)),) * count


def _result(identifier: object, found: MatchEvaluation) -> dict[str, object]:
    needs_judge = bool(found.judge_calls) and found.error is None
    details = found.as_details()
    return {
        "id": identifier,
        "score": None if needs_judge else found.score,
        "needs_llm": needs_judge,
        "score_if_judge_all_pass": found.score_if_all_pass,
        "score_if_judge_all_fail": found.score_if_all_fail,
        "judge_calls": [] if found.error is not None else details["judge_calls"],
        "error": found.error,
        "details": details["checks"],
    }
