"""Quantities with a dimension: lengths, weights, durations, days, coordinates, phone numbers."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Self


@dataclass(frozen=True, slots=True)
class Quantity(ABC):
    """Something found in a text, from `start` to before `end`."""

    start: int
    end: int

    @abstractmethod
    def says(self, reference: Self) -> bool:
        """Whether it says what the reference says."""


_METRES = {
    "km": "1000 kilometer kilometers kilometre kilometres kms",
    "m": "1 meter meters metre metres",
    "cm": "0.01 centimeter centimeters centimetre centimetres",
    "mm": "0.001 millimeter millimeters millimetre millimetres",
    "mi": "1609.344 mile miles",
    "ft": "0.3048 foot feet",
    "yd": "0.9144 yard yards",
    "in": "0.0254 inch inches",
}
_GRAMS = {
    "kg": "1000 kilogram kilograms kgs",
    "g": "1 gram grams",
    "lb": "453.59237 lbs pound pounds",
    "oz": "28.349523125 ounce ounces",
}


def _scales() -> dict[str, tuple[str, Decimal]]:
    table = {}
    for dimension, units in (("length", _METRES), ("weight", _GRAMS)):
        for symbol, line in units.items():
            factor, *names = line.split()
            for name in (symbol, *names):
                table[name] = (dimension, Decimal(factor))
    return table


_SCALES = _scales()
_UNIT = "|".join(sorted(_SCALES, key=len, reverse=True))
_MEASURE = re.compile(
    rf"(?<![\w.,/:-])(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,12}}(?:\.\d{{1,12}})?)"
    rf"[ -]?(?P<unit>{_UNIT})(?![\w])"
)


@dataclass(frozen=True, slots=True)
class Measure(Quantity):
    """A length in metres or a weight in grams, with the worth of its last written digit."""

    dimension: str
    value: Decimal
    last_digit: Decimal
    significant: int

    def says(self, reference: Self) -> bool:
        """Same value, or one is the other rounded to the two or more digits that it shows."""
        if self.dimension != reference.dimension:
            return False
        gap = abs(self.value - reference.value)
        if not gap:
            return True
        coarse = self if self.last_digit >= reference.last_digit else reference
        return coarse.significant >= 2 and gap <= coarse.last_digit / 2


def measures(text: str) -> Iterator[Measure]:
    """Lengths and weights in a lower-case text, in order."""
    for match in _MEASURE.finditer(text):
        dimension, scale = _SCALES[match["unit"]]
        if match["unit"] == "in" and re.match(r"\s+\w", text[match.end() : match.end() + 3]):
            continue  # "3 in total": the word, not the inch
        literal = match["number"].replace(",", "")
        fraction = literal.partition(".")[2]
        yield Measure(
            start=match.start(),
            end=match.end(),
            dimension=dimension,
            value=Decimal(literal) * scale,
            last_digit=scale.scaleb(-len(fraction)),
            significant=len(literal.replace(".", "").lstrip("0")),
        )


_HOURS = r"(?:hours?|hrs?|h)"
_MINUTES = r"(?:minutes?|mins?|m)"
_SECONDS = r"(?:seconds?|secs?|s)"
_DURATION = re.compile(
    rf"(?<![\w.,/:$-])(?:(?P<days>\d{{1,4}})[ -]?(?:days?|d)\b[\s,]*(?:and )?)?"
    rf"(?:(?P<hours>\d{{1,5}}(?:\.\d{{1,2}})?)[ -]?{_HOURS}(?![a-z])[\s,]*(?:and )?)?"
    rf"(?:(?P<minutes>\d{{1,6}}(?:\.\d{{1,2}})?)[ -]?{_MINUTES}(?![a-z])[\s,.]*(?:and )?)?"
    rf"(?:(?P<seconds>\d{{1,6}})[ -]?{_SECONDS}(?![a-z]))?"
)
_CLOCK_DURATION = re.compile(rf"(?<![\w.:])(\d{{1,3}}):([0-5]\d)(?::([0-5]\d))?(?= ?{_HOURS}\b)")


@dataclass(frozen=True, slots=True)
class Duration(Quantity):
    """A duration in seconds, and whether seconds were written."""

    seconds: Decimal
    to_the_second: bool

    def says(self, reference: Self) -> bool:
        """Same duration; where only one side writes seconds, within half a minute."""
        slack = 30 if self.to_the_second != reference.to_the_second else 0
        return abs(self.seconds - reference.seconds) <= slack


def durations(text: str) -> Iterator[Duration]:
    """Durations in a lower-case text, in order: 1h 23min, 83 minutes, 1:23 hours."""
    for match in _DURATION.finditer(text):
        if not match[0]:
            continue
        parts = {name: Decimal(value) for name, value in match.groupdict().items() if value}
        if not parts or parts.keys() == {"days"}:
            continue
        seconds = (
            parts.get("days", Decimal(0)) * 86400
            + parts.get("hours", Decimal(0)) * 3600
            + parts.get("minutes", Decimal(0)) * 60
            + parts.get("seconds", Decimal(0))
        )
        end = match.start() + len(match[0].rstrip(" ,.\n"))
        yield Duration(match.start(), end, seconds, "seconds" in parts)
    for match in _CLOCK_DURATION.finditer(text):
        seconds = Decimal(match[1]) * 3600 + Decimal(match[2]) * 60 + Decimal(match[3] or 0)
        yield Duration(match.start(), match.end(), seconds, match[3] is not None)


_MONTHS = re.findall(
    r"\w+", "january february march april may june july august september october november december"
)
_MONTH = "|".join([*_MONTHS, *(f"{name[:3]}\\.?" for name in _MONTHS), "sept\\.?"])
_DAY_PATTERNS = (
    re.compile(rf"\b(?P<m>{_MONTH}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH}),? (?P<y>\d{{4}})\b"),
    re.compile(r"(?<![\w/.-])(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4}|\d{2})(?![\w/]|-\d)"),
    re.compile(
        r"(?<![\w/.-])(?P<d>1[3-9]|2\d|3[01])(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4})"
        r"(?![\w/]|-\d)"
    ),
    re.compile(r"(?<![\w/.-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\w/]|-\d)"),
)


@dataclass(frozen=True, slots=True)
class Dated(Quantity):
    """A calendar day, or year and month without a day."""

    when: date | tuple[int, int]

    def says(self, reference: Self) -> bool:
        return self.when == reference.when


def days(text: str) -> Iterator[Dated]:
    """Calendar days with a year in a lower-case text; 5/3/23 is the third of May, 31/5/2023 too
    can only be one day.
    """
    for pattern in _DAY_PATTERNS:
        for match in pattern.finditer(text):
            number = _month_number(match["m"])
            year = int(match["y"]) + (2000 if len(match["y"]) == 2 else 0)
            try:
                day = date(year, number, int(match["d"]))
            except ValueError:
                continue
            yield Dated(match.start(), match.end(), day)


def _month_number(written: str) -> int:
    if written.isdigit():
        return int(written)
    return next(i for i, name in enumerate(_MONTHS, 1) if name[:3] == written[:3])


_MONTH_PATTERNS = (
    re.compile(rf"(?<!\d )(?<!st )(?<!nd )(?<!rd )(?<!th )\b(?P<m>{_MONTH}),? (?P<y>\d{{4}})\b"),
    re.compile(r"(?<![\w/.-])(?P<m>0?[1-9]|1[0-2])/(?P<y>[12]\d{3})(?![\w/.-])"),
    re.compile(r"(?<![\w/.-])(?P<y>[12]\d{3})-(?P<m>0[1-9]|1[0-2])(?![\w/-])"),
)


def months(text: str) -> Iterator[Dated]:
    """Months with a year in a lower-case text, those of whole days left out."""
    for pattern in _MONTH_PATTERNS:
        for match in pattern.finditer(text):
            month = int(match["y"]), _month_number(match["m"])
            yield Dated(match.start(), match.end(), month)


_DEGREES = re.compile(
    r"(?<![\w.])(?P<sign>[+-]?)(?P<number>\d{1,3}\.\d{1,12})(?!\d|\.\d) ?(?:°|deg(?:rees)?)?"
    r" ?(?P<side>n(?:orth)?|s(?:outh)?|e(?:ast)?|w(?:est)?)?(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Degrees(Quantity):
    """A latitude or longitude in decimal degrees, south and west negative."""

    value: Decimal
    decimals: int

    def says(self, reference: Self) -> bool:
        """Cut or rounded to the reference's decimals it is the reference, or one unit beyond.

        The references were cut, not rounded, so the rounded true value may be a unit larger.
        """
        if self.decimals < reference.decimals or (self.value < 0) != (reference.value < 0):
            return False
        unit = Decimal(1).scaleb(-reference.decimals)
        own, wanted = abs(self.value), abs(reference.value)
        cut = own.quantize(unit, rounding=ROUND_DOWN)
        rounded = own.quantize(unit, rounding=ROUND_HALF_UP)
        if self.decimals == reference.decimals:
            return wanted <= own <= wanted + unit
        return wanted in (cut, rounded)


def degrees(text: str) -> Iterator[Degrees]:
    """Decimal degrees in a lower-case text, in order."""
    for match in _DEGREES.finditer(text):
        value = Decimal(match["number"])
        if match["sign"] == "-" or (match["side"] or "")[:1] in ("s", "w"):
            value = -value
        decimals = len(match["number"].partition(".")[2])
        yield Degrees(match.start(), match.end(), value, decimals)


_PHONE = re.compile(r"(?<![\w.+])\+?\(?\d(?:[ ().-]{0,2}\d){6,14}(?![\w]|[.-]\d)")


@dataclass(frozen=True, slots=True)
class Phone(Quantity):
    """A telephone number, by its digits."""

    digits: str

    def says(self, reference: Self) -> bool:
        """The same line; the country code 1 is optional."""
        shorter, longer = sorted((self.digits, reference.digits), key=len)
        return shorter == longer or (len(shorter) == 10 and longer == f"1{shorter}")


def phones(text: str) -> Iterator[Phone]:
    """Telephone numbers in a text, in order."""
    for match in _PHONE.finditer(text):
        yield Phone(match.start(), match.end(), re.sub(r"\D", "", match[0]))
