"""Other ways to write what a reference says: as right as the reference, and not the same text.

Each spelling comes with words for how it differs. Nothing here rounds or leaves out: who reads a
spelling knows what the reference says. The rules say which spellings a reference has, and by which
words an instruction asks for its own.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
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
_ASKS_COUNT = re.compile(
    r"\b(how many|(?<!order )number of(?! my)|count of|total count)\b", re.IGNORECASE
)
_ASKS_PERSON = re.compile(
    r"\b(who|customers?|reviewers?|contributors?|authors?|users?)\b", re.IGNORECASE
)
_ASKS_AMOUNT = re.compile(
    r"\b(price|cost|spend|spent|total|amount|refund|payment|paid)\b", re.IGNORECASE
)
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class _Rule:
    """`fits`: the reference is of this kind. `words` for one item and for several."""

    name: str
    fits: Callable[[str, Sequence[str]], bool]
    spellings: Callable[[str], Iterator[Spelling]]
    what: str
    words: Callable[[str, Sequence[str]], str]


def _amount_words(goal: str, items: Sequence[str]) -> str:
    if len(items) > 1 or "range" in goal:
        return "Give the amounts to the cent with a decimal point, such as 12.50 and 80.25."
    return "Give the amount to the cent with a decimal point, such as 12.50."


def _name_words(goal: str, items: Sequence[str]) -> str:
    if len(items) > 1:
        return "Write each item exactly as the site does, separated by commas."
    return "Write it exactly as the site does."


RULES = (
    _Rule(
        "duration",
        lambda goal, items: all(minutes_of(_after_label(item)) is not None for item in items),
        lambda item: of_duration(_after_label(item)),
        "The duration is compared with a text of hours and minutes",
        lambda goal, items: "Give durations in hours and minutes, such as 2h 5min.",
    ),
    _Rule(
        "date",
        lambda goal, items: all(date_of(item) is not None for item in items),
        of_date,
        "The day is compared with a date in one of many forms",
        lambda goal, items: "Give the date with the month's name, such as July 4, 2021.",
    ),
    _Rule(
        "count",
        lambda goal, items: (
            len(items) == 1
            and items[0].isdecimal()
            and len(items[0]) > 1
            and bool(_ASKS_COUNT.search(goal))
        ),
        of_number,
        "The count is looked for in digits",
        lambda goal, items: "Answer with the number alone, 0 if there is none.",
    ),
    _Rule(
        "amount",
        lambda goal, items: (
            all(NUMBER.fullmatch(item) for item in items) and bool(_ASKS_AMOUNT.search(goal))
        ),
        of_number,
        "Amounts are looked for as texts with a decimal point",
        _amount_words,
    ),
    _Rule(
        "state",
        lambda goal, items: all(item in STATES for item in items),
        of_state,
        "The states are looked for by their full names",
        lambda goal, items: "Write the states' names in full.",
    ),
    _Rule(
        "quotation",
        lambda goal, items: "sentences" in goal,
        of_name,
        "Sentences are looked for letter by letter",
        lambda goal, items: "Quote them word for word, with the signs that the site uses.",
    ),
    _Rule(
        "yes_or_no",
        lambda goal, items: len(items) == 1 and bool(_YES_NO.match(items[0])) and " " in items[0],
        lambda item: iter([Spelling(_YES_NO.match(item)[0], "in one word")]),  # type: ignore[index]
        "The reference answers the check by yes or no and says the state as well",
        lambda goal, items: "Answer yes or no, and name the state.",
    ),
    _Rule(
        "person",
        lambda goal, items: bool(_ASKS_PERSON.search(goal)),
        of_person,
        "People's names are looked for letter by letter",
        lambda goal, items: _name_words(goal, items).replace("Write it", "Write the name"),
    ),
    _Rule(
        "spelling",
        lambda goal, items: True,
        of_name,
        "Names are looked for letter by letter",
        _name_words,
    ),
)
LITERAL_ONLY = ("person", "spelling", "quotation")
"""Rules about spelling, which judges ignore."""


def _after_label(item: str) -> str:
    return item.rpartition(": ")[2]
