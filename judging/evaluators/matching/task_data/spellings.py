"""Other ways to write what a reference says: as right as the reference, and not the same text.

Each spelling comes with words for how it differs. Nothing here rounds or leaves out: who reads a
spelling knows what the reference says.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from judging.evaluators.matching.repaired.amounts import ONES, TENS

DURATION = re.compile(
    r"(?:(?P<hours>\d+)\s*h(?:ours?|rs?)?)?\s*(?:(?P<minutes>\d+)\s*min(?:ute)?s?)?\.?",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\$?(?P<whole>\d[\d,]*)(?:\.(?P<part>\d+))?")
DATE_FORMATS = ("%B %d %Y", "%b %d %Y", "%m/%d/%Y", "%m/%d/%y")
UNITS = "cm|mm|m|km|foot|feet|ft|inch|in|oz|pack|gb|tb"
STATES = {
    "Connecticut": "CT",
    "Delaware": "DE",
    "Maine": "ME",
    "Maryland": "MD",
    "Massachusetts": "MA",
    "New Hampshire": "NH",
    "New Jersey": "NJ",
    "New York": "NY",
    "Ohio": "OH",
    "Pennsylvania": "PA",
    "Rhode Island": "RI",
    "Vermont": "VT",
    "West Virginia": "WV",
}
"""Of the north-east, which the benchmark's map holds, with the letters on their envelopes."""
_WORDS = {number: word for word, number in {**ONES, **TENS}.items()}


@dataclass(frozen=True, slots=True)
class Spelling:
    """The same in another form; `how` tells people which form."""

    text: str
    how: str


def minutes_of(text: str) -> int | None:
    """Minutes of a duration such as "1h 5min"; None for what is none."""
    found = DURATION.fullmatch(text.strip())
    if found is None or not (found["hours"] or found["minutes"]):
        return None
    return 60 * int(found["hours"] or 0) + int(found["minutes"] or 0)


def date_of(text: str) -> date | None:
    """The day of a date such as "March 11th 2023" or "3/11/23"; None for what is none."""
    plain = re.sub(r"(?<=\d)(st|nd|rd|th)\b|,", "", text.strip())
    for form in DATE_FORMATS:
        try:
            return datetime.strptime(plain, form).date()  # noqa: DTZ007 (a day has no zone)
        except ValueError:
            continue
    return None


def of_duration(text: str) -> Iterator[Spelling]:
    """A clock's reading and seconds."""
    if (minutes := minutes_of(text)) is not None:
        yield Spelling(f"{minutes // 60}:{minutes % 60:02}:00", "as a clock shows it")
        yield Spelling(f"{minutes * 60} seconds", "in seconds")


def of_date(text: str) -> Iterator[Spelling]:
    """Year first, and day first."""
    if (day := date_of(text)) is not None:
        yield Spelling(day.isoformat(), "year first")
        yield Spelling(f"{day.day}/{day.month}/{day.year}", "day first")


def of_number(text: str) -> Iterator[Spelling]:
    """A decimal comma; words for what has no decimals."""
    found = NUMBER.fullmatch(text.strip())
    if found is None:
        return
    whole = found["whole"].replace(",", "")
    if found["part"]:
        yield Spelling(f"{whole},{found['part']}", "with a decimal comma")
    elif len(whole) <= 3:
        yield Spelling(in_words(int(whole)), "in words")


def in_words(number: int) -> str:
    """English words for a whole number from 0 to 999."""
    hundreds, rest = divmod(number, 100)
    words = [f"{_WORDS[hundreds]} hundred"] if hundreds else []
    if rest in _WORDS and (rest or not hundreds):
        words.append(_WORDS[rest])
    elif rest:
        words.append(f"{_WORDS[rest - rest % 10]}-{_WORDS[rest % 10]}")
    return " ".join(words)


def of_person(text: str) -> Iterator[Spelling]:
    """As `of_name`, and with the last name first."""
    yield from of_name(text)
    if found := re.fullmatch(r"([A-Z][a-z]+) ([A-Z][a-z]+)", text):
        yield Spelling(f"{found[2]}, {found[1]}", "last name first")


def of_state(text: str) -> Iterator[Spelling]:
    """Its two letters."""
    if letters := STATES.get(text):
        yield Spelling(letters, "abbreviated")


def of_name(text: str) -> Iterator[Spelling]:
    """What sites, keyboards and habits do to a name, one change at a time."""
    for how, change in NAME_CHANGES.items():
        if (changed := change(text)) != text:
            yield Spelling(changed, how)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


NAME_CHANGES: dict[str, Callable[[str], str]] = {
    "without the trademark sign": lambda text: re.sub("[™®©]", "", text),
    "without accents": _without_accents,
    "with a word for &": lambda text: text.replace(" & ", " and "),
    "with brackets for a dash": lambda text: re.sub(r"^([^-]+) - ([^-]+)$", r"\1 (\2)", text),
    "with a blank for a hyphen": lambda text: re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text),
    "without a blank before the unit": lambda text: re.sub(
        rf"(?<=\d) (?=(?:{UNITS})\b)", "", text, flags=re.IGNORECASE
    ),
    "with blanks around x": lambda text: re.sub(r"(?<=\d)x(?=\d)", " x ", text),
    "with typographic apostrophes": lambda text: text.replace("'", "’"),
}
