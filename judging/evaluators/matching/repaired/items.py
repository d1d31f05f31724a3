"""Lists in answers: is there anything in them that was not asked for?"""

from __future__ import annotations

import re

from judging.evaluators.matching.repaired.amounts import read_amount
from judging.evaluators.matching.repaired.mentions import is_quantity
from judging.evaluators.matching.repaired.rules import Rules
from judging.evaluators.matching.repaired.texts import (
    Answer,
    Question,
    fold,
    literal_mentions,
    lower,
)

_OTHER_THINGS_ASKED = (
    r"\bwhere\b|address|criticis|sentences?\b|reasons?\b|aspects?\b|how (?:long|far|much|many)"
    r"|price|distance|\bnames? and\b|configuration|coordinates|location|\bthen,? tell\b"
)
_PLACES_ASKED = (
    r"\bpark\b|\bcit(?:y|ies)\b|\bairports?\b|hotel|restaurant|cafe|universit|\bstore\b"
    r"|nearest|closest"
)
_BULLET = re.compile(r"^([ \t]*)(?:[-*•·+–]|\(?\d{1,3}[.)]|\(\d{1,3}\))[ \t]+(\S.*)$", re.MULTILINE)
_ASIDE = re.compile(
    r"(?:note|total|source|url|link|summary|count|price|range|average|i |the |these|this|all |"
    r"no |none|please|http)"
)
_FIELD = re.compile(
    r"(?:names?|e-?mails?|total|orders?|price|distance|address|phone|id|date|status|rating|url|"
    r"location|count|number|reviews?|time|comments?|rank|stars?|commits?)\b[^:\n]{0,20}:"
)
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|has|have|had|with|which|who|that|located|made|did|does|from|by|on|at)\b"
)
_LEAD_IN = re.compile(r":\s|\b(?:are|is|were|was|includes?|borders?)\b\s")
"""What may stand before the first item; after it, it is part of an item."""
_BETWEEN_ITEMS = re.compile(r"(?:(?<!\s)\s++)?+[,;]\s*+|(?<!\s)\s++(?:and|or|as well as)\s++")
LONGEST_ITEM = 15
"""Words; what is longer is prose."""


def extra_items(
    references: list[str], answer: Answer, question: Question, rules: Rules
) -> list[str]:
    """Items of a list in the answer that are none of the references, empty where there is no list.

    Only for references that are names: parts of an address, amounts and sentences can stand
    beside other things without being wrong.

    Args:
        references: folded and in lower case, each found in the answer.
    """
    if not references or question.asks(_OTHER_THINGS_ASKED):
        return []
    if any(read_amount(r) or is_quantity(r) or len(r.split()) > 12 for r in references):
        return []
    items = _bulleted(answer, rules) or _lines(references, answer, rules)
    if items:
        return [item for item in items if _is_extra(item, references, rules)]
    run = _run(references, answer, rules)
    if len(run) < 2 or not (
        re.search(r"\b(?:and|or)\b", answer.text) or _is_plain_list(run, references, question)
    ):
        return []
    no_capitals = answer.cased == answer.text
    return [
        item
        for item in run
        if _is_name(item, no_capitals) and _is_extra(lower(item), references, rules)
    ]


def _bulleted(answer: Answer, rules: Rules) -> list[str]:
    found = [(len(m[1].expandtabs()), m[2]) for m in _BULLET.finditer(answer.raw)]
    if len(found) < 2:
        return []
    outermost = min(indent for indent, _ in found)
    return [lower(fold(item, rules)) for indent, item in found if indent == outermost]


def _lines(references: list[str], answer: Answer, rules: Rules) -> list[str]:
    lines = [line for line in answer.text.split("\n") if line and not line.endswith(":")]
    short = all(len(line.split()) <= 8 and not line.endswith(".") for line in lines)
    named = [line for line in lines if any(_says(line, r, rules) for r in references)]
    return lines if len(lines) >= 2 and short and named else []


def _run(references: list[str], answer: Answer, rules: Rules) -> list[str]:
    """Items of "A, B and C" if each reference is one of them as a whole."""
    for sentence in re.split(r"\n|(?<=[a-z0-9)])\.\s", answer.cased):
        marked, names = _marked(sentence, references, rules)
        leads = [m.end() for m in _LEAD_IN.finditer(marked, 0, max(0, marked.find("\ue000")))]
        listed = marked[leads[-1] :] if leads else marked
        items = [
            re.sub(r"^(?:and|or|also)\s+", "", item.strip(" .\"'"), flags=re.IGNORECASE)
            for item in _BETWEEN_ITEMS.split(listed)
        ]
        if len(names) == len(references) and set(names) <= set(items):
            return [names.get(item, item) for item in items if item]
    return []


def _marked(sentence: str, references: list[str], rules: Rules) -> tuple[str, dict[str, str]]:
    """The sentence with each reference in it replaced by a mark, and what each mark stands for.

    References may hold commas and "and" themselves.
    """
    names: dict[str, str] = {}
    for number, reference in enumerate(sorted(references, key=len, reverse=True)):
        found = literal_mentions(reference, lower(sentence), rules)
        if found:
            mark = f"\ue000{number}\ue001"
            names[mark] = sentence[found[0].start : found[0].end]
            sentence = sentence[: found[0].start] + mark + sentence[found[0].end :]
    return sentence, names


def _is_plain_list(run: list[str], references: list[str], question: Question) -> bool:
    """Whether items with commas only are a list, not one thing with what it is called or where."""
    if question.asks(_PLACES_ASKED):
        return False
    return question.exact or len(references) > 1 or len(run) > 2


def _says(text: str, reference: str, rules: Rules) -> bool:
    return bool(literal_mentions(reference, text, rules))


def _is_extra(item: str, references: list[str], rules: Rules) -> bool:
    if any(_says(item, reference, rules) for reference in references):
        return False
    return (
        len(item.split()) <= LONGEST_ITEM
        and not _ASIDE.match(item)
        and not _FIELD.match(item)
        and not item.endswith(":")
        and re.search(r"\w", item) is not None
    )


def _is_name(item: str, no_capitals: bool) -> bool:
    if len(item.split()) > 6 or _VERBAL.search(lower(item)):
        return False
    return no_capitals or not item[:1].islower()
