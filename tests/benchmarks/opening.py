"""From the click on a row of runs until the run's screenshot is painted, in Chromium, by the clock.

The server is warm and the page not: every click opens another run. The pointer comes to the row and
clicks at once, or rests on it first, as a hand does: then the browser has fetched the page.
"""

import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.goals import record
from tests.browser.installation import installation
from webagent.environment.browser import find_chromium

GOAL_MS, CLICKS, REST_MS = 150, 12, 250
LIST = "/runs/?site=larkfield"
"""Pages as large as most; small ones are cropped first."""
WATCH = """() => {
  addEventListener("click", (event) => {
    sessionStorage.setItem("clicked", String(performance.timeOrigin + event.timeStamp));
  }, true);
  const isThere = () => {
    const image = document.querySelector("[data-image]");
    return image?.complete && image.naturalWidth && image.checkVisibility();
  };
  const look = () => {
    if (!isThere()) return requestAnimationFrame(look);
    requestAnimationFrame(() => {
      const clicked = Number(sessionStorage.getItem("clicked"));
      const now = performance.timeOrigin + performance.now();
      document.documentElement.dataset.shownAfter = String(now - clicked);
    });
  };
  if (/^\\/runs\\/[0-9a-f-]{36}\\//.test(location.pathname)) requestAnimationFrame(look);
}"""


def run() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        installation(Path(folder)) as site,
        sync_playwright() as playwright,
    ):
        path = find_chromium(playwright_path=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(base_url=site.url, viewport={"width": 1440, "height": 900})
        page.add_init_script(f"({WATCH})()")
        page.goto("/login/")
        page.fill("[name=username]", "engineer")
        page.fill("[name=password]", "demo-engineer")
        page.press("[name=password]", "Enter")
        page.wait_for_load_state()
        _opened(page, 0, 0)
        for words, rest_ms, first in (("at once", 0, 1), ("after a rest", REST_MS, CLICKS + 1)):
            times = [_opened(page, row, rest_ms) for row in range(first, first + CLICKS)]
            record(f"click on a row {words}, screenshot", median(times), goal=GOAL_MS)
        browser.close()


def _opened(page: Page, row: int, rest_ms: int) -> float:
    """Milliseconds of one click."""
    page.goto(LIST)
    page.wait_for_load_state("networkidle")
    link = page.locator(".row-link").nth(row)
    link.scroll_into_view_if_needed()
    link.hover()
    page.wait_for_timeout(rest_ms)
    page.mouse.down()
    page.mouse.up()
    shown = page.locator("html[data-shown-after]")
    return float(shown.get_attribute("data-shown-after") or "nan")
