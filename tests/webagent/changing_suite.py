"""A page of our own that shows something else at every visit, as a suite of one task."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.webagent.made_up import PageTask, task_of
from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.registry import register_suite
from webagent.trajectory.records import TaskRecord

TASK = "changing.offers"
HOST = "changing.localhost"
PAGE = """<!doctype html><title>Offers</title><h1 id=offer></h1><button>Take it</button>
<script>offer.textContent = 'Offer ' + Math.floor(Math.random() * 1e9)</script>"""
_folders: list[Path] = []


class ChangingTask(PageTask):
    """Looks at the offers."""

    def __init__(self, seed: int) -> None:
        pass

    def setup(self, page: Page) -> tuple[str, dict[str, Any]]:
        page.goto(f"http://{HOST}/offers.html")
        return "Take the offer.", {}


def use(folder: Path) -> None:
    """From now on the suite is here, its page in this folder."""
    (folder / "offers.html").write_text(PAGE)
    register_suite("changing", __name__)
    _folders[:] = [folder]


def environment(
    task_name: str, settings: BrowserSettings, step_timeout_s: float
) -> BrowserGymEnvironment:
    return BrowserGymEnvironment(
        ChangingTask,
        sites={HOST: _folders[0]},
        settings=settings,
        delay_s=0.05,
        step_timeout_s=step_timeout_s,
    )


def task_record(task_name: str) -> TaskRecord:
    return task_of(task_name, "Take the offer.")


def task_names() -> tuple[str, ...]:
    return (TASK,)
