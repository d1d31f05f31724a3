"""A scripted reader of the Larkfield site: goes where the answer is, and says it in a style.

It answers from what the page shows, so the way it puts an answer is the only thing that
differs between styles. That is what makes it useful: a right answer in a sentence shows what
a strict matcher misses, a careless one what it lets through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import validate_call

from webagent.agents.scripted import Scripted, taken_by
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord

WAIT = "noop(500)"

Lines = tuple[str, ...]
Reader = Callable[[Lines], str]


class Style(StrEnum):
    """How the answer is put: the bare value, within a sentence, or read off carelessly."""

    PLAIN = "plain"
    SENTENCE = "sentence"
    CARELESS = "careless"


@dataclass(frozen=True, slots=True)
class Move:
    """One thing to do on the way: press the named link or button, or fill the named field."""

    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """How to serve one instruction: the way there, what to read, and how to put it."""

    way: tuple[Move, ...]
    read: Reader
    sentence: str
    careless: Reader
    careless_way: tuple[Move, ...] | None = None


def after(label: str, *, within: str | None = None, skip: int = 0) -> Reader:
    """Reads the line that follows a label, below a heading if one is given."""

    def read(lines: Lines) -> str:
        start = lines.index(within) if within else 0
        return lines[lines.index(label, start) + 1 + skip]

    return read


def says(text: str) -> Reader:
    """Always says the same: for instructions that are done rather than answered."""
    return lambda lines: text


def books(lines: Lines) -> list[tuple[str, str, int]]:
    """Title, author and year of every row of the catalogue."""
    found = []
    for title, author, year in zip(lines, lines[1:], lines[2:], strict=False):
        if re.fullmatch(r"\d{4}", year):
            found.append((title, author, int(year)))
    return found


def press(*names: str) -> tuple[Move, ...]:
    return tuple(Move(name) for name in names)


def _copies(lines: Lines) -> str:
    return after("Copies available")(lines).split(" of ")[0]


def _all_copies(lines: Lines) -> str:
    return after("Copies available")(lines).split(" of ")[1]


def _by_calder(lines: Lines) -> str:
    return ", ".join(title for title, author, _year in books(lines) if author == "Ines Calder")


def _every_title(lines: Lines) -> str:
    return ", ".join(title for title, _author, _year in books(lines))


def _oldest(lines: Lines) -> str:
    return min(books(lines), key=lambda book: book[2])[0]


def _newest(lines: Lines) -> str:
    return max(books(lines), key=lambda book: book[2])[0]


def _a_page(lines: Lines) -> str:
    return next(line for line in lines if "a page" in line).split(": ")[1].split(" ")[0]


def _twenty_pages(lines: Lines) -> str:
    return f"${20 * float(_a_page(lines).removeprefix('$')):.2f}"


def _winter(lines: Lines) -> str:
    return lines[next(i for i, line in enumerate(lines) if "Winter reading begins" in line) - 1]


def _story_hour(lines: Lines) -> str:
    return lines[next(i for i, line in enumerate(lines) if "Story hour" in line) - 1]


_BOOK = press("Catalogue", "The Salt Road")
_MESSAGE = (
    Move("Contact"),
    Move("Subject", "Broken lamp"),
    Move("Message", "The lamp by the window is broken."),
    Move("Send message"),
)

ERRANDS: dict[str, Errand] = {
    "late fee per day for a DVD": Errand(
        press("Fees"), after("DVD"), "The late fee for a DVD is {} per day.", after("Book")
    ),
    "Who wrote The Salt Road": Errand(
        _BOOK, after("Author"), "The Salt Road was written by {}.", after("Subject")
    ),
    "How many copies of The Salt Road": Errand(
        _BOOK, _copies, "{}. The other copies are on loan.", _all_copies
    ),
    "telephone number of the Harbour": Errand(
        press("Branches"),
        after("Telephone", within="Harbour"),
        "You can reach the Harbour branch at {}.",
        after("Telephone"),
    ),
    "Millbrook branch open on Sundays": Errand(
        press("Branches"),
        after("Sunday", within="Millbrook"),
        "The Millbrook branch is open from {} on Sundays.",
        after("Saturday", within="Millbrook"),
    ),
    "List all books by Ines Calder": Errand(
        press("Catalogue"), _by_calder, "The library has {}.", _every_title
    ),
    "most that a telescope": Errand(
        press("Fees"), after("Telescope", skip=1), "At most {}.", after("Telescope")
    ),
    "list of events in December": Errand(
        press("Events", "December"),
        says("These are the events in December."),
        "{}",
        says("These are the events in December."),
        press("Events"),
    ),
    "page of the book Moss": Errand(
        press("Catalogue", "Moss: A Field Guide"),
        says("This is the page of the book."),
        "{}",
        says("This is the page of the book."),
        press("Catalogue", "Winter Birds of the Coast"),
    ),
    "Reserve A Clockmaker": Errand(
        press("Catalogue", "A Clockmaker's Notebook", "Reserve this book"),
        says("The book is reserved."),
        "{}",
        says("The book is reserved."),
        press("Catalogue", "A Clockmaker's Notebook"),
    ),
    "Send the library a message": Errand(
        _MESSAGE, says("The message is sent."), "{}", says("The message is sent."), _MESSAGE[:3]
    ),
    "oldest book in the catalogue": Errand(
        press("Catalogue"), _oldest, "The oldest book is {}.", _newest
    ),
    "Harbour branch open on 3 December": Errand(
        (), says("No"), "{}, it is closed for painting on that day.", says("I do not know.")
    ),
    "books about space flight": Errand(
        press("Catalogue"),
        says("N/A"),
        "The catalogue has no book about space flight.",
        says("Winter Birds of the Coast"),
    ),
    "winter reading begin": Errand(
        press("Events", "December"), _winter, "Winter reading begins on {}.", _story_hour
    ),
    "20 printed pages": Errand(
        press("Fees"), _twenty_pages, "Printing 20 pages costs {}.", _a_page
    ),
}


class Librarian(Scripted):
    """Serves one of the errands it knows; gives up on anything else.

    Args:
        style: how it puts its answers.
    """

    @validate_call
    def __init__(self, style: Style = Style.PLAIN) -> None:
        self.style = style
        self._done = 0

    def act(self, observation: Observation) -> Decision:
        """The next move on the way, or the answer at its end."""
        errand = next((e for text, e in ERRANDS.items() if text in observation.goal), None)
        if errand is None:
            return Decision(
                action=None, thought="I do not know how to do this.", gave_up=True, finished=True
            )
        way = errand.way
        if self.style is Style.CARELESS and errand.careless_way is not None:
            way = errand.careless_way
        if self._done < len(way):
            made = _make(way[self._done], observation)
            self._done += made.action != WAIT
            return made
        return Decision(
            action=f"send_msg_to_user({self._answer(errand, observation)!r})",
            thought="I have what was asked for.",
            finished=True,
        )

    def resume_from(self, history: Sequence[Taken]) -> None:
        """The moves that are still made count."""
        self._done = taken_by(
            "librarian", [step for step in history if step.decision.action != WAIT]
        )

    def describe(self) -> AgentRecord:
        """Name and style."""
        return self.record("librarian", {"style": self.style.value})

    def _answer(self, errand: Errand, observation: Observation) -> str:
        lines = page_lines(observation)
        if self.style is Style.CARELESS:
            return errand.careless(lines)
        answer = errand.read(lines)
        return errand.sentence.format(answer) if self.style is Style.SENTENCE else answer


def page_lines(observation: Observation) -> Lines:
    """The visible texts of the page in reading order, each once where nodes repeat it."""
    lines: list[str] = []
    for node in observation.nodes:
        text = (node.name or "").strip()
        if text and (not lines or lines[-1] != text):
            lines.append(text)
    return tuple(lines)


def _make(move: Move, observation: Observation) -> Decision:
    fillable = move.text is not None
    for node in observation.nodes:
        wanted = node.role == "textbox" if fillable else node.role in {"link", "button"}
        if node.bid and wanted and node.name == move.name:
            action = f"fill({node.bid!r}, {move.text!r})" if fillable else f"click({node.bid!r})"
            return Decision(action=action, thought=f"Next is {move.name!r}.")
    return Decision(action=WAIT, thought=f"{move.name!r} is not on this page yet; I wait for it.")
