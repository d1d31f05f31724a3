"""The command palette by keys alone."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.judging.factories import make_study
from tests.runs.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_study_is_a_few_keys_away(open_page: OpenPage) -> None:
    study = make_study(runs=1, name="Garden")
    page = open_page("/runs/", make_user("engineer"))
    page.keyboard.press("Control+k")
    chosen = page.locator("#palette [role=option][aria-selected=true]")
    expect(chosen).to_have_text("Home")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_text("Runs")
    page.keyboard.type("garden")
    page.keyboard.press("Enter")  # before the answer is there
    page.wait_for_url(f"**{reverse('judging:study_detail', args=[study.pk])}")


def test_it_closes_by_escape_and_by_the_same_keys(open_page: OpenPage) -> None:
    page = open_page("/", make_user("annotator"))
    dialog = page.locator("#palette")
    for closing in ("Escape", "Control+k"):
        page.keyboard.press("Control+k")
        expect(dialog).to_be_visible()
        page.keyboard.press(closing)
        expect(dialog).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("nothing of this name")
    expect(dialog).to_contain_text("Nothing found")
