"""The main job from end to end, as four people do it in one evening, on the demo.

One installation with a real worker serves all of it; nothing is called but its pages.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from judging.demo import NAME
from tests.browser.installation import Installation, installation

pytestmark = [pytest.mark.browser, pytest.mark.worker, pytest.mark.timeout(900)]

SAMPLES = Path(__file__).parents[1] / "data" / "agentlab"
HIDDEN = re.compile(r"resident|webarena|list_everything|imported-reward|careless", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("site")) as running:
        yield running


def log_in(chromium: Browser, site: Installation, name: str) -> Page:
    context: BrowserContext = chromium.new_context(
        base_url=site.url, viewport={"width": 1440, "height": 900}
    )
    context.set_default_timeout(30_000)
    page = context.new_page()
    page.goto("/")
    expect(page).to_have_url(re.compile("/login/"))
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(f"demo-{name}")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/")
    return page


def start_labelling(page: Page) -> None:
    page.get_by_role("link", name=NAME).first.click()
    expect(page).to_have_url(re.compile("/annotate/"))


def label_by_keyboard(page: Page, digit: str) -> None:
    """Look through the run that is shown and label it."""
    page.locator("[data-annotate][data-is-ready]").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("G")
    page.keyboard.press(digit)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.fixture(autouse=True)
def no_open_pages(chromium: Browser) -> Iterator[None]:
    """Pages left open would be waited for when the site stops."""
    yield
    for context in chromium.contexts:
        context.close()


def test_the_main_job(chromium: Browser, site: Installation, tmp_path: Path) -> None:
    first_labels_three_runs_by_keyboard(log_in(chromium, site, "annotator1"))
    second_says_the_opposite(log_in(chromium, site, "annotator2"))
    adjudicator_settles_one(log_in(chromium, site, "adjudicator"))
    engineer = log_in(chromium, site, "engineer")
    engineer_opens_a_false_negative(engineer)
    engineer_reruns_it_and_watches(engineer)
    engineer_imports_runs(engineer, tmp_path)


def first_labels_three_runs_by_keyboard(page: Page) -> None:
    start_labelling(page)
    for _ in range(3):
        assert not HIDDEN.search(page.content())
        label_by_keyboard(page, "1")
    page.goto("/audit/")
    assert "FN" not in page.locator("main").inner_text()


def second_says_the_opposite(page: Page) -> None:
    start_labelling(page)
    while "/annotate/" in page.url and page.locator("#label-form").count():
        assert not HIDDEN.search(page.content())
        label_by_keyboard(page, "2")
    expect(page.get_by_text("All done").first).to_be_visible()


def adjudicator_settles_one(page: Page) -> None:
    page.goto("/disputes/")
    page.get_by_role("row").filter(has_text=re.compile(r"\w")).nth(1).get_by_role(
        "link"
    ).first.click()
    expect(page).to_have_url(re.compile(r"/disputes/\d+/"))
    body = page.locator("body").inner_text()
    assert "annotator1" not in body
    assert "annotator2" not in body
    page.locator("label", has=page.get_by_role("radio", name="Failure")).click()
    page.get_by_label("Reason").fill("The page shows another value.")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("Decision").first).to_be_visible()


def engineer_opens_a_false_negative(page: Page) -> None:
    page.goto("/audit/")
    page.get_by_role("link", name=NAME).first.click()
    matrix = page.get_by_role("article", name="webarena-strict")
    matrix.locator("a[href*='/cells/fn/']").first.click()
    expect(page).to_have_url(re.compile("/cells/fn/"))
    page.locator("main table tbody tr a").first.click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}/"))
    expect(page.get_by_text("webarena-strict").first).to_be_visible()


def engineer_reruns_it_and_watches(page: Page) -> None:
    goal = page.locator("h1").inner_text()
    page.locator("#run-actions > summary").click()
    page.get_by_role("button", name="Rerun", exact=True).click()
    page.get_by_role("button", name="Rerun").click()
    expect(page).to_have_url(re.compile(r"/reruns/$"))
    newest = page.locator("main table tbody tr").first
    expect(newest).to_contain_text(goal[:20])
    expect(newest).to_contain_text(re.compile("queued|leased|running"))
    expect(newest).to_contain_text("finished", timeout=120_000)  # without a reload
    newest.get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text(goal[:20])
    wait_for_evaluation(page)


def wait_for_evaluation(page: Page) -> None:
    """Evaluators judge a run in the background once it has ended."""
    for _ in range(120):
        verdicts = page.get_by_role("complementary", name="Verdicts")
        verdicts.get_by_role("heading", name="Evaluators").wait_for()
        if "webarena-strict" in verdicts.inner_text():
            return
        page.wait_for_timeout(1000)
        page.reload()
    raise AssertionError("no evaluator judged the rerun")


def engineer_imports_runs(page: Page, folder: Path) -> None:
    archive = folder / "runs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(SAMPLES.rglob("*")):
            file.write(path, path.relative_to(SAMPLES))
    page.goto("/imports/")
    page.locator("input[type=file]").set_input_files(archive)
    page.get_by_role("button", name="Import").last.click()
    expect(page.locator("main")).to_contain_text("finished", timeout=120_000)
