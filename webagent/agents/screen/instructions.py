"""A goal in plain words as a list of instructions, each about one kind of doing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

VERBS = (
    "click|press|hit|push|select|choose|check|pick|enter|type|write|input|fill|focus|close|copy"
    "|paste|switch|expand|find"
)

KINDS_OF_NOUNS = {
    "button": ("button", "close button"),
    "link": ("link",),
    "tab": ("tab",),
    "checkbox": ("checkbox", "checked checkbox"),
    "radio": ("radio button", "selected radio button"),
    "option": ("radio button", "selected radio button", "option"),
    "textarea": ("text area",),
    "text area": ("text area",),
    "textbox": ("text box",),
    "text box": ("text box",),
    "text field": ("text box",),
    "text input": ("text box",),
    "input": ("text box",),
    "field": ("text box",),
    "text": ("text box",),
    "icon": ("icon",),
    "image": ("image",),
    "section": ("section header",),
}
"""What goals call things, and what the reading of a screen calls them; longer nouns win."""
PLAIN_BUTTON = ("button",)
"""What "press login" means, where no noun says so."""

_QUOTE = re.compile(r"\"([^\"]*)\"|“([^“”]*)”")
_HIDDEN = re.compile(r"⟦(\d+)⟧")
# For texts whose words are parted by single spaces.
_NEXT = re.compile(
    rf"(?:, ?(?:and )?(?:then )?| and (?:then )?|\. | then )"
    rf"(?=(?:{VERBS})\b)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_DATE = re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b")
_VALUE_OF = re.compile(r"\bthe value of (.+?) (?:into|in|to)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(button|link|tab)\s+(#?\w[\w# ]*)", re.IGNORECASE)
_FILLING = re.compile(r"^(?:on|the|a|an|in|into|to|of|all)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Click:
    """Click on the thing of that text, of one of these kinds, or the nth of the kinds."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Choose:
    """Turn on what stands beside these texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enter:
    """Put a text into the field of that label, or into every field.

    `looked_up`: the text is not said, but stands on the screen beside this label.
    """

    text: str = ""
    label: str = ""
    every: bool = False
    looked_up: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """Take the whole text out of the nth text area."""

    number: int = 1


@dataclass(frozen=True, slots=True)
class Paste:
    """Put what was copied into the text box."""


Instruction = Click | Choose | Enter | Copy | Paste


def instructions_of(goal: str) -> tuple[Instruction, ...]:
    """What the goal asks for, in its order; nothing of clauses that no rule knows."""
    quotes: list[str] = []

    def hide(quote: re.Match[str]) -> str:
        quotes.append(quote[1] if quote[1] is not None else quote[2])
        return f"⟦{len(quotes) - 1}⟧"

    hidden = " ".join(_QUOTE.sub(hide, goal).split())
    instructions: list[Instruction] = []
    for clause in _NEXT.split(hidden):
        verb, _blank, rest = clause.strip().rstrip(".").partition(" ")
        said = [quotes[int(place)] for place in _HIDDEN.findall(clause)]
        instructions += _instructions(verb.lower(), rest.strip(), said)
    return tuple(instructions)


def _instructions(verb: str, rest: str, said: list[str]) -> Iterator[Instruction]:
    match verb:
        case "click" | "press" | "hit" | "push" | "focus" | "expand":
            yield _click(rest, said)
        case "close":
            yield Click(said[0] if said else "x", ("close button",))
        case "select" | "choose" | "check" | "pick":
            names = _names(rest, said)
            if names:
                yield Choose(names)
        case "enter" | "type" | "write" | "input" | "fill":
            yield from _entries(rest, said)
        case "copy":
            yield Copy(_number(rest) or 1)
        case "paste":
            yield Paste()


def _click(rest: str, said: list[str]) -> Click:
    plain = _HIDDEN.sub(" ", rest)
    kinds = _kinds(plain)
    if said and "widget" in plain:
        return Click(kinds=_kinds(said[0]))
    if said:
        return Click(said[0], kinds)
    if (number := _number(rest)) is not None:
        return Click(kinds=kinds, number=number)
    if named := _NAMED.search(rest):
        noun, name = named[1], named[2].strip()
        # A tab is called by its noun too: "Tab #2".
        return Click(f"{noun} {name}" if noun.lower() == "tab" else name, kinds)
    if kinds:
        return Click(kinds=kinds, number=1)
    return Click(_without_filling(rest), PLAIN_BUTTON)


def _entries(rest: str, said: list[str]) -> Iterator[Enter]:
    if value := _VALUE_OF.search(rest):
        yield Enter(looked_up=value[1])
        return
    if not said and (date := _DATE.search(rest)):
        yield Enter(date[0])
        return
    every = bool(re.search(r"\b(both|all|each|every)\b[^⟦]*\b(fields|boxes|inputs)\b", rest))
    before = ""
    for place, text in zip(_HIDDEN.finditer(rest), said, strict=False):
        label = rest[len(before) : place.start()]
        before = rest[: place.end()]
        yield Enter(_in_case(text, rest), _label(label), every)


def _in_case(text: str, rest: str) -> str:
    if "upper case" in rest:
        return text.upper()
    return text.lower() if "lower case" in rest else text


def _label(words: str) -> str:
    """The noun before a quoted text: "and the password" means the password."""
    kept = [word for word in words.split() if word.lower() not in {"and", "the", "a", "an", ","}]
    return " ".join(kept)


def _names(rest: str, said: list[str]) -> tuple[str, ...]:
    if said:
        return tuple(said)
    listed = rest.partition(" from ")[0].split(",")
    names = tuple(name.strip() for name in listed if name.strip())
    return () if names == ("nothing",) else names


def _kinds(words: str) -> tuple[str, ...]:
    lowered = words.lower()
    for noun in sorted(KINDS_OF_NOUNS, key=len, reverse=True):
        if re.search(rf"\b{noun}(?:e?s)?\b", lowered):
            return KINDS_OF_NOUNS[noun]
    return ()


def _number(words: str) -> int | None:
    found = _ORDINAL.search(words)
    return int(found[1]) if found else None


def _without_filling(words: str) -> str:
    while (shorter := _FILLING.sub("", words)) != words:
        words = shorter
    return words
