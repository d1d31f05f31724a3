"""The README's moving picture: label, matrix, rerun.

    python scripts/tour.py http://127.0.0.1:8000 docs/images/tour.webp

Wants a fresh demo as `make run` serves it. One run gets a label, and one is queued again.
"""

import io
import re
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from webagent.environment.browser import find_chromium  # found by the line above

WIDTH, HEIGHT, CAPTION = 1280, 760, 44
SCALE = 0.75
SHOWN_MS = 1900
QUALITY = 72
LABEL = "1  Annotators label what the agent did, blind to every evaluator"
MATRIX = "2  The audit shows which evaluator is wrong, on which runs, and why"
CAREFUL = "resident: serves the tasks of the Larkfield sites"
RERUN = "3  What failed is run again in a real browser, while you watch"


class Tour:
    """Frames, each with a line under it."""

    def __init__(self) -> None:
        self.frames: list[Image.Image] = []

    def show(self, page: Page, caption: str) -> None:
        page.wait_for_load_state("networkidle")
        shot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
        frame = Image.new("RGB", (WIDTH, HEIGHT + CAPTION), "#1d2530")
        frame.paste(shot, (0, 0))
        font = ImageFont.load_default(size=22)
        ImageDraw.Draw(frame).text((20, HEIGHT + 9), caption, "white", font)
        size = (round(WIDTH * SCALE), round((HEIGHT + CAPTION) * SCALE))
        self.frames.append(frame.resize(size, Image.Resampling.LANCZOS))

    def save(self, out: Path) -> None:
        first, *others = self.frames
        first.save(
            out,
            save_all=True,
            append_images=others,
            duration=SHOWN_MS,
            loop=0,
            quality=QUALITY,
            method=6,
        )


def main() -> None:
    base, out = sys.argv[1:]
    tour = Tour()
    with sync_playwright() as playwright:
        path = find_chromium(playwright_path=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        _label(tour, _logged_in(browser, base, "annotator1"))
        engineer = _logged_in(browser, base, "engineer")
        _matrix(tour, engineer)
        _rerun(tour, engineer)
        browser.close()
    tour.save(Path(out))
    print(f"{len(tour.frames)} frames, {Path(out).stat().st_size / 1000:.0f} KB")


def _logged_in(browser: Browser, base: str, name: str) -> Page:
    context = browser.new_context(base_url=base, viewport={"width": WIDTH, "height": HEIGHT})
    page = context.new_page()
    page.goto("/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(f"demo-{name}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Hello, {name}")).to_be_visible()
    return page


def _label(tour: Tour, page: Page) -> None:
    tour.show(page, LABEL)
    page.get_by_role("link", name="Continue").first.click()
    page.locator("[data-annotate][data-is-ready]").wait_for()
    tour.show(page, LABEL)
    page.keyboard.press("1")
    tour.show(page, LABEL)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def _matrix(tour: Tour, page: Page) -> None:
    _open_audit(page)
    tour.show(page, MATRIX)
    _open_cell(page, "fn")
    tour.show(page, MATRIX)
    _open_run(page)
    tour.show(page, MATRIX)


def _open_audit(page: Page) -> None:
    page.goto("/audit/")
    page.get_by_role("link", name="Demo:").first.click()


def _open_cell(page: Page, cell: str) -> None:
    strict = page.get_by_role("article", name="webarena-strict")
    strict.locator(f"a[href*='/cells/{cell}/']").first.click()
    page.wait_for_url(re.compile(f"/cells/{cell}/"))


def _open_run(page: Page) -> None:
    page.locator("main table tbody tr", has_text="copper kettle").locator("a").first.click()
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}/"))


def _rerun(tour: Tour, page: Page) -> None:
    _open_audit(page)
    _open_cell(page, "tn")
    _open_run(page)
    page.locator("#run-actions > summary").click()
    page.get_by_role("button", name="Rerun", exact=True).click()
    rerun = page.get_by_role("dialog").get_by_role("button", name="Rerun", exact=True)
    rerun.wait_for()
    page.get_by_label("Agent").select_option(label=CAREFUL)
    tour.show(page, RERUN)
    rerun.click()
    page.wait_for_url(re.compile(r"/reruns/$"))
    newest = page.locator("main table tbody tr").first
    expect(newest).to_contain_text("running", timeout=60_000)
    tour.show(page, RERUN)
    expect(newest).to_contain_text("finished", timeout=120_000)
    newest.get_by_role("link").first.click()
    expect(page.get_by_role("complementary", name="Verdicts")).to_be_visible()
    tour.show(page, RERUN)


if __name__ == "__main__":
    main()
