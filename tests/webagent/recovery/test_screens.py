"""A screen is known again though its text cursor blinks, and another is told from it."""

import io

import pytest
from PIL import Image, ImageDraw

from tests.webagent.pages import png
from webagent.recovery import anomalies as module
from webagent.recovery.anomalies import Screens


def page(*boxes: tuple[int, int, int, int], size: tuple[int, int] = (200, 120)) -> bytes:
    """White, with boxes (left, top, right, bottom, none included at the end) filled black."""
    image = Image.new("RGB", size, "white")
    for left, top, right, bottom in ((60, 40, 150, 60), *boxes):
        ImageDraw.Draw(image).rectangle((left, top, right - 1, bottom - 1), fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("caret", [(20, 30, 21, 46), (20, 30, 22, 62)])
def test_a_cursor_that_blinks_makes_no_other_screen(caret: tuple[int, int, int, int]) -> None:
    screens = Screens()
    assert screens.number(page()) == screens.number(page(caret)) == screens.number(page())


@pytest.mark.parametrize(
    "change", [(20, 30, 30, 31), (20, 10, 22, 110), (190, 0, 200, 30), (10, 10, 15, 15)]
)
def test_more_than_a_cursor_is_another_screen(change: tuple[int, int, int, int]) -> None:
    screens = Screens()
    assert screens.number(page()) != screens.number(page(change))


def test_two_cursors_are_more_than_one() -> None:
    screens = Screens()
    assert screens.number(page()) != screens.number(page((10, 10, 11, 26), (180, 10, 181, 26)))


def test_another_size_is_another_screen() -> None:
    screens = Screens()
    assert screens.number(png(100, 60)) != screens.number(png(100, 61))


def test_what_is_no_picture_is_known_by_its_bytes() -> None:
    screens = Screens()
    broken = page()[:-30]
    numbers = [screens.number(content) for content in (b"", b"GIF89a", broken, page())]
    assert len(set(numbers)) == 4
    assert [screens.number(content) for content in (b"", b"GIF89a", broken)] == numbers[:3]


def test_only_the_last_screens_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_PIXELS", 3 * 200 * 120)
    screens = Screens()
    first = screens.number(page())
    for left in range(10, 60, 10):
        screens.number(page((left, 80, left + 8, 90)))
    assert screens.number(page()) == first
    assert screens.number(page((5, 5, 6, 20))) != first
