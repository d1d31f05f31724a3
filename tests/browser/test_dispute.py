"""A dispute as the adjudicator decides it: evidence, discussion and decision in one sight."""

import pytest
from playwright.sync_api import expect

from judging.models import DisputeMessage, ReferenceVerdict
from tests.browser.conftest import OpenPage
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    make_dispute,
    make_label,
    make_study,
)
from tests.runs.factories import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_decision_stands_in_sight_beside_a_long_discussion(
    open_page: OpenPage, width: int, height: int
) -> None:
    study = make_study(runs=[make_run(steps=3, final_answer="12")], adjudicators=1)
    dispute = make_dispute(study)
    for n in range(20):
        DisputeMessage.objects.create(
            dispute=dispute, author=annotators_of(study)[n % 2], text=f"Word {n} of a long talk."
        )
    page = open_page(
        f"/disputes/{dispute.pk}/", adjudicators_of(study)[0], width=width, height=height
    )
    decide = page.get_by_role("button", name="Decide")
    expect(page.locator("#discussion-title")).to_be_visible()
    for words in ("Word 0 ", "Word 19 "):
        page.get_by_text(words).scroll_into_view_if_needed()
        expect(page.get_by_text(words)).to_be_in_viewport()
        expect(decide).to_be_in_viewport(ratio=1)
        expect(page.get_by_label("Reason")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator("#row-2")).to_have_attribute("aria-selected", "true")  # the evidence
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="Failure")).to_be_checked()
    page.keyboard.press("Enter")  # without a reason it goes nowhere
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("It is eleven. 1")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    expect(page.locator(".decision")).to_contain_text("It is eleven.")
    expect(page.locator(".decision")).to_be_in_viewport(ratio=1)
    assert ReferenceVerdict.objects.get().verdict == "failure"


def test_examples_come_when_they_are_opened(open_page: OpenPage) -> None:
    study = make_study(runs=[make_run(goal=f"goal {n}") for n in range(2)])
    first, second = annotators_of(study)
    item = study.items.earliest("position")
    for user in (first, second):
        make_label(item, user)
    page = open_page(f"/studies/{study.pk}/annotate/", first)
    examples = page.locator("details.guidelines").last
    expect(examples).to_contain_text("Examples")
    examples.locator("summary").click()
    expect(examples).to_contain_text(item.run.goal)
    expect(examples).to_contain_text("success")
