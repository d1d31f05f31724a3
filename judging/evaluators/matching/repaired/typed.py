"""References with a dimension, and places on the web: equal in more than one spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from judging.evaluators.matching.repaired import quantities as q
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.saying import Mention, Question

_COORDINATES_ASKED = r"coordinate|latitude|longitude|\bdd format"
_PHONE_ASKED = r"phone|\bfax\b"
_POSTAL_ASKED = r"\bzip\b|post(?:al)? ?code"

S = TypeVar("S", bound=q.Spanned)


def quantity_mentions(reference: str, text: str, question: Question, rules: Rules) -> list[Mention]:
    """Where a text says a reference that is a quantity, a day, a place or a line."""
    found: list[Mention] = []
    measure = _only(q.measures(reference), reference)
    if measure and rules.allow(Rule.UNITS):
        found += _matching(q.measures(text), measure.equals)
    duration = _only(q.durations(reference), reference)
    if duration and rules.allow(Rule.DURATIONS):
        found += _matching(q.durations(text), duration.equals)
    day = _only(q.days(reference), reference)
    if day and rules.allow(Rule.DATES):
        found += _matching(q.days(text), day.equals)
    month = _only(q.months(reference), reference)
    if month and rules.allow(Rule.DATES):
        found += _matching(q.months(text), month.equals)
    place = _only(q.degrees(reference), reference)
    if place and question.asks(_COORDINATES_ASKED) and rules.allow(Rule.COORDINATES):
        found += _matching(q.degrees(text), lambda each: each.says(place))
    phone = _only(q.phones(reference), reference)
    if phone and question.asks(_PHONE_ASKED) and rules.allow(Rule.PHONES):
        found += _matching(q.phones(text), phone.equals)
    if re.fullmatch(r"\d{5}", reference) and question.asks(_POSTAL_ASKED):
        pattern = rf"(?<![\w.-]){reference}-\d{{4}}(?![\w-])"
        if rules.allow(Rule.POSTAL_CODES):
            found += [Mention(m.start(), m.end()) for m in re.finditer(pattern, text)]
    return found


def is_quantity(reference: str) -> bool:
    """Whether the whole reference is a length, weight, duration, day or month."""
    readers: list[Callable[[str], Iterable[q.Spanned]]] = [
        q.measures,
        q.durations,
        q.days,
        q.months,
    ]
    return any(_only(read(reference), reference) is not None for read in readers)


def _only(found: Iterable[S], text: str) -> S | None:
    """The quantity that makes up the whole text, if one does."""
    return next((each for each in found if (each.start, each.end) == (0, len(text))), None)


def _matching(found: Iterable[S], says: Callable[[S], bool]) -> list[Mention]:
    return [Mention(each.start, each.end) for each in found if says(each)]
