"""References that are plain numbers: how many, how much, which code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from judging.evaluators.matching.repaired.numerals import Numeral, number_words, numerals
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import Mention, Question, literal_mentions

_AMOUNT = re.compile(r"(-?)((?:us)?\$|[€£])?(-?)(\d{1,3}(?:,\d{3})+|\d{1,40})(\.\d{1,40})?%?")
_POSITIONS = r"\bpages?\b|\bsteps?\b|\brows?\b|\bcolumns?\b|\blines?\b"
_COUNTING = r"how (?:many|much)|\bcount\b|\bnumber of\b|\btotal\b|\bamount\b"
_SHARE_ASKED = r"percent|%"
_PLACE_ASKED = r"coordinate|latitude|longitude|\bdd format"
_NONE_FOUND = re.compile(r"\b(?:no|none|zero)\b(?:\s+(?:of\s+)?(?:the\s+)?([a-z-]+))?")
_NOUN_AFTER = re.compile(r"\s+([a-z-]+)")
_ATTACHABLE = frozenset(
    [
        "km",
        "m",
        "cm",
        "mm",
        "mi",
        "ft",
        "in",
        "kg",
        "g",
        "lb",
        "lbs",
        "oz",
        "h",
        "hr",
        "hrs",
        "min",
        "mins",
        "s",
        "sec",
        "secs",
        "usd",
        "eur",
        "gbp",
        "c",
        "f",
        "k",
        "°",
    ]
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A reference that is a number: its value, and the digits it is written with."""

    value: Decimal
    written: str
    decimals: int
    currency: str = ""
    percent: bool = False

    @property
    def is_code(self) -> bool:
        """Whether leading zeros show that it names something instead of counting."""
        return len(self.written) > 1 and self.written.startswith("0") and not self.decimals

    def equals(self, other: Amount) -> bool:
        """The same value of the same thing; a currency that one side leaves out may be any."""
        if self.percent != other.percent or self.value != other.value:
            return False
        return self.currency == other.currency or not (self.currency and other.currency)


def read_amount(reference: str) -> Amount | None:
    """The reference as an amount; None where it is anything else."""
    match = _AMOUNT.fullmatch(reference)
    if not match:
        return None
    sign, digits, fraction = match[1] or match[3], match[4].replace(",", ""), match[5] or ""
    return Amount(
        value=Decimal(f"{sign}{digits}{fraction}"),
        written=digits + fraction,
        decimals=max(0, len(fraction) - 1),
        currency=(match[2] or "").removeprefix("us"),
        percent=reference.endswith("%"),
    )


def amount_mentions(
    reference: str, amount: Amount, text: str, question: Question, rules: Rules
) -> Iterator[Mention]:
    """Where a text says the amount: as a number of its own, in digits or in words."""
    if rules.allow(Rule.NUMBER_BOUNDARIES):
        candidates = [n for n in numerals(text) if _counts(n, question)]
    else:
        yield from literal_mentions(reference, text, rules, Rule.NUMBER_BOUNDARIES)
        candidates = [n for n in numerals(text) if n.literal != amount.written]
    for numeral in candidates:
        if _says(numeral, amount, question, rules):
            yield Mention(numeral.start, numeral.end, number=True)
    if not amount.decimals and not amount.is_code and rules.allow(Rule.NUMBER_WORDS):
        yield from _in_words(amount.value, text, question)


def _counts(numeral: Numeral, question: Question) -> bool:
    if numeral.numbered and not question.asks(_POSITIONS):
        return False
    return not numeral.attached or numeral.attached in _ATTACHABLE


def _says(numeral: Numeral, amount: Amount, question: Question, rules: Rules) -> bool:
    if amount.currency and numeral.currency not in ("", amount.currency):
        return False
    if amount.percent and not numeral.percent and not question.asks(_SHARE_ASKED):
        return False
    if amount.value > 0 and numeral.south_or_west and question.asks(_PLACE_ASKED):
        return False
    if amount.is_code:
        return numeral.literal == amount.written
    if numeral.value == amount.value:
        return numeral.literal == amount.written or rules.allow(Rule.NUMBER_FORMAT)
    if 2 <= numeral.decimals < amount.decimals and not question.asks(_PLACE_ASKED):
        half = Decimal(5).scaleb(-numeral.decimals - 1)
        return abs(numeral.value - amount.value) <= half and rules.allow(Rule.ROUNDING)
    return False


def _in_words(value: Decimal, text: str, question: Question) -> Iterator[Mention]:
    others = [n for n in numerals(text) if not n.numbered and n.literal not in question.intent]
    for start, end, said in number_words(text):
        if said == value and (not others or _counted(text, end, question)):
            yield Mention(start, end, number=True)
    if value or not question.asks(_COUNTING):
        return
    for match in _NONE_FOUND.finditer(text):
        noun = match[1]
        if match[0].startswith("none") or (noun and _stem(noun) in question.intent):
            yield Mention(match.start(), match.end(), number=True)
    if question.asks(r"how much"):
        for match in re.finditer(r"\bnothing\b", text):
            yield Mention(match.start(), match.end(), number=True)


def _counted(text: str, end: int, question: Question) -> bool:
    noun = _NOUN_AFTER.match(text, end)
    return noun is not None and _stem(noun[1]) in question.intent


def _stem(noun: str) -> str:
    return re.sub(r"(?:ies|es|s)$", "", noun) if len(noun) > 3 else noun
