"""Two runs side by side as a person uses the page: keys, pictures, scrubbers, phone."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from runs.models import Run
from tests.browser.conftest import OpenPage
from tests.runs.factories import make_run, make_task, make_user

pytestmark = pytest.mark.browser


@pytest.fixture
def runs(transactional_db: None) -> tuple[Run, Run]:
    """The same first two steps; A then does one thing, B two others, and both end alike."""
    task = make_task()
    together: list[dict[str, Any]] = [{"action": "click('1')"}, {"action": "click('2')"}]
    last = {"action": "click('9')", "url": "http://shop.local/end"}
    a = make_run(task=task, steps=[*together, {"action": "fill('3', 'a')"}, last])
    b = make_run(
        task=task,
        steps=[*together, {"action": "scroll(0, 5)"}, {"action": "scroll(0, 6)"}, last],
        outcome="failure",
    )
    return a, b


def address(runs: tuple[Run, Run]) -> str:
    return f"/runs/compare/?a={runs[0].pk}&b={runs[1].pk}"


@pytest.fixture
def page(open_page: OpenPage, runs: tuple[Run, Run]) -> Page:
    page = open_page(address(runs), make_user("engineer"))
    expect(page.locator("[data-side=b] [data-shot]")).to_be_visible()
    return page


def actions(page: Page) -> list[str]:
    return [
        page.locator(f"[data-side={side}] [data-text=action]").inner_text() for side in ("a", "b")
    ]


def test_keys_move_both(page):
    assert actions(page) == ["click('1')", "click('1')"]
    page.keyboard.press("j")
    assert actions(page) == ["click('2')", "click('2')"]
    page.keyboard.press("n")
    assert actions(page) == ["fill('3', 'a')", "scroll(0, 5)"]
    expect(page.locator("[data-scrubber=b]")).to_have_attribute("aria-valuenow", "2")
    assert page.url.endswith("#pair-2")
    page.keyboard.press("k")
    assert actions(page) == ["click('2')", "click('2')"]
    page.keyboard.press("G")
    assert actions(page) == ["click('9')", "click('9')"]
    expect(page.locator("[data-position]")).to_have_text("pair 5 / 5")


def test_both_pictures_are_those_of_the_steps(page, runs):
    page.keyboard.press("n")
    for side, run in zip("ab", runs, strict=True):
        picture = run.steps.get(index=2).screenshot_id
        expect(page.locator(f"[data-side={side}] [data-image]")).to_have_attribute(
            "src", f"/runs/{run.pk}/blobs/{picture}/"
        )
    page.keyboard.press("a")
    after = runs[0].steps.get(index=3).screenshot_id
    expect(page.locator("[data-side=a] [data-image]")).to_have_attribute(
        "src", f"/runs/{runs[0].pk}/blobs/{after}/"
    )


def test_where_one_run_has_no_step_it_is_said(page):
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(page.locator("[data-side=a] [data-note]")).to_have_text("No steps.")
    expect(page.locator("[data-side=a] [data-text=action]")).to_be_hidden()
    expect(page.locator("[data-side=b] [data-text=action]")).to_have_text("scroll(0, 6)")


def test_the_first_difference_is_marked(page):
    expect(page.locator(".step-note.parts + .pair")).to_have_attribute("data-place", "2")
    assert [row.inner_text() for row in page.locator(".pair .sign").all()] == list("==≠+=")
    row = page.locator(".pair").nth(2)
    expect(row).to_have_attribute("aria-describedby", "parts-here")


def test_a_tick_of_either_scrubber_moves_both(page):
    box = page.locator("[data-scrubber=b] [data-ticks]").bounding_box()
    assert box
    tick = min(box["width"] / 5, 72)
    page.mouse.click(box["x"] + 4.5 * tick, box["y"] + 10)
    assert actions(page) == ["click('9')", "click('9')"]


def test_on_a_phone_one_stands_above_the_other(open_page, runs):
    page = open_page(address(runs), make_user("engineer"), width=390, height=844)
    expect(page.locator("[data-side=a] [data-shot]")).to_be_visible()
    a, b = (page.locator(f"[data-side={side}]").bounding_box() for side in ("a", "b"))
    assert a
    assert b
    assert b["y"] >= a["y"] + a["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("[data-pane=facts]")
    expect(page.locator(".compare-table")).to_be_visible()
    expect(page.locator(".sides")).to_be_hidden()
    page.click("[data-pane=pairs]")
    page.locator(".pair").nth(2).click()
    expect(page.locator("[data-position]")).to_have_text("pair 3 / 5")


def test_a_run_page_offers_the_others_of_its_task(open_page, runs):
    page = open_page(f"/runs/{runs[0].pk}/", make_user("engineer"))
    page.locator("#run-actions > summary").click()
    page.get_by_role("button", name="Compare").click()
    page.locator(".compare-choices a").click()
    expect(page.locator("[data-side=a] [data-shot]")).to_be_visible()
    assert page.url.split("?")[1].startswith(f"a={runs[0].pk}&b={runs[1].pk}")


def test_a_rerun_is_compared_with_its_original_by_one_key(open_page, runs):
    original, user = runs[0], make_user("engineer")
    now = timezone.now()
    rerun = make_run(
        task=original.task, rerun_of=original, queued_at=now, ended_at=now, outcome="unknown"
    )
    pair = f"**/runs/compare/?a={original.pk}&b={rerun.pk}*"
    for address in (f"/runs/{rerun.pk}/", f"/runs/{original.pk}/"):
        page = open_page(address, user)
        expect(page.locator(".lineage")).to_be_visible()
        page.keyboard.press("v")
        page.wait_for_url(pair)
    page = open_page("/reruns/", user)
    page.keyboard.press("v")  # no row is chosen
    page.keyboard.press("j")
    page.keyboard.press("v")
    page.wait_for_url(pair)
    page = open_page(f"/runs/{runs[1].pk}/", user)  # of no family: one is chosen
    page.keyboard.press("v")
    expect(page.locator(".compare-choices a")).to_have_count(2)


def test_two_selected_rows_can_be_compared(open_page, runs):
    page = open_page("/runs/", make_user("engineer"))
    compare = page.locator("[data-compares]")
    boxes = page.locator('input[name="run"]')
    boxes.nth(0).check()
    expect(compare).to_be_hidden()
    boxes.nth(1).check()
    compare.click()
    expect(page.locator("[data-side=b] [data-shot]")).to_be_visible()
    for run in runs:
        assert str(run.pk) in page.url
