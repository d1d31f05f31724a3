"""What an errand is, and those on the sites of Larkfield: its library, shop, forum and map."""

import re
from collections.abc import Callable
from dataclasses import dataclass

Lines = tuple[str, ...]
Reader = Callable[[Lines], str]


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


def done(way: tuple[Move, ...], report: str, careless_way: tuple[Move, ...]) -> Errand:
    """An errand that is done rather than answered; who is careless reports the same."""
    return Errand(way, says(report), "{}", says(report), careless_way)


def after(label: str, *, within: str | None = None, skip: int = 0) -> Reader:
    """Reads the line that follows a label, below a heading if one is given."""

    def read(lines: Lines) -> str:
        start = lines.index(within) if within else 0
        return lines[lines.index(label, start) + 1 + skip]

    return read


def above(words: str) -> Reader:
    """Reads the line before the first that has these words."""
    return lambda lines: lines[next(i for i, line in enumerate(lines) if words in line) - 1]


def says(text: str) -> Reader:
    """Always says the same: for instructions that are done rather than answered."""
    return lambda lines: text


def press(*names: str) -> tuple[Move, ...]:
    """One press after the other."""
    return tuple(Move(name) for name in names)


def _books(lines: Lines) -> list[tuple[str, str, int]]:
    """Title, author and year of every row of the catalogue."""
    return [
        (title, author, int(year))
        for title, author, year in zip(lines, lines[1:], lines[2:], strict=False)
        if re.fullmatch(r"\d{4}", year)
    ]


def _threads(lines: Lines) -> list[tuple[str, int]]:
    """Title and number of answers of every row of a board."""
    return [
        (title, int(answers.split()[0]))
        for title, _by, _on, answers in zip(lines, lines[1:], lines[2:], lines[3:], strict=False)
        if re.fullmatch(r"\d+ answers?", answers)
    ]


def _a_page(lines: Lines) -> str:
    return next(line for line in lines if "a page" in line).split(": ")[1].split(" ")[0]


def _twenty_pages(lines: Lines) -> str:
    return f"${20 * float(_a_page(lines).removeprefix('$')):.2f}"


_BOOK = press("Catalogue", "The Salt Road")
_MESSAGE = (
    Move("Contact"),
    Move("Subject", "Broken lamp"),
    Move("Message", "The lamp by the window is broken."),
    Move("Send message"),
)
_TULIPS = press("Garden", "Tulip bulbs", "Add to cart", "Add to cart")
_STREET = (Move("My account"), Move("Street", "9 Mill Lane"), Move("Save address"))
_TROWEL = press("Garden", "Garden trowel")
_REVIEW = (Move("Title", "Sturdy"), Move("Your review", "It cuts."), Move("Send review"))
_TO_CANCEL = press("My orders", "Order 1058", "Cancel this order")
_FERRY = press("Town", "Ferry timetable in winter")
_ANSWER = (*_FERRY, Move("Your answer", "It runs every hour."), Move("Post answer"))
_MOSS = press("Garden", "Moss between the paving stones")
_UMBRELLA = (Move("Lost and found"), Move("Title", "Blue umbrella"))
_WHERE = Move("Text", "It was found at the tram stop.")
_SHOW = Move("Show the way")
_TO_PIER = (Move("Directions"), Move("From", "Library"), Move("To", "Ferry pier"))
_TO_POOL = (Move("Directions"), Move("From", "Station"), Move("To", "Swimming pool"))
_GARDEN = press("Sights", "Botanic garden", "Save to my places")

ERRANDS = {
    # The library
    "late fee per day for a DVD": Errand(
        press("Fees"), after("DVD"), "The late fee for a DVD is {} per day.", after("Book")
    ),
    "Who wrote The Salt Road": Errand(
        _BOOK, after("Author"), "The Salt Road was written by {}.", after("Subject")
    ),
    "How many copies of The Salt Road": Errand(
        _BOOK,
        lambda lines: after("Copies available")(lines).split(" of ")[0],
        "{}. The other copies are on loan.",
        lambda lines: after("Copies available")(lines).split(" of ")[1],
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
        press("Catalogue"),
        lambda lines: ", ".join(
            title for title, author, _year in _books(lines) if author == "Ines Calder"
        ),
        "The library has {}.",
        lambda lines: ", ".join(title for title, _author, _year in _books(lines)),
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
        press("Catalogue"),
        lambda lines: min(_books(lines), key=lambda book: book[2])[0],
        "The oldest book is {}.",
        lambda lines: max(_books(lines), key=lambda book: book[2])[0],
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
        press("Events", "December"),
        above("Winter reading begins"),
        "Winter reading begins on {}.",
        above("Story hour"),
    ),
    "20 printed pages": Errand(
        press("Fees"), _twenty_pages, "Printing 20 pages costs {}.", _a_page
    ),
    # The shop
    "copper kettle cost": Errand(
        press("Kitchen", "Copper kettle"),
        after("Price"),
        "The copper kettle costs {}.",
        after("Price"),
        press("Kitchen", "Enamel kettle"),
    ),
    "pay for order 1051": Errand(
        press("My orders", "Order 1051"),
        after("Total"),
        "You paid {} for order 1051.",
        after("Total"),
        press("My orders", "Order 1042"),
    ),
    "order that was cancelled": Errand(
        press("My orders", "Order 1019"),
        after("Placed on"),
        "The cancelled order was placed on {}.",
        after("Placed on"),
        press("My orders", "Order 1042"),
    ),
    "all desk lamps": done(
        press("Lamps", "Cheapest first"), "These are the desk lamps.", press("Lamps")
    ),
    "Juniper teapot": done(
        press("Kitchen", "Juniper teapot"),
        "This is the page of the teapot.",
        press("Kitchen", "Willow teapot"),
    ),
    "two packs of tulip bulbs": done(_TULIPS, "The bulbs are in your cart.", _TULIPS[:3]),
    "delivery address to 9 Mill Lane": done(_STREET, "The street is changed.", _STREET[:2]),
    "review of the garden trowel": done(
        (*_TROWEL, Move("Stars, 1 to 5", "5"), *_REVIEW),
        "The review is written.",
        (*_TROWEL, *_REVIEW),
    ),
    "order that is still being packed": done(_TO_CANCEL, "The order is cancelled.", _TO_CANCEL[:2]),
    "voucher SPRING": Errand(
        press("My orders", "Order 1058"),
        says("N/A"),
        "There is no voucher on order 1058.",
        after("Total"),
    ),
    # The forum
    "has the most answers": Errand(
        press("Garden"),
        lambda lines: max(_threads(lines), key=lambda thread: thread[1])[0],
        "It is the thread {}.",
        lambda lines: _threads(lines)[-1][0],
    ),
    "started the thread about the ferry": Errand(
        _FERRY,
        after("Ferry timetable in winter"),
        "It was started by {}.",
        # The name before the text before the last number of votes.
        lambda lines: lines[max(i for i, line in enumerate(lines) if line.endswith(" votes")) - 2],
    ),
    "posts has rowan_m written": Errand(
        (*_MOSS, Move("rowan_m")),
        lambda lines: next(line for line in lines if line.endswith(" posts")).split()[0],
        "rowan_m has written {} posts.",
        says("1"),
        _MOSS,
    ),
    "newest thread on the board Lost": done(
        press("Lost and found", "Grey mitten at the pier"),
        "This is the newest thread.",
        press("Lost and found", "Read this first: where found things go"),
    ),
    "about tomatoes": Errand(
        press("Garden"),
        lambda lines: ", ".join(title for title, _n in _threads(lines) if "tomatoes" in title),
        "There are two: {}.",
        lambda lines: ", ".join(title for title, _n in _threads(lines)),
    ),
    "Answer the thread about the ferry": done(_ANSWER, "The answer is posted.", _ANSWER[:3]),
    "Upvote the first answer": done(
        (*_MOSS, Move("Upvote post 2")), "I have upvoted it.", (*_MOSS, Move("Upvote post 1"))
    ),
    "title Blue umbrella": done(
        (*_UMBRELLA, _WHERE, Move("Start thread")),
        "The thread is started.",
        (*_UMBRELLA, Move("Start thread")),
    ),
    # The map
    "walk from the library": Errand(
        (*_TO_PIER, _SHOW),
        after("Time"),
        "The walk takes {}.",
        after("Time"),
        (*_TO_PIER, Move("How", "By bicycle"), _SHOW),
    ),
    "Museum of Tides close": Errand(
        press("Sights", "Museum of Tides"),
        lambda lines: after("Open")(lines).split("Saturdays to ")[1],
        "It closes at {} on Saturdays.",
        lambda lines: after("Open")(lines).split(" to ")[1].split(",")[0],
    ),
    "café on Harbour Square": Errand(
        press("Eat and drink", "Kade 9"),
        says("Kade 9"),
        "{} is a café on Harbour Square.",
        says("Mill bakery"),
        press("Eat and drink", "Mill bakery"),
    ),
    "swimming pool by bicycle": done(
        (*_TO_POOL, Move("How", "By bicycle"), _SHOW), "The way is shown.", (*_TO_POOL, _SHOW)
    ),
    "botanic garden to my places": done(_GARDEN, "The garden is saved.", _GARDEN[:2]),
    "tram from the harbour": Errand(
        press("Transport"), says("N/A"), "There is no airport on this map.", says("14 min")
    ),
}
"""By words that stand in one goal alone."""
