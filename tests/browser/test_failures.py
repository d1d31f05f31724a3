"""Saying how runs failed: beside the timeline, and for all runs of a list at once."""

import pytest
from playwright.sync_api import Route, expect

from judging.models import FailureReview
from tests.browser.conftest import OpenPage
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.judging.analysis.failure_modes.test_shares import LIMIT, PLAN, proposes
from tests.runs.factories import make_agent, make_user

pytestmark = pytest.mark.browser


def test_confirmed_beside_the_run_and_then_for_the_whole_list(
    open_page: OpenPage, transactional_db: None
) -> None:
    of, agent = made.experiment("Failures"), make_agent()
    runs = made.store(made.run_row(of, task, agent, 0.0) for task in made.tasks(3))
    for run in runs:
        proposes(run, "failure-modes-mechanical", {LIMIT})
    proposes(runs[0], "failure-judge", {PLAN}, "reasoning")
    audited.study().add("failure", of=runs[0])
    page = open_page(f"/runs/{runs[0].pk}/", make_user("engineer"))
    pane = page.locator("#failure")
    pane.get_by_role("button", name="Confirm proposals").click()
    expect(pane.get_by_role("status")).to_contain_text("plan error, step limit · reasoning error")
    pane.locator("summary", has_text="Change").click()
    pane.locator("label.chip", has_text="plan error").click()
    pane.get_by_label("Note").fill("The limit alone.")
    pane.get_by_role("button", name="Save").click()
    expect(pane).to_contain_text("The limit alone.")
    assert [said.named for said in FailureReview.objects.order_by("pk")] == [[PLAN, LIMIT], [LIMIT]]
    page.goto(page.url.split("/runs/")[0] + made.address("experiment_detail", of.pk))
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)  # until then the page grows
    page.get_by_role("heading", name="More questions").click()
    page.get_by_role("link", name="How do runs fail?").click()

    held: list[Route] = []  # the script comes after the choice, as on a slow network
    page.route("**/js/causes*.js", lambda route: held.append(route), times=1)
    with page.expect_request("**/js/causes*.js"):
        page.locator("#part-failures").get_by_role("link", name="100.0 %").first.click()
    page.locator("label.chip", has_text="Select all on this page").click()
    held[0].continue_()
    expect(page.locator("[data-chosen-count]")).to_have_text("3")
    page.get_by_role("button", name="Confirm proposals").click()
    expect(page.locator(".toasts")).to_contain_text("Saved for 3 runs.")
    assert FailureReview.objects.filter(is_current=True, decision="confirmed").count() == 3
