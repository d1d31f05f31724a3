"""Words in the reader's language: sources of verdicts, questions and previews of imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

IMPORTED_REWARD = gettext_noop("imported reward")
REFERENCE_VERDICT = gettext_noop("reference verdict")
EVALUATOR = gettext_noop("evaluator %(name)s")
REWARD_RULE = gettext_noop("Success is a reward above %(least)s, as the benchmark gave it.")
REFERENCE_RULE = gettext_noop("Success is what people agreed on or adjudicated.")
EVALUATOR_RULE = gettext_noop("Success is what %(name)s passes.")
_SAID = (
    IMPORTED_REWARD,
    REFERENCE_VERDICT,
    EVALUATOR,
    REWARD_RULE,
    REFERENCE_RULE,
    EVALUATOR_RULE,
)
"""What a source of verdicts says of itself, in English, as which it is kept."""
_SLOT = re.compile(r"%\\\((\w+)\\\)s")
_FORMS = {
    said: re.compile(_SLOT.sub(lambda slot: f"(?P<{slot[1]}>.+)", re.escape(said)))
    for said in _SAID
}


def verdict_words(written: str) -> str:
    """The words for the reader; as they were written, if nobody here wrote them."""
    for said, form in _FORMS.items():
        if found := form.fullmatch(written):
            return gettext(said) % found.groupdict()
    return written


KNOWN = (
    gettext_noop("What do the human labels 0, 1 and 2 mean?"),
    gettext_noop("0 failure, 1 success, 2 not executable (the benchmark's own rule)"),
    gettext_noop("0 not executable, 1 success, 2 failure"),
    gettext_noop("labels 0 and 2 are left out"),
)
"""The words of every question, for the catalogue of translations."""


def in_own_words(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question of a survey, translated as far as its words are known."""
    return {
        "key": question["key"],
        "text": gettext(question["text"]),
        "choices": {key: gettext(words) for key, words in question["choices"].items()},
        "unanswered": gettext(question["unanswered"]),
    }


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
