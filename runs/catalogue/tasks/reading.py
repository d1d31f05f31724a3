"""How a task reads on its page: what is expected, and what a patch changed in it."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.catalogue.milestones.definitions import definition_of
from runs.catalogue.milestones.forms import KINDS, STATES
from runs.catalogue.patches.changes import ChangeError, value_at
from runs.catalogue.tasks.rows import task_content
from runs.interface.sentences import labelled
from runs.models import Task, TaskRevision
from webagent import measures
from webagent.environment.placeholders import resolve_text, sites_named
from webagent.measures import Compared
from webagent.milestones.checks import (
    ActionCheck,
    Check,
    ElementCheck,
    ReportedCheck,
    TextCheck,
    UrlCheck,
)


def milestone_rows(task: Task) -> list[dict[str, Any]]:
    """The task's milestones in force, in order, with their share of the weight. One query."""
    rows = list(task.milestones.in_force())
    whole = sum(row.weight for row in rows)
    made = []
    for row in rows:
        rule = definition_of(row).rule
        made.append(
            {
                "milestone": row,
                "share": 100 * row.weight / whole,  # in percent
                "reached": check_in_words(rule.reached_when) if rule else "",
                "lost": check_in_words(rule.lost_when) if rule and rule.lost_when else "",
            }
        )
    return made


def check_in_words(check: Check) -> str:
    """What a check looks for."""
    match check:
        case UrlCheck():
            return _labelled("url", check.pattern)
        case TextCheck():
            return _labelled("text", check.text)
        case ElementCheck():
            return _element(check)
        case ActionCheck():
            return _action(check)
        case ReportedCheck():
            return _labelled("reported", check.name)


def _labelled(kind: str, value: str) -> str:
    """In the words of the form."""
    return labelled(dict(KINDS)[kind], value)


def _element(check: ElementCheck) -> str:
    called = " ".join(filter(None, (check.role, f"“{check.name}”" if check.name else "")))
    said = {"element": called, "state": str(dict(STATES)[check.state]), "value": check.value}
    if check.state == "value":
        return _("%(element)s is %(state)s “%(value)s”") % said
    return _("%(element)s is %(state)s") % said


def _action(check: ActionCheck) -> str:
    parts = [check.action or _("any action")]
    if check.target:
        parts.append(_("on “%(target)s”") % {"target": check.target})
    if check.text:
        parts.append(_("with “%(text)s”") % {"text": check.text})
    return _labelled("action", " ".join(parts))


_WORD = re.compile(r"\s+|\w+|[^\w\s]")


class DiffKind(StrEnum):
    """Where a piece of text stands."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class DiffPiece(NamedTuple):
    """Some words that both texts hold, or one of them alone."""

    part: DiffKind
    text: str


def word_diff(before: str, after: str) -> Compared[DiffPiece]:
    """The pieces that the two texts are made of, in order.

    Same and removed ones joined are the text before, same and added ones the text after. What
    would take too long to compare counts as different.
    """
    if before == after:
        return Compared([DiffPiece(DiffKind.SAME, before)] if before else [])
    old, new = _WORD.findall(before), _WORD.findall(after)
    compared = measures.pieces(old, new)
    pieces: Compared[DiffPiece] = Compared(is_whole=compared.is_whole)
    for tag, from_old, to_old, from_new, to_new in compared:
        words, others = "".join(old[from_old:to_old]), "".join(new[from_new:to_new])
        pieces += [DiffPiece(DiffKind.SAME, words)] if tag == "equal" else _pieces(words, others)
    return pieces


def _pieces(before: str, after: str) -> list[DiffPiece]:
    both = [DiffPiece(DiffKind.REMOVED, before), DiffPiece(DiffKind.ADDED, after)]
    return [piece for piece in both if piece.text]


ALTERNATIVES = " |OR| "
MOST_SHOWN = 100
LONGEST_SHOWN = 20_000
APPROACHES = {
    "exact_match": gettext_lazy("answer is exactly"),
    "must_include": gettext_lazy("answer contains"),
    "fuzzy_match": gettext_lazy("answer means (by a judge)"),
}
ON_PAGES = {
    "exact_match": gettext_lazy("page is exactly"),
    "must_include": gettext_lazy("page contains"),
}


class Expectation(NamedTuple):
    """One thing that is compared: what, with which values (all of them), and where."""

    what: str
    values: list[str]
    where: str = ""


class Difference(NamedTuple):
    """One place that a patch changed, before and after, word by word."""

    place: str
    before: list[DiffPiece]
    after: list[DiffPiece]
    is_whole: bool
    """Whether all was compared; else what is left counts as different."""


def expectations(spec: object) -> list[Expectation]:
    """WebArena's specification in words; empty for other benchmarks'."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("eval_types"), list):
        return []
    readers = {"string_match": _answers, "url_match": _address, "program_html": _pages}
    found = [
        expectation
        for kind in spec["eval_types"]
        if kind in readers
        for expectation in readers[kind](spec)
    ]
    return found[:MOST_SHOWN]


def differences(before: Task, after: Task, revision: TaskRevision) -> list[Difference]:
    """The places that the revision changed, each once, in the patch's order."""
    old, new = task_content(before), task_content(after)
    found = []
    for path in dict.fromkeys(str(change.get("path", "")) for change in revision.changes):
        try:
            texts = _spelled(value_at(old, path)), _spelled(value_at(new, path))
        except ChangeError:
            continue
        pieces = word_diff(*texts)
        found.append(
            Difference(
                path.removeprefix("/").replace("/", " › "),
                [piece for piece in pieces if piece.part is not DiffKind.ADDED],
                [piece for piece in pieces if piece.part is not DiffKind.REMOVED],
                pieces.is_whole,
            )
        )
    return found


def start_addresses(task: Task, hosts: Mapping[str, str]) -> list[dict[str, str]]:
    """The task's start URLs as stored, and where they lead on this deployment."""
    urls = map(str, task.start_urls)
    return [{"stored": url, "resolved": resolve_text(url, hosts)} for url in urls]


def sites_without_host(task: Task, hosts: Mapping[str, str]) -> list[str]:
    """Sites that the task names by placeholders and that this deployment has not set."""
    named = sites_named([task.goal, task.start_urls, task.spec])
    return [site for site in named if site not in hosts]


def spelled_json(value: object) -> str:
    """A specification as indented JSON, cut where it is endless; "" for none."""
    return "" if value is None else _spelled(value)


def _answers(spec: Mapping[str, Any]) -> Iterator[Expectation]:
    answers = spec.get("reference_answers")
    for approach, values in (answers if isinstance(answers, Mapping) else {}).items():
        what = str(APPROACHES.get(approach, approach))
        where = str(spec.get("string_note") or "") if values == "N/A" else ""
        yield Expectation(what, _texts(values), where)


def _address(spec: Mapping[str, Any]) -> Iterator[Expectation]:
    urls = str(spec.get("reference_url") or "").split(ALTERNATIVES)
    what = _("last page is one of") if len(urls) > 1 else _("last page begins with")
    yield Expectation(what, urls)


def _pages(spec: Mapping[str, Any]) -> Iterator[Expectation]:
    targets = spec.get("program_html")
    for target in targets if isinstance(targets, list) else []:
        if not isinstance(target, Mapping):
            continue
        url = target.get("url")
        place = _("the last page") if url == "last" else str(url)
        locator = target.get("locator") or ""
        required = target.get("required_contents")
        for check, values in (required if isinstance(required, Mapping) else {}).items():
            what = str(ON_PAGES.get(check, check))
            yield Expectation(what, _texts(values), f"{place}  {locator}".strip())


def _texts(values: object) -> list[str]:
    every = values if isinstance(values, list) else [values]
    return [_spelled(value) for value in every[:MOST_SHOWN]]


def _spelled(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
