"""Milestones by keyboard: written on the task's page, ticked beside the run, drawn above it."""

import re

import pytest
from playwright.sync_api import expect

from judging.models import MilestoneTick
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from tests.browser.conftest import OpenPage
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import make_run, make_task, make_user
from webagent.milestones.checks import UrlCheck
from webagent.milestones.findings import Definition, Rule

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_rows_are_written_moved_and_removed_by_keyboard(open_page: OpenPage) -> None:
    task = make_task()
    page = open_page(f"/tasks/{task.pk}/milestones/", make_user("engineer"))
    keyboard = page.keyboard
    keyboard.type("First")  # an empty form brings a row, with the cursor in it
    for name in ("Second", "Third"):
        page.get_by_role("button", name="Add a milestone").focus()
        keyboard.press("Enter")
        keyboard.type(name)
    keyboard.press("Alt+ArrowUp")
    keyboard.press("Alt+ArrowUp")
    expect(page.locator("[data-said]")).to_have_text("Third, now at place 1")
    page.get_by_role("button", name="Remove").last.focus()
    keyboard.press("Enter")
    expect(page.locator("[data-said]")).to_have_text("Removed: Second")
    page.locator('[name$="-reached_kind"]:visible').first.select_option("url")
    page.locator('[name$="-name"]:visible').first.focus()
    keyboard.press("Enter")
    expect(page.locator("[aria-invalid=true]")).to_be_focused()  # the address is missing
    keyboard.type("*/cart")
    with page.expect_navigation():
        keyboard.press("Enter")
    cart = Rule(reached_when=UrlCheck(pattern="*/cart"))
    assert definitions_of(task) == (Definition(name="Third", rule=cart), Definition(name="First"))


def test_milestones_are_ticked_and_drawn_while_stepping(open_page: OpenPage) -> None:
    task = make_task()
    set_milestones(
        task=task,
        milestones=[Definition(name="Found", weight=3), Definition(name="Bought", weight=1)],
    )
    study = make_study(runs=[make_run(task=task, steps=5)], asks_milestones=True)
    user = annotators_of(study)[0]
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector("[data-annotate]:not([data-waits])")
    legend = page.locator(".progress-legend")
    for keys in ("gjm", "jjl", "2"):
        for key in keys:
            page.keyboard.press(key)
    page.keyboard.press("Enter")  # one milestone is open still
    expect(page.locator("[data-form-problem]")).to_be_visible()
    expect(legend).to_contain_text(re.compile(r"highest 75\s?%, at the end 0\s?%"))
    page.keyboard.press("m")  # for what is open
    expect(legend).to_contain_text(re.compile(r"highest 75\s?%, at the end 25\s?%"))
    assert page.locator(".progress-mark").count() == 3
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    ticks = MilestoneTick.objects.values_list("milestone__name", "step", "lost_step")
    assert list(ticks) == [("Found", 1, 3), ("Bought", 3, None)]
    page.goto(f"/runs/{study.items.get().run_id}/")  # one's own ticks are one's own to see
    expect(page.locator(".progress-legend")).to_contain_text("Your ticks")
    expect(page.locator(".run-progress")).to_contain_text("lost at 3")


def test_one_key_after_the_other_answers_one_milestone_after_the_other(open_page: OpenPage) -> None:
    task = make_task()
    names = ("Found", "Chosen", "Bought")
    set_milestones(task=task, milestones=[Definition(name=name) for name in names])
    study = make_study(runs=[make_run(task=task, steps=3)], asks_milestones=True)
    page = open_page(f"/studies/{study.pk}/annotate/", annotators_of(study)[0])
    page.wait_for_selector("[data-annotate]:not([data-waits])")
    for key in ("1", "Enter", "m"):
        page.keyboard.press(key)
    page.locator("[data-tick]").nth(1).get_by_text("reached", exact=True).click()  # focused
    for key in ("g", "j", "m", "j", "l"):
        page.keyboard.press(key)
    expect(page.locator("[data-saved]")).to_have_text(re.compile("^last saved"))
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    ticks = MilestoneTick.objects.values_list("milestone__name", "step", "lost_step")
    assert list(ticks) == [("Found", 2, None), ("Chosen", 2, None), ("Bought", 1, 2)]
