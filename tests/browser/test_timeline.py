"""Finding one's way in a run: search, effects, previews, before and after, cropped margins."""

import io
from collections import Counter

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from runs.models import Blob, Run
from tests.browser.conftest import OpenPage
from tests.runs.factories import make_run, make_text, make_user
from tests.runs.storage.stores import store_blob

pytestmark = pytest.mark.browser

TREE = "RootWebArea 'Products'\n" + "\n".join(f"\t[a{n}] link 'product {n}'" for n in range(300))


@pytest.fixture
def run(transactional_db) -> Run:
    """With a stretch of equal steps, of which the middle is folded."""
    return make_run(
        steps=[{"tree": make_text(TREE)}, {}, *[{"action": "click('a7')"}] * 12, {}, {}]
    )


@pytest.fixture
def page(open_page: OpenPage, run: Run) -> Page:
    page = open_page(f"/runs/{run.pk}/#step-0", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    return page


def chosen(page: Page) -> str:
    return page.locator(".step[aria-selected=true] .n").inner_text()


def test_steps_and_trees_are_searched_in_place(page, run):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    hits = page.locator("[data-step-hits]")
    page.keyboard.press("/")
    page.keyboard.type("I think about step 1")
    expect(hits).to_have_text("found: 7")  # 1 and 10 to 15
    expect(page.locator(".step:visible")).to_have_count(7)  # folded ones too
    page.keyboard.press("Enter")
    expect(hits).to_have_text("1 of 7")
    assert chosen(page) == "1"
    page.keyboard.press("Shift+Enter")
    assert chosen(page) == "15"
    page.locator("[data-step-field]").fill("")
    expect(page.locator(".step:visible")).to_have_count(9)  # the fold is back
    page.keyboard.type("PRODUCT 299")
    expect(hits).to_have_text("found: 1")
    page.keyboard.press("Enter")  # which only the tree of step 0 has: there it is marked
    assert chosen(page) == "0"
    expect(page.locator("[data-tree] [data-search-hits]")).to_have_text("1 of 1")
    page.locator("[data-step-field]").fill("nowhere at all")
    expect(hits).to_have_text("not found")
    page.keyboard.press("Escape")
    expect(page.locator("[data-step-field]")).to_have_value("")
    expect(hits).to_be_empty()
    expect(page.locator(".step:visible")).to_have_count(9)
    trees = dict(run.steps.values_list("tree_id", "index"))
    times = Counter(trees[url.split("/")[-2]] for url in asked if url.split("/")[-2] in trees)
    assert times.pop(0) <= 2  # to search it, and to show it
    assert set(times.values()) == {1}, times


def test_a_long_run_is_searched_without_asking_for_every_key(open_page, transactional_db):
    steps = [{"thought": f"needle {n}" if n % 100 == 7 else "hay"} for n in range(300)]
    run = make_run(steps=steps, pictures=False)
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"))
    expect(page.locator("#row-299")).to_be_attached()
    page.wait_for_load_state("networkidle")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(page.locator("[data-step-hits]")).to_have_text("found: 3")
    expect(page.locator(".step:visible")).to_have_count(3)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert chosen(page) == "107"
    assert [url for url in asked if "/static/" not in url] == []


def test_before_and_after_are_toggled_by_one_key(page, run):
    first, second = (run.steps.get(index=index).screenshot_id for index in (0, 1))
    for shown in (second, first, second):
        page.keyboard.press("b")
        expect(page.locator("[data-image]")).to_have_attribute(
            "src", f"/runs/{run.pk}/blobs/{shown}/"
        )


def test_steps_that_changed_something_are_marked_and_one_key_apart(open_page, transactional_db):
    same = {"url": "http://shop.local/"}
    run = make_run(
        steps=[
            {**same, "kind": "scroll"},
            {**same, "kind": "type"},
            {**same, "kind": "type", "error": "no such element"},
            {**same, "kind": "click"},
            {"url": "http://shop.local/cart", "kind": "wait"},
            {"url": "http://shop.local/cart", "kind": "click", "record": {"write_like": "submit"}},
            {"url": "http://shop.local/cart", "kind": "message"},
        ]
    )
    page = open_page(f"/runs/{run.pk}/#step-0", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    found = {
        row.locator(".n").inner_text(): row.locator(".effect").inner_text()
        for row in page.locator(".step.has-effect").all()
    }
    assert found == {
        "1": "form filled",
        "3": "page changed",
        "5": "form submitted",
        "6": "message sent",
    }
    for key, step in [("]", 1), ("]", 3), ("]", 5), ("[", 3), ("]", 5), ("]", 6), ("]", 6)]:
        page.keyboard.press(key)
        assert chosen(page) == str(step)


def test_a_row_under_the_pointer_is_previewed(page):
    preview = page.locator("[data-preview]")
    page.locator("#row-1").hover()
    expect(preview).to_be_visible()
    expect(preview).to_contain_text("1 · ")
    page.mouse.move(900, 300)
    expect(preview).to_be_hidden()
    page.locator("[data-zoom]").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-scrubber]')"):
            break
    expect(preview).to_contain_text("0 · ")
    page.keyboard.press("ArrowRight")
    expect(preview).to_contain_text("1 · ")


def small_page() -> Blob:
    """A page of 160 by 210 pixels in a window of 500 by 300, with a bar and a button."""
    image = Image.new("RGB", (500, 300), "#555")
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, 0, 159, 209), fill="white")
    drawing.rectangle((0, 0, 159, 49), fill="yellow")
    drawing.rectangle((20, 80, 100, 100), fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return store_blob(file.getvalue(), "image/png")


def test_blank_margins_are_cropped_with_a_way_back(open_page, transactional_db):
    run = make_run(steps=[{"screenshot": small_page(), "box": [20, 80, 80, 20]}])
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"))
    shot, image = page.locator("[data-shot]"), page.locator("[data-image]")
    expect(shot).to_be_visible()
    page.wait_for_load_state("networkidle")

    def inside() -> tuple[float, float, float]:
        """How wide the frame is in pixels of the page, and where the outlined element stands."""
        frame, whole = shot.bounding_box(), image.bounding_box()
        outline = page.locator("[data-marks] .core").bounding_box()
        assert frame
        assert whole
        assert outline
        scale = whole["width"] / 500
        left, top = outline["x"] - whole["x"], outline["y"] - whole["y"]
        return frame["width"] / scale, left / scale, top / scale

    width, left, top = inside()
    assert 160 <= width <= 170
    assert (left, top) == pytest.approx((20, 80), abs=3)
    expect(page.locator("[data-whole]")).to_be_visible()
    page.keyboard.press("w")
    assert inside() == pytest.approx((500, 20, 80), abs=3)
    page.locator("[data-whole]").click()
    assert inside()[0] < 170
    page.keyboard.press("z")  # full size shows all of it
    assert inside()[0] == pytest.approx(500, abs=2)
