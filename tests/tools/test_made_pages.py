"""Pages made at random to train the detector on: repeatable, varied, and whole."""

import random
import re
from collections import Counter

import pytest

from tools.detector.dataset import UNSEEN_TASKS
from tools.detector.made_controls import Draw
from tools.detector.made_pages import PARTS, made_page, random_style

PAGES = [made_page(seed) for seed in range(60)]


def test_the_same_seed_makes_the_same_page() -> None:
    assert [made_page(seed) for seed in range(60)] == PAGES


def test_other_seeds_make_other_pages() -> None:
    assert len(set(PAGES)) == len(PAGES)


@pytest.mark.parametrize("page", PAGES[:20])
def test_no_two_elements_share_an_id(page: str) -> None:
    ids = Counter(re.findall(r'\bid="([^"]+)"', page))
    assert [name for name, count in ids.items() if count > 1] == []


@pytest.mark.parametrize(
    "sign",
    [
        'type="radio"',
        'type="checkbox"',
        "<textarea",
        "<select",
        "<a href",
        "<button",
        ".slider(",
        ".tabs(",
        ".accordion(",
        ".spinner(",
        "<img",
    ],
)
def test_every_sort_of_element_comes_up(sign: str) -> None:
    assert any(sign in page for page in PAGES)


@pytest.mark.parametrize("draw", PARTS)
def test_a_part_looks_different_each_time(draw: Draw) -> None:
    rng = random.Random(3)
    assert len({draw(rng) for _ in range(10)}) == 10


def test_pages_load_the_benchmarks_core_and_none_of_its_tasks() -> None:
    loaded = {path for page in PAGES for path in re.findall(r'(?:src|href)="(/[^"]+)"', page)}
    assert loaded
    assert all(path.startswith("/core/") for path in loaded)
    assert not any(name.removeprefix("miniwob.") in page for name in UNSEEN_TASKS for page in PAGES)


def test_style_sheets_differ_and_close_what_they_open() -> None:
    sheets = [random_style(random.Random(seed)) for seed in range(30)]
    assert len(set(sheets)) == len(sheets)
    assert all(sheet.count("{") == sheet.count("}") > 0 for sheet in sheets)
