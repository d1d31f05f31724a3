"""Which task set a BrowserGym task belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from webagent.trajectory.records import TaskSetRecord

UNKNOWN_VERSION = "unknown"


def task_set_of(task_name: str, packages: Mapping[str, str]) -> TaskSetRecord:
    """The set that the first word of a task's name stands for: `miniwob.click-test` -> `miniwob`.

    Args:
        task_name: as BrowserGym registers it, without `browsergym/`.
        packages: installed packages and their versions; the set's version is that of
            `browsergym-<set>`, the package that brings its tasks.
    """
    name = task_name.partition(".")[0] or task_name
    return TaskSetRecord(name=name, version=packages.get(f"browsergym-{name}", UNKNOWN_VERSION))


def read_packages(listing: str) -> dict[str, str]:
    """Versions by package from lines of `name==version`."""
    pairs = (line.strip().partition("==") for line in listing.splitlines())
    return {name: version[:100] for name, equals, version in pairs if equals and name}
