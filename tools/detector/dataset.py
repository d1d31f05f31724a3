"""Pictures of MiniWoB++ with what is on them, to train the detector on and to test it.

    python -m tools.detector.dataset DIRECTORY

Each task is shown in a real browser as an agent sees it, with the seeds given, and then some
clicks further: menus open, boxes ticked, dialogs there. Between them come pages of our own, made
at random, to train on. The DOM says what is where. Some tasks are only tested on.
Beside the pictures stands `pictures.jsonl`, one line a picture.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import playwright.sync_api

from tools.detector.made_pages import made_page, random_style
from tools.detector.samples import INDEX, MADE, SEEN, TRAIN, UNSEEN, LabelledPicture
from webagent.environment import miniwob
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import ChromiumLauncher, take_picture
from webagent.environment.browsergym_environment import LocalSite
from webagent.vision.screen import KINDS, Box, Element

# Whole families, so that no twin of theirs is learnt from; where that would leave a kind of
# element unknown (dialogs, tabs, sliders, sections), the harder one of the family. Radio buttons,
# list boxes and options are in few tasks: one of each has to be learnt from.
UNSEEN_TASKS = frozenset(
    {
        "miniwob.buy-ticket",
        "miniwob.click-button-sequence",
        "miniwob.click-collapsible-2",
        "miniwob.click-collapsible-2-nodelay",
        "miniwob.click-color",
        "miniwob.click-dialog-2",
        "miniwob.click-tab-2-hard",
        "miniwob.click-widget",
        "miniwob.count-shape",
        "miniwob.daily-calendar",
        "miniwob.email-inbox-forward-nl",
        "miniwob.email-inbox-forward-nl-turk",
        "miniwob.enter-date",
        "miniwob.enter-password",
        "miniwob.form-sequence",
        "miniwob.form-sequence-2",
        "miniwob.form-sequence-3",
        "miniwob.login-user",
        "miniwob.login-user-popup",
        "miniwob.multi-layouts",
        "miniwob.multi-orderings",
        "miniwob.order-food",
        "miniwob.phone-book",
        "miniwob.search-engine",
        "miniwob.sign-agreement",
        "miniwob.stock-market",
        "miniwob.use-slider-2",
    }
)


def seen_tasks() -> tuple[str, ...]:
    """The tasks whose pictures the detector is trained on."""
    return tuple(name for name in miniwob.task_names() if name not in UNSEEN_TASKS)


def unseen_tasks() -> tuple[str, ...]:
    """The tasks no picture of which is trained on."""
    return tuple(sorted(UNSEEN_TASKS))


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


AT_ONCE = 4
# Any task: made pages are shown in the size and zoom of tasks.
ANCHOR = "miniwob.click-test"


def take_all(
    directory: Path, seeds: dict[str, range], tasks: dict[str, tuple[str, ...]], made: range
) -> int:
    """Take every picture into the directory, and say how many they are."""
    directory.mkdir(parents=True, exist_ok=True)
    site = LocalSite(miniwob.pages_directory())
    hosts = Hosts(local={miniwob.HOST: site.address})
    count = 0
    try:
        with (
            playwright.sync_api.sync_playwright() as started,
            (directory / INDEX).open("w", buffering=1) as index,
        ):
            launcher = ChromiumLauncher(started, BrowserSettings(), hosts)
            browser = launcher.launch(headless=True)
            page = browser.new_page()
            page.set_default_timeout(5000)
            photographer = Photographer(page, directory)
            # A few seeds of all tasks at a time: half of the work is a smaller set of all.
            rounds = range(0, max(map(len, seeds.values())), AT_ONCE)
            for first in rounds:
                for part, names in tasks.items():
                    for name in names:
                        some = seeds[part][first : first + AT_ONCE]
                        count += _take(photographer, name, some, part, index)
                photographer.open(ANCHOR, 0)
                count += _take_made(photographer, made[first // AT_ONCE :: len(rounds)], index)
            browser.close()
    finally:
        site.close()
    return count


def _take(
    photographer: Photographer, name: str, seeds: Sequence[int], part: str, index: TextIO
) -> int:
    count = 0
    for number, seed in enumerate(seeds):
        # Tests are on pages as they are; training sees every second one in another design.
        styled = part == TRAIN and seed % 2 == 1
        try:
            if number == 0 or part != TRAIN:
                photographer.open(name, seed)
            else:
                photographer.start_again(seed)
            for picture in photographer.pictures(name, seed, part, styled=styled):
                index.write(picture.line() + "\n")
                count += 1
        except playwright.sync_api.Error as error:
            sys.stderr.write(f"{name}, seed {seed}: {str(error).splitlines()[0]}\n")
    return count


def _take_made(photographer: Photographer, seeds: Sequence[int], index: TextIO) -> int:
    count = 0
    for seed in seeds:
        try:
            photographer.open_made(seed)
            pictures = photographer.pictures(MADE, seed, TRAIN, styled=False, most_clicks=seed % 2)
            for picture in pictures:
                index.write(picture.line() + "\n")
                count += 1
        except playwright.sync_api.Error as error:
            sys.stderr.write(f"made page {seed}: {str(error).splitlines()[0]}\n")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.detector.dataset")
    parser.add_argument("directory", type=Path, help="where the pictures go")
    parser.add_argument("--seeds", type=int, default=24, help="of each task to train on")
    parser.add_argument("--test-seeds", type=int, default=6, help="of each task to test on")
    parser.add_argument("--first-seed", type=int, default=100_000, help="to train on")
    parser.add_argument("--made", type=int, default=1000, help="pages of our own to train on")
    parser.add_argument("--tasks", help="only these, with commas between them")
    arguments = parser.parse_args()
    # The seeds of the tests are none of those trained on, and none that runs usually have.
    tests = range(1_000_000, 1_000_000 + arguments.test_seeds)
    first = arguments.first_seed
    seeds = {TRAIN: range(first, first + arguments.seeds), SEEN: tests, UNSEEN: tests}
    tasks = {TRAIN: seen_tasks(), SEEN: seen_tasks(), UNSEEN: unseen_tasks()}
    if arguments.tasks:
        wanted = {f"miniwob.{name}" for name in arguments.tasks.split(",")}
        tasks = {part: tuple(t for t in names if t in wanted) for part, names in tasks.items()}
    count = take_all(arguments.directory, seeds, tasks, range(first, first + arguments.made))
    sys.stdout.write(f"{count} pictures in {arguments.directory}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
