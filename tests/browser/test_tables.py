"""A table that is wider than its place says so at its edge."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.browser

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
PAGE = """<style>{styles}</style>
<div class="table-wrap"><table class="table"><tr><td class="wide"></td></tr></table></div>
<div class="table-wrap"><table class="table"><tr><td></td></tr></table></div>
<style>.wide {{ min-width: 600px; }}</style>"""


def edge_and_middle(table: Locator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The colours just inside the right edge, and far from it."""
    picture = Image.open(BytesIO(table.screenshot())).convert("RGB")
    height = picture.height // 2
    shown = [picture.getpixel((x, height)) for x in (picture.width - 3, picture.width // 2)]
    return shown[0], shown[1]  # type: ignore[return-value]  # of RGB, never one number


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_line_at_the_edge_tells_of_more_columns(chromium: Browser, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 400}, color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
    styles = "".join((CSS / name).read_text() for name in ("tokens.css", "base.css"))
    page.set_content(PAGE.format(styles=styles))
    wide, narrow = page.locator(".table-wrap").all()
    edge, middle = edge_and_middle(wide)
    assert sum(abs(one - other) for one, other in zip(edge, middle, strict=True)) > 30
    wide.evaluate("each => each.scrollTo(each.scrollWidth, 0)")
    for table in (wide, narrow):
        edge, middle = edge_and_middle(table)
        assert edge == middle
    page.close()


FIGURES = """<style>{styles}</style>
<div class="table-wrap"><table class="table figures">
  <tr><th>name</th><td class="wide"></td></tr>
</table></div>
<details class="phone-fold"><summary>Filter</summary><p>fields</p></details>
<style>.wide {{ min-width: 600px; }}</style>"""


@pytest.mark.parametrize("width", [390, 1440])
def test_on_phones_names_stay_beside_figures_and_long_parts_fold(
    chromium: Browser, width: int
) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 400})
    styles = "".join((CSS / name).read_text() for name in ("tokens.css", "base.css"))
    page.set_content(FIGURES.format(styles=styles))
    table, name = page.locator(".table-wrap"), page.locator("th")
    table.evaluate("each => each.scrollTo(each.scrollWidth, 0)")
    assert name.evaluate("each => each.getBoundingClientRect().x >= 0")
    is_phone = width < 720
    summary, fields = page.locator("summary"), page.get_by_text("fields")
    assert summary.is_visible() is is_phone
    assert fields.evaluate("each => each.checkVisibility()") is not is_phone
    if is_phone:
        summary.click()
        assert fields.is_visible()
    page.close()
