"""Finding what a goal names among the things on a screen."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from webagent import measures
from webagent.vision.screen import TEXT, Box, ScreenItem, ScreenText

SAME = 1.0
SAME_BUT_CASE = 0.97
SAME_BUT_LOOKS = 0.93
"""The same once letters that look alike are taken for one another."""
LIKE_ENOUGH = 0.6

_ALIKE = str.maketrans("01i|!5$8", "ollllssb")
_SIGNS_OF_BOXES = "oO0□☐○◯◉●@QC[]()"
"""What a reader of letters makes of an empty checkbox or radio button before a label."""


def likeness(wanted: str, read: str) -> float:
    """From 0 to 1; blanks count for nothing, since readers lose and invent them."""
    one, other = _joined(wanted), _joined(read)
    if not one or not other:
        return 0.0
    if one == other:
        return SAME
    if one.casefold() == other.casefold():
        return SAME_BUT_CASE
    one, other = _look(one), _look(other)
    if one == other:
        return SAME_BUT_LOOKS
    return SAME_BUT_LOOKS * measures.likeness(one, other)


def label_likeness(wanted: str, read: str) -> float:
    """The same for the label of a checkbox, which may have been read as a letter before it."""
    first, _blank, rest = read.strip().partition(" ")
    variants = [read]
    if rest and len(first) <= 2:
        variants.append(rest)
    if read[:1] in _SIGNS_OF_BOXES and len(read) > len(wanted):
        variants.append(read[1:])
    return max(likeness(wanted, variant) for variant in variants)


def place_in(wanted: str, read: str) -> tuple[float, float] | None:
    """Where in a longer text the wanted words stand, as shares of its length; None if nowhere."""
    if not wanted or len(wanted) >= len(read):
        return None
    start = read.find(wanted)
    if start < 0:
        start = read.casefold().find(wanted.casefold())
    if start < 0:
        start = _look(read).find(_look(wanted))
    if start < 0:
        return None
    return start / len(read), (start + len(wanted)) / len(read)


def _joined(text: str) -> str:
    return "".join(text.split())


def _look(text: str) -> str:
    return text.casefold().translate(_ALIKE)


RIGHT_KIND = 0.2
"""What being of a kind that the goal names is worth, beside the likeness of the text."""
CLOSING = ("x", "×", "✕")
FIELDS = ("text box", "text area", "list box", "drop-down")
TOGGLES = ("checkbox", "checked checkbox", "radio button", "selected radio button")
LABELS = (TEXT, "list item", "link", "option", "menu item")
TURNED_ON = ("checked checkbox", "selected radio button")
TOUCHING = 2
"""Pixels by which boxes of neighbours may overlap."""
CLOSE_BY = 3.0
"""A label stands no further from what it names than so many times its own height."""

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Something to turn on, with the text beside it; without a `toggle`, the text alone."""

    toggle: ScreenItem | None
    label: str
    box: Box

    @property
    def is_on(self) -> bool:
        return self.toggle is not None and self.toggle.kind in TURNED_ON

    @property
    def point(self) -> Point:
        return (self.toggle.box if self.toggle else self.box).centre


def reading_order(items: Iterable[ScreenItem]) -> list[ScreenItem]:
    """From the top down; what stands on one row from left to right."""
    return sorted(items, key=lambda item: (item.box.y1, item.box.x1))


def of_kinds(screen: ScreenText, kinds: Collection[str]) -> list[ScreenItem]:
    """The items of these kinds, in reading order."""
    return reading_order(item for item in screen.items if item.kind in kinds)


def named(screen: ScreenText, text: str, kinds: Sequence[str]) -> Point | None:
    """The middle of the thing that reads most like the text; None if nothing does.

    Words within a longer line are found there, by their share of it.
    """
    if text.lower() in CLOSING and (point := _closing(screen)) is not None:
        return point
    best: tuple[float, Point] | None = None
    for item in screen.items:
        bonus = RIGHT_KIND if item.kind in kinds else 0.0
        score = likeness(text, item.text) + bonus
        if score - bonus >= LIKE_ENOUGH and (best is None or score > best[0]):
            best = score, item.box.centre
        shares = place_in(text, item.text)
        inside = SAME_BUT_LOOKS + bonus / 2
        if shares is not None and (best is None or inside > best[0]):
            best = inside, _within(item.box, shares)
    return best[1] if best else None


def labelled(screen: ScreenText) -> list[Labelled]:
    """Everything that can be turned on with its label, then every text that labels nothing."""
    # A label may have been taken for a row of a list, box and all.
    texts = [item for item in screen.items if item.text and item.kind in LABELS]
    toggles = of_kinds(screen, TOGGLES)
    found, used = [], set()
    for toggle in toggles:
        if toggle.text:
            found.append(Labelled(toggle, toggle.text, toggle.box))
            continue
        beside = [
            text
            for text in texts
            if _is_right_of(text.box, toggle.box)
            or text.box.shared(toggle.box) * 2 > toggle.box.area
        ]
        # One that belongs to another toggle in the same row stands behind that one.
        label = min(beside, key=lambda text: text.box.x1, default=None)
        if label is not None:
            used.add(label)
            found.append(Labelled(toggle, label.text, toggle.box.around(label.box)))
    rest = [Labelled(None, text.text, text.box) for text in texts if text not in used]
    return [*found, *rest]


def assigned(texts: Sequence[str], choices: Sequence[Labelled]) -> dict[str, Labelled]:
    """For each text the choice that reads most like it, no choice twice; likest pairs first."""
    pairs = sorted(
        (
            (label_likeness(text, choice.label), -place, text)
            for place, choice in enumerate(choices)
            for text in texts
        ),
        reverse=True,
    )
    taken: dict[str, Labelled] = {}
    used: set[int] = set()
    for score, place, text in pairs:
        if score < LIKE_ENOUGH or text in taken or place in used:
            continue
        taken[text] = choices[-place]
        used.add(place)
    return taken


def field_of(label: str, fields: Sequence[ScreenItem], screen: ScreenText) -> ScreenItem | None:
    """The field that stands nearest below or to the right of its label; None without a label."""
    texts = [item for item in screen.items if item.kind == TEXT]
    best = max(texts, key=lambda item: label_likeness(label, item.text), default=None)
    if best is None or label_likeness(label, best.text) < LIKE_ENOUGH:
        return None
    # What ends above the label, or left of it, is not what it names.
    after = [
        field
        for field in fields
        if field.box.y2 > best.box.y1
        and (field.box.y1 >= best.box.y1 or field.box.x1 >= best.box.x2 - TOUCHING)
    ]
    return min(after, key=lambda field: _distance(best.box, field.box), default=None)


def value_beside(label: str, screen: ScreenText) -> str | None:
    """What stands in the row of a label, to the right of it or behind it in the same text."""
    texts = [item for item in screen.items if item.text and item.kind not in FIELDS]
    best = max(texts, key=lambda item: likeness(label, item.text), default=None)
    if best is not None and likeness(label, best.text) >= SAME_BUT_LOOKS:
        beside = [item for item in texts if _is_right_of(item.box, best.box, close=False)]
        value = min(beside, key=lambda item: item.box.x1, default=None)
        if value is not None:
            return value.text
    for item in texts:
        shares = place_in(label, item.text)
        if shares is not None and shares[0] == 0:
            return item.text[len(label) :].strip(" :") or None
    return None


def _closing(screen: ScreenText) -> Point | None:
    """A button that closes something: by its kind, or as the cross that was read from it."""
    for kinds in (("close button",), ("button", "icon", TEXT)):
        crosses = [
            item
            for item in of_kinds(screen, kinds)
            if item.kind == "close button" or item.text.strip().lower() in CLOSING
        ]
        if crosses:
            return crosses[0].box.centre
    icons = of_kinds(screen, ("icon",))
    return max(icons, key=lambda item: item.box.x2).box.centre if icons else None


def _is_right_of(box: Box, other: Box, *, close: bool = True) -> bool:
    """Whether the box begins right of the other one's middle, in the same row."""
    height = min(box.y2 - box.y1, other.y2 - other.y1)
    shared = min(box.y2, other.y2) - max(box.y1, other.y1)
    begins_after = box.x1 >= other.centre[0]
    is_near = not close or box.x1 - other.x2 <= CLOSE_BY * (other.y2 - other.y1)
    return begins_after and is_near and shared * 2 >= height


def _within(box: Box, shares: tuple[float, float]) -> Point:
    """The middle of a part of a line, whose letters are taken to be of one width."""
    width = box.x2 - box.x1
    return round(box.x1 + width * sum(shares) / 2), box.centre[1]


def _distance(box: Box, other: Box) -> float:
    across = max(0, other.x1 - box.x2, box.x1 - other.x2)
    down = max(0, other.y1 - box.y2, box.y1 - other.y2)
    return across + down
