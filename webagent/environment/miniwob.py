"""MiniWoB++: small web tasks whose pages come inside the `miniwob` package."""

import importlib.util
from functools import cache
from importlib.metadata import version
from pathlib import Path

from browsergym.miniwob import ALL_MINIWOB_TASKS

from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.browsergym_task import TaskEntrypoint
from webagent.environment.interface import UnknownTask, known_task
from webagent.environment.miniwob_suite import TASK_SET
from webagent.trajectory.records import TaskRecord, TaskSetRecord

# Chromium takes names under .localhost for this machine, and for a secure origin.
HOST = "miniwob.localhost"
BASE_URL = f"http://{HOST}/miniwob/"


@cache
def _entrypoints() -> dict[str, TaskEntrypoint]:
    return {task.get_task_id(): task for task in ALL_MINIWOB_TASKS}


def task_names() -> tuple[str, ...]:
    """Every task of the benchmark, such as "miniwob.click-test"."""
    return tuple(sorted(_entrypoints()))


def environment(
    task_name: str, settings: BrowserSettings, step_timeout_s: float
) -> BrowserGymEnvironment:
    """The task with its pages served on this machine."""
    return BrowserGymEnvironment(
        entrypoint(task_name),
        task_arguments={"base_url": BASE_URL},
        sites={HOST: pages_directory()},
        packages=("browsergym-miniwob", "miniwob"),
        settings=settings,
        step_timeout_s=step_timeout_s,
    )


def task_record(task_name: str) -> TaskRecord:
    """The task as a record; its goal comes with the seed, so only a run knows it."""
    page_of = entrypoint(task_name).subdomain  # type: ignore[attr-defined]  # all have it
    return TaskRecord(
        id=task_name,
        task_set=TaskSetRecord(name=TASK_SET, version=version("miniwob")),
        external_id=task_name,
        sites=(TASK_SET,),
        start_urls=(f"{BASE_URL}{page_of}.html",),
    )


def pages_directory() -> Path:
    """Where the package keeps its pages. The package itself wants Selenium and is not imported."""
    spec = importlib.util.find_spec("miniwob")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        if (directory := Path(location) / "html").is_dir():
            return directory
    raise UnknownTask("The pages of MiniWoB++ are missing: install the package `miniwob`.")


def entrypoint(task_name: str) -> TaskEntrypoint:
    """The task's class. Raises UnknownTask."""
    return known_task("MiniWoB++", task_name, _entrypoints())
