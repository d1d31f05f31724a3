"""The run page as a person uses it: keys, list, picture, tree, scrubber, phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from judging.models import Label
from judging.studies.disputes.services import decide
from runs.models import Run
from tests.browser.conftest import OpenPage
from tests.judging.factories import adjudicators_of, make_dispute, make_evaluation, make_study
from tests.runs.factories import make_picture, make_run, make_text, make_user
from tests.security.payloads import BREAKING_OUT, MARKUP

pytestmark = pytest.mark.browser

ROOMS = ("runs", "studies", "audit", "experiments", "reruns", "tasks", "acts")
TREE = "RootWebArea 'Products'\n" + "\n".join(f"\t[a{n}] link 'product {n}'" for n in range(300))


@pytest.fixture
def run(transactional_db) -> Run:
    loop = {"action": "click('a7')", "state": "superseded"}
    steps: list[dict[str, Any]] = [
        {"tree": make_text(TREE)},
        {"error": "no such element"},
        *[loop] * 12,
        {},
        {},
    ]
    return make_run(
        steps=steps,
        events=[{"kind": "loop", "first_step": 2, "last_step": 13}],
        final_answer="The hose",
    )


@pytest.fixture
def page(open_page: OpenPage, run: Run) -> Page:
    page = open_page(f"/runs/{run.pk}/#step-0", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    return page


def chosen(page: Page) -> str:
    return page.locator(".step[aria-selected=true] .n").inner_text()


def test_it_opens_at_the_end(open_page, run):
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"))
    expect(page.locator('[data-text="answer"]')).to_have_text("The hose")
    assert chosen(page) == "15"
    last = run.steps.get(index=15).screenshot_id
    expect(page.locator("[data-image]")).to_have_attribute("src", f"/runs/{run.pk}/blobs/{last}/")


def test_keys_move_through_the_steps(page):
    assert chosen(page) == "0"
    for key, step in [
        ("j", 1),
        ("ArrowRight", 2),
        ("k", 1),
        ("G", 15),
        ("j", 15),
        ("g", 0),
        ("k", 0),
    ]:
        page.keyboard.press(key)
        assert chosen(page) == str(step)
        assert page.url.endswith(f"#step-{step}")


def test_everything_follows_the_step(page, run):
    page.keyboard.press("j")
    step = run.steps.get(index=1)
    expect(page.locator("[data-image]")).to_have_attribute(
        "src", f"/runs/{run.pk}/blobs/{step.screenshot_id}/"
    )
    expect(page.locator('[data-text="thought"]')).to_have_text("I think about step 1.")
    expect(page.locator('[data-text="error"]')).to_have_text("no such element")
    expect(page.locator('[data-text="url"]')).to_have_attribute("href", "http://shop.local/page/1")
    expect(page.locator("[data-scrubber]")).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("G")
    expect(page.locator('[data-text="answer"]')).to_have_text("The hose")
    expect(page.locator('[data-text="error"]')).to_be_hidden()


def test_the_element_is_outlined_where_it_is(page):
    """The box [40, 60, 80, 24] of a picture of 320 × 200, on the screen."""
    picture = page.locator("[data-image]").bounding_box()
    outline = page.locator("[data-marks] .core").bounding_box()
    assert picture
    assert outline
    scale = picture["width"] / 320
    assert outline["x"] - picture["x"] == pytest.approx(40 * scale, abs=4)
    assert outline["y"] - picture["y"] == pytest.approx(60 * scale, abs=4)
    assert outline["width"] == pytest.approx(80 * scale, abs=6)


def test_an_address_leads_to_its_step(open_page, run):
    page = open_page(f"/runs/{run.pk}/#step-14", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    assert chosen(page) == "14"


def test_long_repetitions_are_folded_and_open(page):
    fold = page.locator(".fold")
    expect(fold).to_have_text("… 7 identical steps")
    expect(page.locator('[data-index="8"]')).to_be_hidden()
    for _ in range(8):
        page.keyboard.press("j")
    expect(fold).to_have_class(re.compile(r"\bcurrent\b"))
    fold.click()
    expect(page.locator('[data-index="8"]')).to_be_visible()
    expect(page.locator('[data-index="8"]')).to_have_attribute("aria-selected", "true")


def test_only_the_open_tab_is_there(page):
    page.keyboard.press("t")
    expect(page.locator("[data-tree-text]")).to_contain_text("product 299")
    expect(page.locator("[data-shot]")).to_be_hidden()
    page.keyboard.press("d")
    expect(page.locator("[data-details]")).to_contain_text("Step 0")
    expect(page.locator("[data-tree-text]")).to_have_text("")
    page.keyboard.press("b")
    expect(page.locator("[data-shot]")).to_be_visible()
    expect(page.locator("[data-details]")).to_be_empty()


def test_the_tree_is_searched(page):
    page.keyboard.press("t")
    expect(page.locator("[data-tree-text]")).to_contain_text("product 299")
    page.keyboard.press("/")
    page.keyboard.type("PRODUCT 29")
    hits = page.locator("[data-tree] [data-search-hits]")
    expect(hits).to_have_text("1 of 11")
    page.keyboard.press("Enter")
    expect(hits).to_have_text("2 of 11")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(hits).to_have_text("11 of 11")
    assert page.evaluate("CSS.highlights.get('text-hit').size") == 11
    assert chosen(page) == "0"  # keys pressed while typing are not the page's


def test_playing_goes_on_and_stops(page):
    page.keyboard.press("Space")
    expect(page.locator("[data-scrubber]")).to_have_attribute("aria-valuenow", re.compile("[2-9]"))
    page.keyboard.press("Space")
    stopped = page.evaluate("document.querySelector('[data-timeline]').timeline.index")
    page.wait_for_timeout(700)
    assert page.evaluate("document.querySelector('[data-timeline]').timeline.index") == stopped


def test_the_scrubber_is_clicked_and_dragged(page):
    box = page.locator("[data-ticks]").bounding_box()
    assert box
    tick = min(box["width"] / 16, 72)
    page.mouse.move(box["x"] + 3.5 * tick, box["y"] + 10)
    expect(page.locator("[data-preview]")).to_be_visible()
    page.mouse.down()
    assert chosen(page) == "3"
    page.mouse.move(box["x"] + 14.5 * tick, box["y"] + 10)
    page.mouse.up()
    assert chosen(page) == "14"


def test_zoom_shows_full_size_and_goes_back(page):
    page.wait_for_load_state("networkidle")  # the judgements' pane comes by itself
    small = page.locator("[data-shot]").bounding_box()
    page.keyboard.press("z")
    full = page.locator("[data-shot]").bounding_box()
    assert full
    assert full["width"] == pytest.approx(320, abs=1)
    page.keyboard.press("z")
    assert page.locator("[data-shot]").bounding_box() == small


def test_nothing_jumps_from_step_to_step(page):
    parts = ("[data-stage]", "[data-texts]", "[data-scrubber]", "[data-steps]")
    before = [page.locator(part).bounding_box() for part in parts]
    for _ in range(4):
        page.keyboard.press("j")
    assert [page.locator(part).bounding_box() for part in parts] == before


def test_on_a_phone_one_part_is_shown_at_a_time(open_page, run):
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"), width=390, height=844)
    expect(page.locator("[data-stage]")).to_be_visible()
    expect(page.locator("[data-steps]")).to_be_hidden()
    page.click("[data-pane=steps]")
    expect(page.locator("[data-steps]")).to_be_visible()
    expect(page.locator("[data-stage]")).to_be_hidden()
    expect(page.locator("[data-scrubber]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_hostile_texts_stay_texts(open_page, transactional_db):
    """On every main page; `open_page` fails over a broken policy and over requests elsewhere."""
    evil = "<img src=x onerror=document.title='owned'><b hx-get='/logout/' hx-trigger='load'>x</b>"
    evil += " ".join(MARKUP + BREAKING_OUT)
    words = {"action": evil, "thought": evil, "target": evil, "error": evil}
    run = make_run(
        steps=[words | {"url": "javascript:alert(1)"}, words | {"url": "//evil.test/zx"}],
        goal=evil,
        final_answer=evil,
        error_message=evil,
    )
    study = make_study(runs=[run], adjudicators=1, name=evil[:200], guidelines=evil)
    dispute = make_dispute(study)
    Label.objects.update(rationale=evil)
    make_evaluation(run, "failed", reason=evil[:200], rationale=evil)
    decide(
        dispute=dispute, adjudicator=adjudicators_of(study)[0], verdict="success", rationale=evil
    )
    page = open_page(f"/runs/{run.pk}/", make_user("admin"))
    expect(page.locator("[data-shot]")).to_be_visible()
    page.keyboard.press("d")
    expect(page.locator("[data-details]")).to_contain_text("Step 1")
    assert page.locator('[data-text="url"]').get_attribute("href") is None
    for path in ("", *(f"/{room}/" for room in ROOMS), f"/studies/{study.pk}/"):
        page.goto(path or page.url)
        expect(page.locator("main")).to_be_visible()
        found = page.locator("main img[src=x], main b[hx-get], main [zx]").count()
        assert (found, page.title() == "owned") == (0, False), path
    page.goto(f"/studies/{study.pk}/audit/")
    expect(page.locator("main")).to_contain_text("matcher")


def test_what_changed_since_the_step_before_is_outlined(open_page, transactional_db):
    words = ("empty", "empty", "filled in")
    run = make_run(steps=[{"screenshot": make_picture(each)} for each in words])
    page = open_page(f"/runs/{run.pk}/#step-0", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    found = page.locator("[data-changes-found]")
    expect(page.locator("[data-changes]")).to_have_attribute("aria-pressed", "true")
    expect(found).to_be_empty()  # the first has none before it
    page.keyboard.press("j")
    expect(found).to_have_text("nothing changed since step 0")
    page.keyboard.press("j")
    expect(found).to_have_text("changes since step 1: 1")
    left, top, width, height = (
        float(page.locator(".change").get_attribute(name)) for name in ("x", "y", "width", "height")
    )
    # The words stand at (20, 20), some 50 by 10 pixels.
    assert 14 <= left <= 26
    assert 14 <= top <= 26
    assert 40 <= left + width <= 100
    assert 26 <= top + height <= 44
    page.reload()
    page.keyboard.press("G")
    expect(found).to_have_text("changes since step 1: 1")  # it stays as it was chosen
    page.keyboard.press("e")
    expect(page.locator(".change")).to_have_count(0)
    expect(found).to_be_empty()
