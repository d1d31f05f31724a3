"""The runs table as a person uses it: filters, history, keys, selection."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from runs.models import Run, RunStatus
from tests.browser.conftest import OpenPage
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_task, make_user

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page: OpenPage, transactional_db: None) -> Page:
    for site in ("shopping", "gitlab", "gitlab"):
        make_run(task=make_task(site=site, goal=f"Look at {site}"), pictures=False)
    return open_page("/runs/", make_user("engineer"))


def rows(page: Page) -> int:
    return page.locator("tr[data-run]").count()


def test_filters_swap_the_table_and_the_way_back_works(page):
    page.evaluate("window.untouched = true")
    page.click("#filter-site summary")
    page.click("#filter-site >> text=gitlab")
    expect(page.locator("tr[data-run]")).to_have_count(2)
    assert page.url.endswith("?site=gitlab")
    expect(page.locator("#filter-site .sheet a").first).to_be_focused()  # for the next choice
    page.keyboard.press("Escape")
    page.click(".chips .chip")
    expect(page.locator("tr[data-run]")).to_have_count(3)
    assert page.evaluate("window.untouched")
    page.go_back()
    expect(page.locator("tr[data-run]")).to_have_count(2)
    assert page.url.endswith("?site=gitlab")
    page.reload()
    assert rows(page) == 2


def test_typing_filters_by_the_goal(page):
    page.keyboard.press("/")
    page.keyboard.type("shop")
    expect(page.locator("tr[data-run]")).to_have_count(1)
    assert "q=shop" in page.url
    page.click("#filter-site summary")
    expect(page.locator("#filter-site .sheet a:not(.htmx-added)").first).to_be_visible()
    assert page.evaluate("document.activeElement.matches('#filter-site summary')")


def test_a_menu_that_got_no_answer_asks_again_when_it_is_opened_again(page):
    page.route("**/runs/facets/*", lambda route: route.abort())
    page.click("#filter-site summary")
    expect(page.locator("#toasts li")).to_be_visible()
    page.unroute("**/runs/facets/*")
    page.click("#filter-site summary")
    page.click("#filter-site summary")
    expect(page.locator("#filter-site .sheet a")).to_have_count(2)


def test_sorting_is_in_the_address(page):
    page.click("th >> text=Steps")
    expect(page.locator('th[aria-sort="ascending"]')).to_have_text("Steps")
    assert "sort=n_steps" in page.url


def test_keys_move_select_and_open(page):
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected-count]")).to_have_text("1")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("[data-selected-count]")).to_have_text("2")
    page.click("[data-selects-none]")
    expect(page.locator("[data-bulk]")).to_be_hidden()
    wanted = page.locator("tr.current").get_attribute("data-run")
    page.keyboard.press("o")
    page.wait_for_url(f"**/runs/{wanted}/**")


def test_rows_chosen_before_the_script_has_come_are_counted(page):
    held: list[Route] = []
    page.route("**/js/run_list*.js", lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.check("[data-selects-all]")
    held[0].continue_()
    expect(page.locator("[data-selected-count]")).to_have_text("3")


def test_a_click_anywhere_on_a_row_opens_it(page):
    page.click("tr[data-run] >> nth=0 >> td >> nth=3")
    page.wait_for_url("**/runs/*-*/**")


def test_the_page_of_the_run_under_the_pointer_is_fetched_before_the_click(page):
    link = page.locator("tr[data-run] .row-link >> nth=0")
    with page.expect_request(lambda request: request.headers.get("sec-purpose") == "prefetch"):
        link.hover()
    link.click()
    page.wait_for_url("**/runs/*-*/**")
    delivered = "performance.getEntriesByType('navigation')[0].deliveryType"
    assert page.evaluate(delivered) == "navigational-prefetch"


def test_columns_are_chosen_and_stay(page):
    page.click("summary >> text=Columns")
    page.check("input[value=cost]")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("th >> text=Cost")).to_be_visible()


def test_on_a_phone_nothing_is_cut_off(open_page, page):
    phone = open_page("/runs/", make_user("engineer"), width=390, height=844)
    assert rows(phone) == 3
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.evaluate("document.querySelector('.verdict').className = 'verdict unknown'")
    known, unknown = phone.locator("td:has(> .verdict.success)"), phone.locator(".verdict.unknown")
    assert known.first.is_visible()
    assert not unknown.is_visible()  # it says nothing, and takes a line
    phone.click(".menu-button")
    expect(phone.get_by_role("link", name="Runs", exact=True)).to_be_visible()


def test_the_theme_is_switched_and_remembered(page):
    page.click(".topbar-end summary")
    page.click("[data-theme-choice=dark]")
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == paper
    assert paper == "rgb(20, 22, 26)"


def test_help_shows_the_keys(page):
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_the_preview_follows_the_rows_and_two_are_compared_by_a_key(page):
    page.keyboard.press("j")
    page.keyboard.press("Space")
    preview = page.locator("#list-preview")
    expect(preview).to_contain_text("Look at gitlab")
    expect(preview).to_contain_text("Nothing yet")
    table, pane = page.locator(".table-wrap").bounding_box(), preview.bounding_box()
    assert table
    assert pane
    assert table["x"] + table["width"] <= pane["x"]
    page.keyboard.press("x")
    for _ in range(2):
        page.keyboard.press("j")
    expect(preview).to_contain_text("Look at shopping")
    page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    page.keyboard.press("x")
    page.keyboard.press("v")
    page.wait_for_url("**/runs/compare/?a=*&b=*")


def test_tasks_have_the_same_keys_and_preview(open_page: OpenPage) -> None:
    for name in ("1", "2"):
        make_task(name, goal=f"Find {name}")
    page = open_page("/tasks/", make_user("engineer"))
    for key in ("j", "Space", "j"):
        page.keyboard.press(key)
    expect(page.locator("#list-preview")).to_contain_text("Find 2")
    page.locator("summary", has_text="Site").click()
    page.locator("a.item", has_text="shopping").click()
    expect(page.locator(".chip.on")).to_contain_text("shopping")
    expect(page.locator("a.item", has_text="shopping")).to_be_visible()  # the menu stays open
    page.keyboard.press("Escape")
    page.locator("tr", has_text="Find 1").click()
    page.wait_for_url("**/tasks/*/")


def test_studies_have_them_too(open_page: OpenPage) -> None:
    people = [make_user("annotator"), make_user("annotator")]
    for name in ("Garden", "Kitchen"):
        make_study(runs=1, name=name, annotators=people, guidelines=f"Rules of {name}")
    page = open_page("/studies/", people[0])
    for key in ("j", "Space", "j"):
        page.keyboard.press(key)
    expect(page.locator("#list-preview")).to_contain_text("Rules of Garden")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("kit")
    expect(page.locator("tr[data-preview]")).to_have_count(1)
    page.locator("th a", has_text="Created").click()
    page.wait_for_url("**/studies/?q=kit&sort=created")
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/studies/*/")
    expect(page.locator("h1")).to_have_text("Kitchen")


def test_rows_of_ended_reruns_stay_while_the_page_asks_again(open_page, transactional_db):
    now = timezone.now()
    ended = make_run(queued_at=now, ended_at=now, goal="Ended before", pictures=False)
    running = make_run(status=RunStatus.RUNNING, started_at=now, max_steps=90, pictures=False)
    page = open_page("/reruns/", make_user("engineer"))
    for n_steps in (7, 8):
        Run.objects.filter(pk=running.pk).update(n_steps=n_steps)
        expect(page.locator(f"#rerun-{running.pk}")).to_contain_text(f"{n_steps} of 90")
        expect(page.locator(f"#rerun-{ended.pk}")).to_contain_text("Ended before")


@pytest.mark.parametrize("address", ["/runs/", "/studies/new/"])
def test_an_open_menu_says_how_many_runs_each_choice_finds(
    open_page: OpenPage, address: str
) -> None:
    for outcome in ("success", "failure", "failure"):
        make_run(outcome=outcome)
    page = open_page(address, make_user("engineer"))
    page.locator("summary", has_text="Outcome").click()
    expect(page.locator("a.item", has_text="failure").first).to_contain_text("2")
