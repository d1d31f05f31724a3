"""Errands on the site of the Larkfield library."""

from __future__ import annotations

import re

from webagent.agents.errands.errand import Errand, Lines, Move, after, done, press, says


def books(lines: Lines) -> list[tuple[str, str, int]]:
    """Title, author and year of every row of the catalogue."""
    found = []
    for title, author, year in zip(lines, lines[1:], lines[2:], strict=False):
        if re.fullmatch(r"\d{4}", year):
            found.append((title, author, int(year)))
    return found


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

LIBRARY: dict[str, Errand] = {
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
    "list of events in December": done(
        press("Events", "December"), "These are the events in December.", press("Events")
    ),
    "page of the book Moss": done(
        press("Catalogue", "Moss: A Field Guide"),
        "This is the page of the book.",
        press("Catalogue", "Winter Birds of the Coast"),
    ),
    "Reserve A Clockmaker": done(
        press("Catalogue", "A Clockmaker's Notebook", "Reserve this book"),
        "The book is reserved.",
        press("Catalogue", "A Clockmaker's Notebook"),
    ),
    "Send the library a message": done(_MESSAGE, "The message is sent.", _MESSAGE[:3]),
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
