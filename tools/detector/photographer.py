"""Shows tasks and made pages in a browser, and takes pictures that say what is on them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import playwright.sync_api

from tools.detector.designs import random_style
from tools.detector.labelled import MADE, LabelledPicture
from tools.detector.made_pages import made_page
from webagent.environment import miniwob
from webagent.environment.browsergym_observation import take_picture
from webagent.vision.screen import KINDS, Box, Element

ELEMENTS = (Path(__file__).parent / "elements.js").read_text()
CLICKS = 2
TRIES = 6
CLICKED = frozenset(KINDS) - {"dialog", "image", "text area"}

# An episode that goes on after a wrong click, so that one page shows many states.
ENDLESS = "core.endEpisode = () => {};"

RESTYLE = """text => {
  let style = document.getElementById("other-design");
  if (!style) {
    style = document.head.appendChild(document.createElement("style"));
    style.id = "other-design";
  }
  style.textContent = text;
}"""


class Photographer:
    """Shows tasks in one browser, and takes labelled pictures of them."""

    def __init__(self, page: playwright.sync_api.Page, directory: Path) -> None:
        self._page = page
        self._directory = directory
        page.route(f"**/{MADE}/*", _give_made_page)

    def open_made(self, seed: int) -> None:
        """Load the page that is made from the seed.

        Its size and zoom are those of the task that was open before.
        """
        self._page.goto(f"{miniwob.BASE_URL}{MADE}/{seed}")

    def open(self, task_name: str, seed: int) -> None:
        """Load the task's page anew, and start an episode that no click ends."""
        task: Any = miniwob.entrypoint(task_name)(seed=seed, base_url=miniwob.BASE_URL)
        self._page.set_viewport_size(task.viewport)
        task.setup(self._page)
        self._page.evaluate(ENDLESS)

    def start_again(self, seed: int) -> None:
        """Another episode on the page as it is: much quicker than loading it.

        Something of the one before may be left on it, and is labelled like everything else.
        """
        self._page.evaluate(f"Math.seedrandom({seed}); core.startEpisodeReal();")

    def pictures(
        self, task_name: str, seed: int, part: str, *, styled: bool, most_clicks: int = CLICKS
    ) -> Iterator[LabelledPicture]:
        """The page as it is, and after each of some clicks that the seed decides on."""
        rng = random.Random(f"{task_name} {seed} {styled}")  # noqa: S311 (no secret)
        self._page.evaluate(RESTYLE, random_style(rng) if styled else "")
        last = b""
        for clicks in range(most_clicks + 1):
            self._page.wait_for_timeout(20 if clicks == 0 else 200)
            name = f"{task_name.removeprefix('miniwob.')}-{part}-{seed}-{clicks}.png"
            content, elements = self._still()
            if content != last:
                (self._directory / name).write_bytes(content)
                yield LabelledPicture(name, task_name, seed, clicks, styled, part, elements)
            last = content
            places = [element for element in elements if element.kind in CLICKED]
            if not places or clicks == most_clicks:
                return
            x, y = rng.choice(places).box.centre
            zoom = _zoom(self._page)
            self._page.mouse.click(x / zoom, y / zoom)
            if rng.random() < 0.5:
                self._page.keyboard.type(rng.choice(("Ada", "lisbon", "42", "hello there")))

    def _still(self) -> tuple[bytes, tuple[Element, ...]]:
        """A picture and its elements, once they no longer move under the camera."""
        before = self._elements()
        for _ in range(TRIES):
            content = take_picture(self._page).content
            elements = self._elements()
            if elements == before:
                break
            before = elements
            self._page.wait_for_timeout(100)
        return content, elements

    def _elements(self) -> tuple[Element, ...]:
        zoom = _zoom(self._page)
        elements = []
        for found in self._page.evaluate(ELEMENTS):
            x1, y1, x2, y2 = (round(side * zoom) for side in found["box"])
            if x1 < x2 and y1 < y2:
                elements.append(Element(found["kind"], Box(x1, y1, x2, y2), 1.0))
        return tuple(elements)


def _zoom(page: playwright.sync_api.Page) -> float:
    return float(getattr(page, "_bgym_scale_factor", 1.0))


def _give_made_page(route: playwright.sync_api.Route) -> None:
    seed = int(route.request.url.rpartition("/")[2])
    route.fulfill(body=made_page(seed), content_type="text/html")
