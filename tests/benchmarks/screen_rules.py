"""The scripted reader of screens at one-step tasks, end to end in one browser.

    python -m tests.benchmarks.screen_rules [--seeds 0-19] [--tasks a,b] [--from-dom] [--misses DIR]

Real pages, real clicks; the agent is given the goal and the screenshot and has nothing else. One
page after another in one browser, where a run starts a browser of its own: many times as fast.
`--from-dom` puts a faultless reader in the place of OCR and detector, for what the rules do wrong.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from browsergym.core.action.base import execute_python_code
from browsergym.miniwob import ALL_MINIWOB_TASKS
from playwright.sync_api import BrowserContext, Page

from tests.benchmarks.page_screen import read_page
from webagent.agents.screen.agent import Read, reader_of
from webagent.agents.screen.rules import ScreenScripted
from webagent.agents.settings import VisionSettings
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import start_playwright, stop_playwright, take_picture
from webagent.environment.browsergym_environment import LocalSite
from webagent.environment.browsergym_session import action_set
from webagent.environment.miniwob import BASE_URL, HOST, pages_directory
from webagent.measures import wilson_bounds
from webagent.trajectory.live import Decision, Observation

TASKS = (
    "click-test,click-test-2,click-button,click-button-sequence,click-dialog,click-dialog-2"
    ",click-link,click-tab,click-option,click-checkboxes,click-checkboxes-transfer,click-widget"
    ",enter-text,enter-text-2,enter-text-dynamic,enter-password,login-user,focus-text"
    ",focus-text-2,copy-paste,copy-paste-2,read-table,enter-date"
)
MAX_STEPS = 3
SETTLE_MS = 150

_CLASSES = {task.get_task_id().removeprefix("miniwob."): task for task in ALL_MINIWOB_TASKS}


class Tried(NamedTuple):
    """`raw` is the page's own reward; 0 where the episode did not end."""

    raw: float
    goal: str
    decisions: list[tuple[bytes, Decision]]


@contextmanager
def one_browser() -> Iterator[BrowserContext]:
    site = LocalSite(pages_directory())
    launcher = start_playwright(BrowserSettings(), Hosts(local={HOST: site.address}))
    try:
        viewport = {"width": 332, "height": 214}
        yield launcher.launch(headless=True).new_context(viewport=viewport)  # type: ignore[arg-type]
    finally:
        stop_playwright()
        site.close()


def attempt(page: Page, task: str, seed: int, read: Callable[[Page], Read]) -> Tried:
    """One try at a task, as BrowserGym sets it up with that seed."""
    made = _CLASSES[task](seed=seed, base_url=BASE_URL)
    page.set_default_timeout(10_000)
    goal, _info = made.setup(page)
    agent = ScreenScripted(VisionSettings(), read(page))
    actions, decisions = action_set(), []
    raw = 0.0
    for _step in range(MAX_STEPS):
        page.wait_for_timeout(SETTLE_MS)
        seen = _seen(page, goal)
        decision = agent.act(seen)
        decisions.append((seen.screenshot, decision))
        if decision.action is None:
            break
        for call in decision.action.split("\n"):
            execute_python_code(actions.to_python_code(call), page, None, None)
        page.wait_for_timeout(SETTLE_MS)
        _reward, is_over, _message, info = made.validate(page, [])
        if is_over:
            raw = float(info.get("RAW_REWARD_GLOBAL", 0))
            break
    return Tried(raw, goal, decisions)


def _seen(page: Page, goal: str) -> Observation:
    picture = take_picture(page)
    return Observation(
        at=datetime.now(UTC),
        goal=goal,
        url=page.url,
        title="",
        screenshot=picture.content,
        width=picture.width,
        height=picture.height,
        axtree="",
    )


def run(
    tasks: list[str], seeds: range, read: Callable[[Page], Read], misses: Path | None = None
) -> None:
    """Print the rates by both rules: reward above 0, and all of it."""
    solved = tries = 0
    with one_browser() as context:
        page = context.new_page()
        for task in tasks:
            begun = time.monotonic()
            found = {seed: attempt(page, task, seed, read) for seed in seeds}
            good = sum(tried.raw > 0 for tried in found.values())
            full = sum(tried.raw == 1.0 for tried in found.values())
            solved, tries = solved + full, tries + len(found)
            seconds = (time.monotonic() - begun) / len(found)
            print(  # noqa: T201 (a command)
                f"{task:26} raw>0 {_rate(good, len(found))}  =1 {_rate(full, len(found))}"
                f"  {seconds:.1f} s each",
                flush=True,
            )
            for seed, tried in found.items():
                if tried.raw < 1:
                    _tell(task, seed, tried, misses)
    print(f"{'all':26} =1 {_rate(solved, tries)}")  # noqa: T201


def _rate(successes: int, trials: int) -> str:
    low, high = wilson_bounds(successes, trials)
    return f"{successes}/{trials} = {successes / trials:.3f} [{low:.3f}, {high:.3f}]"


def _tell(task: str, seed: int, tried: Tried, misses: Path | None) -> None:
    print(f"    {seed}: {tried.raw} {tried.goal}")  # noqa: T201
    for number, (png, decision) in enumerate(tried.decisions):
        said = f"{decision.thought} {decision.action!r}"
        print(f"        {said}")  # noqa: T201
        if misses is not None and decision.screen is not None:
            (misses / f"{task}-{seed}-{number}.txt").write_text(
                f"{tried.goal}\n{said}\n\n{decision.screen.lines}\n"
            )
            (misses / f"{task}-{seed}-{number}.png").write_bytes(decision.marked_screenshot or png)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--seeds", default="0-19")
    parser.add_argument("--ocr", default="rapidocr")
    parser.add_argument("--from-dom", action="store_true")
    parser.add_argument("--misses", type=Path)
    given = parser.parse_args()
    first, _dash, last = given.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if given.misses:
        given.misses.mkdir(parents=True, exist_ok=True)
    by_picture = reader_of(VisionSettings(ocr=given.ocr))
    run(
        given.tasks.split(","),
        seeds,
        read_page if given.from_dom else lambda _page: by_picture,
        given.misses,
    )


if __name__ == "__main__":
    main()
