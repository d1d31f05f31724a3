"""Larkfield: four small sites of our own, with questions to answer and things to do.

A library, a shop, a forum and a map of one invented town. Their tasks are specified as WebArena's
are, so that matchers can be tried on real runs without a network. They give no reward: whether an
answer is right is for evaluators and people to say.
"""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import playwright.sync_api
from browsergym.core.task import AbstractBrowserTask

from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.interface import known_task
from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart

TASK_SET = "larkfield"
HOSTS = {
    "larkfield": "larkfield.localhost",
    "larkfield-shop": "shop.larkfield.localhost",
    "larkfield-forum": "forum.larkfield.localhost",
    "larkfield-map": "map.larkfield.localhost",
}
"""By the site's name, which is its folder's too. "larkfield" alone is the library."""
VERSION = "1"
ENDS_AT_FIRST_MESSAGE = True
UNSCORED = {"unscored": True}
"""What the task says of itself: its 0 is no verdict."""
PAGES = Path(__file__).parent / "sites"


class LarkfieldTask(AbstractBrowserTask):
    """One question or errand. It is over when the agent says so, by a message or by giving up."""

    def __init__(self, seed: int, specification: dict[str, Any]) -> None:
        super().__init__(seed)
        self._specification = specification

    def setup(self, page: playwright.sync_api.Page) -> tuple[str, dict[str, Any]]:
        """Open the start page; the goal is the instruction."""
        page.goto(self._specification["start_url"])
        return self._specification["intent"], UNSCORED

    def validate(
        self, page: playwright.sync_api.Page, chat_messages: list[Any]
    ) -> tuple[float, bool, str, dict[str, Any]]:
        """Ends with the first word of the agent."""
        spoken = any(
            message["role"] in {"assistant", "infeasible"} for message in chat_messages[1:]
        )
        return 0.0, spoken, "", UNSCORED

    def teardown(self) -> None:
        """Nothing to clean up: every run starts with a new browser profile."""


@cache
def specifications() -> dict[str, dict[str, Any]]:
    """Every task's specification by name, with the sites' addresses filled in."""
    text = (PAGES / "tasks.json").read_text(encoding="utf-8")
    for site, host in HOSTS.items():
        text = text.replace(f"__{site.upper().replace('-', '_')}__", f"http://{host}")
    return {f"{TASK_SET}.{task['task_id']}": task for task in json.loads(text)}


def task_names() -> tuple[str, ...]:
    """Every task, such as "larkfield.dvd-late-fee"."""
    return tuple(sorted(specifications()))


def environment(
    task_name: str, settings: BrowserSettings, step_timeout_s: float
) -> BrowserGymEnvironment:
    """The task with the pages of its site served on this machine."""
    specification = known_task("Larkfield", task_name, specifications())
    return BrowserGymEnvironment(
        partial(LarkfieldTask, specification=specification),
        sites={HOSTS[site]: PAGES / site for site in specification["sites"]},
        settings=settings,
        step_timeout_s=step_timeout_s,
    )


def task_record(task_name: str) -> TaskRecord:
    """The task as a record, with its evaluation."""
    specification = known_task("Larkfield", task_name, specifications())
    return TaskRecord(
        id=task_name,
        task_set=TaskSetRecord(name=TASK_SET, version=VERSION),
        external_id=task_name,
        sites=tuple(specification["sites"]),
        goal=(TextPart(text=specification["intent"]),),
        start_urls=(specification["start_url"],),
        eval=specification["eval"],
    )
