"""Errands on the sites of Larkfield's shop, forum and map."""

from __future__ import annotations

import re

from webagent.agents.errands.errand import Errand, Lines, Move, after, done, press, says


def _threads(lines: Lines) -> list[tuple[str, int]]:
    """Title and number of answers of every row of a board."""
    return [
        (title, int(answers.split()[0]))
        for title, _by, _on, answers in zip(lines, lines[1:], lines[2:], lines[3:], strict=False)
        if re.fullmatch(r"\d+ answers?", answers)
    ]


def _most_answered(lines: Lines) -> str:
    return max(_threads(lines), key=lambda thread: thread[1])[0]


def _last_thread(lines: Lines) -> str:
    return _threads(lines)[-1][0]


def _about_tomatoes(lines: Lines) -> str:
    return ", ".join(title for title, _answers in _threads(lines) if "tomatoes" in title)


def _every_thread(lines: Lines) -> str:
    return ", ".join(title for title, _answers in _threads(lines))


def _last_poster(lines: Lines) -> str:
    """The name before the text before the last number of votes."""
    return lines[max(i for i, line in enumerate(lines) if line.endswith(" votes")) - 2]


def _posts(lines: Lines) -> str:
    return next(line for line in lines if line.endswith(" posts")).split()[0]


def _saturdays(lines: Lines) -> str:
    return after("Open")(lines).split("Saturdays to ")[1]


def _weekdays(lines: Lines) -> str:
    return after("Open")(lines).split(" to ")[1].split(",")[0]


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

SHOP: dict[str, Errand] = {
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
}
FORUM: dict[str, Errand] = {
    "has the most answers": Errand(
        press("Garden"), _most_answered, "It is the thread {}.", _last_thread
    ),
    "started the thread about the ferry": Errand(
        _FERRY,
        after("Ferry timetable in winter"),
        "It was started by {}.",
        _last_poster,
    ),
    "posts has rowan_m written": Errand(
        (*_MOSS, Move("rowan_m")), _posts, "rowan_m has written {} posts.", says("1"), _MOSS
    ),
    "newest thread on the board Lost": done(
        press("Lost and found", "Grey mitten at the pier"),
        "This is the newest thread.",
        press("Lost and found", "Read this first: where found things go"),
    ),
    "about tomatoes": Errand(press("Garden"), _about_tomatoes, "There are two: {}.", _every_thread),
    "Answer the thread about the ferry": done(_ANSWER, "The answer is posted.", _ANSWER[:3]),
    "Upvote the first answer": done(
        (*_MOSS, Move("Upvote post 2")), "I have upvoted it.", (*_MOSS, Move("Upvote post 1"))
    ),
    "title Blue umbrella": done(
        (*_UMBRELLA, _WHERE, Move("Start thread")),
        "The thread is started.",
        (*_UMBRELLA, Move("Start thread")),
    ),
}
MAP: dict[str, Errand] = {
    "walk from the library": Errand(
        (*_TO_PIER, _SHOW),
        after("Time"),
        "The walk takes {}.",
        after("Time"),
        (*_TO_PIER, Move("How", "By bicycle"), _SHOW),
    ),
    "Museum of Tides close": Errand(
        press("Sights", "Museum of Tides"), _saturdays, "It closes at {} on Saturdays.", _weekdays
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
        press("Transport"),
        says("N/A"),
        "There is no airport on this map.",
        says("14 min"),
    ),
}
