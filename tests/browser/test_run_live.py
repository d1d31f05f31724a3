"""The page of a run that goes on, in a real browser: it follows, and it lets the reader be."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from runs.models import Run
from tests.browser.conftest import OpenPage
from tests.runs.factories import make_user
from tests.runs.viewer.test_run_live import add_step, live_run

pytestmark = pytest.mark.browser


def chosen(page: Page, step: int) -> None:
    expect(page.locator(".step[aria-selected=true] .n")).to_have_text(str(step))


def test_new_steps_come_by_themselves(open_page: OpenPage) -> None:
    run = live_run()
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"))
    newest = page.locator("[data-newest]")
    chosen(page, 1)
    expect(newest).to_be_hidden()
    add_step(run, thought="The third.")
    chosen(page, 2)
    expect(page.locator('[data-text="thought"]')).to_have_text("The third.")
    assert "#step" not in page.url

    page.keyboard.press("g")
    chosen(page, 0)
    page.locator("[data-steps]").focus()
    add_step(run)
    expect(newest).to_contain_text("1 new")
    chosen(page, 0)
    expect(page.locator("[data-steps]")).to_be_focused()

    newest.click()
    chosen(page, 3)
    expect(newest).to_be_hidden()
    ended = {"status": "finished", "outcome": "success", "end_reason": "task_ended"}
    Run.objects.filter(pk=run.pk).update(**ended, ended_at=timezone.now())
    expect(page.locator(".step-note.end")).to_have_text("ended: task ended")
    expect(page.locator(".notice.live")).to_contain_text("The run has ended.")
    expect(page.locator(".where .verdict")).to_have_text("success")
    assert page.locator("#run-live[hx-get]").count() == 0
