"""An audit by mouse and keys: which runs were misjudged, why, and what a repair makes of them."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from judging.models import EvaluatorVersion
from runs.models import Run, Task
from tests.browser.conftest import OpenPage
from tests.judging.analysis import audited, papers
from tests.runs.factories import make_run, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world(transactional_db: None) -> audited.Audited:
    def run(task: Task, fields: dict[str, Any]) -> Run:
        return make_run(task=task, steps=2, pictures=False, **fields)

    return papers.before_study(run)


def rows(page: Page) -> Any:
    return page.locator("#triangle tr[data-run]")


def test_from_75_runs_to_the_16_and_why(open_page: OpenPage, world: audited.Audited) -> None:
    page = open_page("/audit/", make_user("engineer"))
    page.get_by_role("link", name="WebArena sample").click()
    strict = page.locator(".matrix-panel", has=page.get_by_role("heading", name="webarena-strict"))
    strict.locator(".matrix-cell.fn a").click()
    expect(page.locator("tr[data-run]")).to_have_count(16)
    page.get_by_role("link", name="Other evaluators").click()
    page.wait_for_url("**/audit/triangle/**")  # the page before has as many rows
    expect(rows(page)).to_have_count(16)
    header = page.locator("#triangle thead th").all_inner_texts()
    after = header.index("repaired + judge") + 1
    verdicts = page.locator(f"#triangle tbody td:nth-child({after})").all_inner_texts()
    assert sum("passed" in words for words in verdicts) == 15
    # Into the second run by keys: the strict matcher's reasons stand open beside the timeline.
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".walk")).to_contain_text("2 of 16")
    expect(page.locator("details.evaluator[open] summary")).to_contain_text("webarena-strict")
    page.keyboard.press("n")
    expect(page.locator(".walk")).to_contain_text("3 of 16")
    page.locator(".walk > a").click()
    expect(rows(page)).to_have_count(16)


def test_filters_change_the_address_and_the_rows(
    open_page: OpenPage, world: audited.Audited
) -> None:
    page = open_page(f"/studies/{world.study.pk}/audit/triangle/", make_user("engineer"))
    expect(rows(page)).to_have_count(75)
    before = EvaluatorVersion.objects.get(name="before").pk
    page.get_by_text("Filter", exact=True).click()
    page.locator("select[name=cell]").select_option(f"{before}_fn")
    page.get_by_role("button", name="Show").click()
    expect(rows(page)).to_have_count(16)
    page.get_by_text("Filter", exact=True).click()
    page.locator("select[name=site]").select_option("map")
    page.get_by_role("button", name="Show").click()
    expect(rows(page)).to_have_count(3)
    assert re.search(rf"cell={before}_fn.*site=map", page.url)
    page.get_by_role("link", name="site: map").click()
    expect(rows(page)).to_have_count(16)
    page.go_back()
    expect(rows(page)).to_have_count(3)


def test_on_a_phone_nothing_runs_over_the_edge(open_page: OpenPage, world: audited.Audited) -> None:
    user = make_user("engineer")
    for part in ("triangle", "compare", "people", ""):
        page = open_page(
            f"/studies/{world.study.pk}/audit/{part}".rstrip("/") + "/", user, 390, 844
        )
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, part


def test_what_repairs_them_comes_later_into_room_kept_for_it(
    open_page: OpenPage, world: audited.Audited
) -> None:
    page = open_page("/login/", make_user("engineer"))
    held: list[Route] = []
    page.route("**/audit/repairs/", lambda route: held.append(route))
    page.goto(f"/studies/{world.study.pk}/audit/")
    matrices = page.locator(".matrix-panel").first
    expect(page.locator(".repair").first).to_have_text("Repair: …")
    before = matrices.bounding_box()
    held[0].continue_()
    expect(page.locator("#next-steps")).to_be_visible()
    expect(page.locator("#findings-news")).to_have_text("Repairs are shown")
    after = matrices.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) <= 40, "less than two lines"
