"""Tagging causes by keys beside the timeline, and switching rules on a what-if page."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from judging.evaluating.evaluating import evaluate_study, version_of
from judging.evaluators.registry import evaluator_named
from judging.models import CauseTag
from tests.browser.conftest import OpenPage
from tests.judging.analysis import audited
from tests.judging.analysis.audits.test_what_if import make_world
from tests.runs.factories import make_user

pytestmark = pytest.mark.browser


@pytest.fixture
def world(transactional_db) -> audited.Audited:
    made = make_world()
    for name in ("webarena-strict", "webarena-repaired"):
        evaluate_study(made.study, evaluator_named(name))
    return made


def with_keys(page: Page) -> Locator:
    """The form, once its keys are there: form and script come after the page."""
    expect(page.locator("html[data-cause-keys]")).to_be_attached()
    form = page.locator("[data-causes]")
    expect(form).to_be_visible()
    return form


def tags() -> list[tuple[int, list[str], str, str]]:
    found = CauseTag.objects.filter(is_current=True).order_by("item__position")
    return list(found.values_list("item__position", "causes", "repair", "note"))


def test_errors_are_tagged_by_keys_one_after_the_other(open_page: OpenPage, world) -> None:
    strict = version_of(evaluator_named("webarena-strict"))
    query = f"?study={world.study.pk}&audit={strict.pk}&cell=fn"
    page = open_page(f"/runs/{world.items[1].run_id}/{query}", make_user("engineer"))
    form = with_keys(page)
    for key in "15q":
        page.keyboard.press(key)
    page.keyboard.press("5")  # off again
    page.locator("#id_note").fill("w 3 s")  # keys that are typed are no keys
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(form).to_contain_text("Saved.")
    assert tags() == [(world.items[1].position, ["output_format"], "task_data", "w 3 s")]
    page.keyboard.press("w")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(str(world.items[2].run_id)))
    assert tags()[0][2] == "evaluation_logic"
    expect(with_keys(page)).to_contain_text("Untagged")
    page.keyboard.press("Enter")
    expect(form).to_contain_text("Choose at least one.")
    page.keyboard.press("3")
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/audit/causes/"))
    assert tags()[1] == (world.items[2].position, ["several_answers"], "neither", "")


def test_undo_by_key(open_page: OpenPage, world) -> None:
    strict = version_of(evaluator_named("webarena-strict"))
    query = f"?study={world.study.pk}&audit={strict.pk}&cell=fn"
    page = open_page(f"/runs/{world.items[1].run_id}/{query}", make_user("engineer"))
    form = with_keys(page)
    for key in "4es":
        page.keyboard.press(key)
    expect(form).to_contain_text("Saved.")
    page.keyboard.press("u")
    expect(form).to_contain_text("Untagged")
    assert tags() == [(world.items[1].position, [], "", "")]


def test_rows_are_chosen_and_tagged_by_keys(open_page: OpenPage, world) -> None:
    strict = version_of(evaluator_named("webarena-strict"))
    page = open_page(
        f"/studies/{world.study.pk}/audit/{strict.pk}/cells/fn/", make_user("engineer")
    )
    for key in "jxjxt":
        page.keyboard.press(key)
    expect(page.locator("[data-chosen-count]")).to_have_text("2")
    for key in "6w":
        page.keyboard.press(key)
    page.get_by_role("button", name="Tag").click()
    expect(page.locator("#toasts")).to_contain_text("2 errors tagged.")
    assert [row[:3] for row in tags()] == [
        (item.position, ["too_lenient"], "evaluation_logic") for item in world.items[1:3]
    ]


def test_a_switch_shows_at_once_what_moves(open_page: OpenPage, world) -> None:
    repaired = version_of(evaluator_named("webarena-repaired"))
    path = f"/studies/{world.study.pk}/audit/what-if/?evaluator={repaired.pk}&stored=1"
    page = open_page(path, make_user("engineer"))
    results = page.locator("#what-if-results")
    expect(results).to_contain_text("0 runs would move")
    page.locator("#switch-sentence input").uncheck()
    expect(results).to_contain_text("1 run would move")
    expect(page).to_have_url(re.compile(r"\?evaluator=\d+&off=sentence#what-if$"))
    expect(results).to_contain_text("Which rules matter most?")
    page.reload()
    expect(page.locator("#switch-sentence input")).not_to_be_checked()
    expect(results).to_contain_text("1 run would move")
