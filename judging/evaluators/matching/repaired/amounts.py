"""Numbers in texts, and references that are plain numbers: how many, how much, which code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import Mention, Question, literal_mentions

LONGEST_NUMERAL = 40
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+")
_ADDRESSES = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>\"']+"  # URLs
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"  # e-mail
    r"|\b(?:www\.|localhost)[^\s<>\"']*"
    r"|(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|net|edu|gov|io|dev)\b(?::\d+)?(?:/[^\s<>\"']*)?",
    re.IGNORECASE,
)
_PAGE = re.compile(
    r"\b(?:page|step|slide|chapter|section|tab|row|column|line)s?\s*(?:no\.?\s*|#)?$"
)
_OF_PAGE = re.compile(
    r"\b(?:page|step|slide|chapter|section|tab|row|column|line)s?\s*(?:no\.?\s*|#)?\d+\s*(?:of|/)\s*$"
)
_CURRENCY_BEFORE = re.compile(r"(?:us\$|usd|[$€£¥])\s?$")
_CURRENCY_AFTER = re.compile(r"\s?(?:(?:usd|dollars?|euros?|eur|gbp|pounds? sterling)\b|[$€£¥])")
_PERCENT_AFTER = re.compile(r"\s?(?:%|percent\b|per cent\b)")
_SOUTH_OR_WEST = re.compile(r"\s?(?:°|deg(?:rees)?)?\s?(?:s|w|south|west)\b")
_CURRENCIES = {"€": "€", "eur": "€", "euro": "€", "£": "£", "gbp": "£", "pound": "£", "¥": "¥"}
_ATTACHED = re.compile(r"[^\W\d_]+|°")
_RANGE = re.compile(r"-(?:us\$|[$€£])?$")


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number in a text: where, its value, and how it is written."""

    start: int
    end: int
    literal: str
    value: Decimal
    decimals: int
    currency: str = ""
    """$, €, £ or ¥; empty for none."""
    percent: bool = False
    south_or_west: bool = False
    attached: str = ""
    """Letters right after the digits, such as a unit."""
    numbered: bool = False
    """Names a page, step or row instead of saying how many."""


@lru_cache(maxsize=32)
def numerals(text: str) -> tuple[Numeral, ...]:
    """Numbers in a lower-case text that stand for themselves, in order.

    Left out are digits inside words and codes (v16, wsh09-29), ratios and dates (0/5, 2023-01-02),
    clock times, version and network numbers, ordinals, URLs and e-mail addresses.
    """
    blocked = [match.span() for match in _ADDRESSES.finditer(text)]
    found = []
    position = 0
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        if end - start > LONGEST_NUMERAL:
            continue
        while position < len(blocked) and blocked[position][1] <= start:
            position += 1
        if position < len(blocked) and blocked[position][0] <= start:
            continue
        if numeral := _numeral(text, start, end):
            found.append(numeral)
    return tuple(found)


def _numeral(text: str, start: int, end: int) -> Numeral | None:
    literal = text[start:end]
    before, after = text[max(0, start - 40) : start], text[end : end + 24]
    attached_match = _ATTACHED.match(after)
    attached = attached_match[0] if attached_match else ""
    if attached in ("st", "nd", "rd", "th", "x") or _continues(after):
        return None
    currency_before = _CURRENCY_BEFORE.search(before)
    head = before[: currency_before.start()] if currency_before else before
    negative = False
    if head:
        last, previous = head[-1], head[-2:-1]
        if last.isalnum() and last.isascii() or last == "_":
            return None
        if last in "/:.," and previous.isdigit():
            return None
        if last == "/" and not currency_before:
            return None
        if last == "-":
            if previous.isdigit():
                if not _is_range(head, after):
                    return None
            elif previous.isalnum():
                return None
            else:
                negative = True
    value = Decimal(literal.replace(",", ""))
    fraction = literal.partition(".")[2]
    return Numeral(
        start=start,
        end=end,
        literal=literal,
        value=-value if negative else value,
        decimals=len(fraction),
        currency=_currency(currency_before or _CURRENCY_AFTER.match(after)),
        south_or_west=_SOUTH_OR_WEST.match(after) is not None,
        percent=_PERCENT_AFTER.match(after) is not None,
        attached=attached,
        numbered=bool(_PAGE.search(before) or _OF_PAGE.search(before)),
    )


def _currency(written: re.Match[str] | None) -> str:
    if written is None:
        return ""
    word = written[0].strip()
    return next((sign for name, sign in _CURRENCIES.items() if word.startswith(name)), "$")


def _continues(after: str) -> bool:
    """Whether what follows makes the digits part of a date, time, ratio, version or code."""
    if re.match(r"[/:.]\d|,\d{3}(?!\d)", after):
        return True
    if re.match(r"_|-\d+-\d|-\d+[a-z]", after):
        return True
    return bool(re.match(r"[a-z]+[\d_]|[a-z]+-[\da-z]*\d", after))


def _is_range(head: str, after: str) -> bool:
    """Whether a number after "digits-" is the end of a range, not part of a date or phone."""
    token = re.search(r"(?<![\w.,$€£/-])[\w.,$€£/-]*+$", head)
    return bool(
        token
        and re.fullmatch(r"(?:us)?[$€£]?\d[\d,]*(?:\.\d+)?-", token[0])
        and not re.match(r"-\d", after)
    )


ONES = {
    word: value
    for value, word in enumerate(
        re.findall(
            r"\w+",
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
            " fifteen sixteen seventeen eighteen nineteen",
        )
    )
}
TENS = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_WORD = "|".join(sorted([*ONES, *TENS, "hundred", "thousand"], key=len, reverse=True))
_WORDS = re.compile(rf"\b(?:{_WORD})(?:(?:[\s-]+(?:and\s+)?)(?:{_WORD}))*\b")


def number_words(text: str) -> list[tuple[int, int, int]]:
    """English cardinal numbers in words below a million, as (start, end, value)."""
    found = []
    for match in _WORDS.finditer(text):
        total = current = 0
        for word in re.findall(r"[a-z]+", match[0]):
            if word in ONES:
                current += ONES[word]
            elif word in TENS:
                current += TENS[word]
            elif word == "hundred":
                current = (current or 1) * 100
            elif word == "thousand":
                total, current = total + (current or 1) * 1000, 0
        found.append((match.start(), match.end(), total + current))
    return found


_AMOUNT = re.compile(r"(-?)((?:us)?\$|[€£])?(-?)(\d{1,3}(?:,\d{3})+|\d{1,40})(\.\d{1,40})?%?")
_POSITIONS = r"\bpages?\b|\bsteps?\b|\brows?\b|\bcolumns?\b|\blines?\b"
_COUNTING = r"how (?:many|much)|\bcount\b|\bnumber of\b|\btotal\b|\bamount\b"
_SHARE_ASKED = r"percent|%"
_PLACE_ASKED = r"coordinate|latitude|longitude|\bdd format"
_NONE_FOUND = re.compile(r"\b(?:no|none|zero)\b(?:\s+(?:of\s+)?(?:the\s+)?([a-z-]+))?")
_NOUN_AFTER = re.compile(r"\s+([a-z-]+)")
_ATTACHABLE = frozenset(
    re.findall(
        r"\S+",
        "km m cm mm mi ft in kg g lb lbs oz h hr hrs min mins s sec secs usd eur gbp c f k °",
    )
)
"""Units, currencies and the like that may be written onto a number."""


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
    for start, end, number in number_words(text):
        if number == value and (not others or _counted(text, end, question)):
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
