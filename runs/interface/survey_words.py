"""A first look at an upload in lines of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def survey_lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    """What was found under that name, as `webagent.trajectory.surveys` has it in JSON."""
    yield f"{name}:"
    for each in found["formats"]:
        yield from _format_lines(each)
    for question in found["questions"]:
        yield f"  Asked: {question['text']}"
        for choice, meaning in question["choices"].items():
            yield f"    --answer {question['key']}={choice}: {meaning}"
        yield f"    Without an answer: {question['unanswered']}"
    counts = found["counts"]
    if counts["unread"]:
        yield f"  Files that no importer reads: {counts['unread']}, such as {found['unread'][0]}"
    for rejected in found["rejected"]:
        yield f"  Cannot be taken: {_line(rejected)}"
    # What is wrong with the upload itself; what runs lack is counted above.
    for problem in found["problems"]:
        if problem["source"] == name:
            yield f"  Left out: {_line(problem)}"


def _line(problem: Mapping[str, str]) -> str:
    where = ", ".join(dict.fromkeys(filter(None, (problem["file"], problem["field"]))))
    return f"{where}: {problem['reason']}"


def _format_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {found['format']} {found['version']}".rstrip()
    there = f" ({found['already_there']} already there)" if found["already_there"] else ""
    yield (
        f"    {found['runs']} runs{there}, {found['steps']} steps,"
        f" {found['screenshots']} screenshots"
    )
    yield (
        f"    {found['labels']} labels, {found['verdicts']} settled verdicts,"
        f" {found['evaluations']} verdicts of evaluators{_listed(found['evaluators'], ': ')}"
    )
    for title, key in (("Missing", "gaps"), ("Left out", "dropped"), ("Secrets", "redacted")):
        if found[key]:
            yield f"    {title}: {_listed(found[key])}"


def _listed(counts: Mapping[str, int], before: str = "") -> str:
    words = ", ".join(f"{what} {n}" for what, n in counts.items())
    return f"{before}{words}" if words else ""
