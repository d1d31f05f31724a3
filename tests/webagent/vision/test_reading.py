"""A screenshot becomes text: cut, read, joined, captioned; and is drawn on."""

import io

import pytest
from PIL import Image, ImageDraw

from webagent.llm.interface import FailureKind, ImagePart, ModelFailure, Reply, Request
from webagent.vision.reading import NAMES, ModelCaptioner, ScreenReader, colour_name
from webagent.vision.screen import (
    KINDS,
    TEXT,
    Box,
    Element,
    ScreenItem,
    ScreenText,
    TextLine,
    colour_of,
    draw_boxes,
)

Colour = str | tuple[int, int, int]


class Reads:
    """Text that was read, the same each time; keeps the size of what was looked at."""

    def __init__(self, *lines: TextLine) -> None:
        self._lines = lines
        self.sizes: list[tuple[int, int]] = []

    def read(self, image: Image.Image) -> list[TextLine]:
        self.sizes.append(image.size)
        return list(self._lines)


class Finds:
    def __init__(self, *elements: Element) -> None:
        self._elements = elements

    def find(self, image: Image.Image) -> list[Element]:
        return list(self._elements)


class Says:
    """A model that answers, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.requests: list[Request] = []
        self._fails = fails

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        if self._fails:
            raise ModelFailure(FailureKind.TIMED_OUT, "It took too long.")
        return Reply(text='"Red  star."\n', model="eye-1")


def png(width: int = 200, height: int = 120, *figures: tuple[Box, Colour]) -> bytes:
    image = Image.new("RGB", (width, height), "white")
    for box, colour in figures:
        ImageDraw.Draw(image).rectangle((box.x1, box.y1, box.x2 - 1, box.y2 - 1), fill=colour)
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def test_what_is_cut_away_is_not_looked_at_and_boxes_stay_those_of_the_whole():
    ocr = Reads(TextLine("Save", Box(12, 12, 38, 22), 0.9))
    detector = Finds(Element("button", Box(10, 10, 50, 25), 0.8))
    screen = ScreenReader(ocr, detector, cut_top=50).read(png())
    assert ocr.sizes == [(200, 70)]
    assert screen.items == (ScreenItem("button", "Save", Box(10, 60, 50, 75)),)
    assert screen.size == (200, 120)
    assert set(screen.milliseconds) == {"decode", "ocr", "detection", "merge", "captions"}


def test_a_screenshot_that_is_cut_away_whole_shows_nothing():
    assert ScreenReader(Reads(), Finds(), cut_top=120).read(png()).items == ()
    with pytest.raises(ValueError, match="below 0"):
        ScreenReader(Reads(), Finds(), cut_top=-1)


def test_figures_go_by_their_colour():
    figure = Box(20, 20, 40, 40)
    detector = Finds(Element("circle", figure, 0.8))
    screen = ScreenReader(Reads(), detector).read(png(200, 120, (figure, "magenta")))
    assert screen.lines() == "'magenta' circle: [20, 20, 40, 40]"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "white"])
def test_each_colour_has_its_name(name):
    box = Box(20, 20, 40, 40)
    with Image.open(io.BytesIO(png(60, 60, (box, NAMES[name])))) as image:
        assert colour_name(image, box) == name


def test_what_looks_like_its_surroundings_has_no_colour():
    with Image.open(io.BytesIO(png(60, 60))) as image:
        assert colour_name(image, Box(20, 20, 40, 40)) == ""


def test_icons_are_named_by_a_model_once():
    icon = Box(20, 20, 40, 40)
    model = Says()
    captioner = ModelCaptioner(model, "eye")
    detector = Finds(Element("icon", icon, 0.8), Element("button", Box(60, 20, 90, 40), 0.8))
    reader = ScreenReader(Reads(), detector, captioner=captioner)
    lines = [reader.read(png(200, 120, (icon, "red"))).lines() for _ in range(2)]
    assert lines == ["'Red star' icon: [20, 20, 40, 40]\nbutton: [60, 20, 90, 40]"] * 2
    (request,) = model.requests
    (picture,) = [part for part in request.messages[0].parts if isinstance(part, ImagePart)]
    with Image.open(io.BytesIO(picture.data)) as shown:
        assert shown.size == (224, 224)
    assert (request.model, request.temperature) == ("eye", 0.0)


def test_without_a_reply_an_icon_goes_by_its_kind():
    detector = Finds(Element("icon", Box(20, 20, 40, 40), 0.8))
    captioner = ModelCaptioner(Says(fails=True), "eye")
    screen = ScreenReader(Reads(), detector, captioner=captioner).read(png())
    assert screen.lines() == "icon: [20, 20, 40, 40]"


def test_every_box_is_drawn_in_the_colour_of_its_kind():
    items = (
        ScreenItem("button", "Save", Box(10, 30, 50, 60)),
        ScreenItem(TEXT, "Name", Box(100, 30, 150, 60)),
    )
    with Image.open(io.BytesIO(draw_boxes(png(), ScreenText(items, (200, 120))))) as drawn:
        scale = drawn.width // 200
        assert drawn.size == (200 * scale, 120 * scale)
        assert min(drawn.size) >= 480
        for item in items:
            left, middle = item.box.x1 * scale, item.box.centre[1] * scale
            assert drawn.convert("RGB").getpixel((left, middle)) == colour_of(item.kind)


def test_kinds_are_drawn_in_colours_of_their_own():
    assert len({colour_of(kind) for kind in (*KINDS, TEXT)}) == len(KINDS) + 1
