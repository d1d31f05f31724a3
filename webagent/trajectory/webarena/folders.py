"""Which folders hold WebArena results, and what in them belongs to which task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.encodings import decoded, legible
from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError, given_name, read_file
from webagent.trajectory.untyped import mapping
from webagent.trajectory.webarena.logs import Logged, is_log, merged, read_log
from webagent.trajectory.webarena.render import is_render

SETTINGS = "config.json"
LISTED_LOGS = "log_files.txt"
"""Names of the logs, one a line: the runner writes them elsewhere."""

_RENDER = re.compile(r"^render_(?P<task>[^/]{1,150})\.html$")
_LOG = re.compile(r"^(?:log_files/)?[^/]+\.(?:log|txt)$")
_TASK = re.compile(r"^(?:[^/]+/)?(?P<task>[^/]+)\.json$")
_TRACE = re.compile(r"^traces/(?P<task>[^/]+)\.zip$")
_HEAD_BYTES = 4_096
_LIST_BYTES = 1 << 16
_MOST_LOGS = 100


@dataclass(slots=True)
class ResultFolder:
    """One result folder. Paths are relative to it."""

    path: str
    name: str
    renders: dict[str, str] = field(default_factory=dict)
    """Path -> name in the tree, of the render files alone."""
    files: dict[str, str] = field(default_factory=dict)
    """The same of all that belongs to the folder's runs."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Task -> path of its configuration."""

    def place(self, path: str) -> str:
        """The path inside the tree."""
        return f"{self.path}/{path}".lstrip("/")

    def settings(self, tree: Tree, bounds: Bounds) -> dict[str, Any]:
        """The runner's arguments; empty if they are not there."""
        return mapping(_json(tree, self.files.get(SETTINGS), bounds))

    def task_config(self, tree: Tree, task: str, bounds: Bounds) -> dict[str, Any]:
        """The task's own configuration file; empty if it is not there."""
        return mapping(_json(tree, self.files.get(self.task_path(task) or ""), bounds))

    def task_path(self, task: str) -> str | None:
        """The path of the task's own configuration file."""
        return self.tasks.get(task)

    def trace_of(self, task: str) -> str | None:
        """The path of the task's Playwright trace."""
        path = f"traces/{task}.zip"
        return path if path in self.files else None

    def logged(
        self, tree: Tree, bounds: Bounds, report: Callable[[str, str], None]
    ) -> dict[str, Logged]:
        """What all logs say, by task; `report` is told of logs that cannot be read, and why."""
        logs = []
        for path, name in sorted(self.files.items()):
            if not _LOG.match(path):
                continue
            try:
                text, why = legible(read_file(tree, name, bounds.json_bytes))
            except (BoundError, TreeError) as error:
                text, why = "", str(error)
            if why:
                report(path, why)
            if is_log(text):
                logs.append(read_log(text))
        return merged(logs)


def find_result_folders(tree: Tree) -> list[ResultFolder]:
    """Every folder with a render file in it, at any depth."""
    folders: dict[str, ResultFolder] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if _RENDER.match(last) and is_render(_head(tree, name)):
            shown = prefix.rpartition("/")[2] or given_name(tree)
            folder = folders.setdefault(prefix, ResultFolder(prefix, shown))
            folder.renders[last] = folder.files[last] = name
    for name in tree.names if folders else ():
        parent, _, last = name.rpartition("/")
        above, _, kind = parent.rpartition("/")
        for prefix, path in ((parent, last), (above, f"{kind}/{last}")):
            holds = folders.get(prefix) if path != f"/{last}" else None
            if holds is not None and _belongs(path, holds):
                holds.files[path] = name
                task = _TASK.match(path)
                if task and path != SETTINGS:
                    holds.tasks.setdefault(task["task"], path)
    listing = [folder for folder in folders.values() if LISTED_LOGS in folder.files]
    by_ending = _by_ending(tree.names) if listing else {}
    for folder in listing:
        _add_listed_logs(tree, folder, by_ending)
    return [folders[path] for path in sorted(folders)]


def _by_ending(names: Iterable[str]) -> dict[str, str]:
    """The first name that ends with these last parts of a path."""
    found: dict[str, str] = {}
    for name in names:
        ending = name
        while ending:
            found.setdefault(ending, name)
            _, _, ending = ending.partition("/")
    return found


def _add_listed_logs(tree: Tree, folder: ResultFolder, by_ending: Mapping[str, str]) -> None:
    """Logs that the folder names and that lie elsewhere in the upload."""
    lines = _head(tree, folder.files[LISTED_LOGS], _LIST_BYTES).splitlines()
    for line in lines[:_MOST_LOGS]:
        named = line.strip().replace("\\", "/").removeprefix("./")
        path = f"log_files/{named.rpartition('/')[2]}"
        if path in folder.files or not _LOG.match(path):
            continue
        there = by_ending.get(named)
        if there is not None:
            folder.files[path] = there


def _belongs(path: str, folder: ResultFolder) -> bool:
    """Whether a file beside render files says something of their runs."""
    if path == SETTINGS or _LOG.match(path):
        return True
    task = _TRACE.match(path) or _TASK.match(path)
    return bool(task) and f"render_{task['task']}.html" in folder.renders if task else False


def _json(tree: Tree, name: str | None, bounds: Bounds) -> Any:
    if name is None:
        return None
    try:
        return json.loads(decoded(read_file(tree, name, bounds.json_bytes)))
    except (BoundError, TreeError, ValueError, RecursionError):
        return None


def _head(tree: Tree, name: str, limit: int = _HEAD_BYTES) -> str:
    try:
        with tree.open(name) as stream:
            return stream.read(limit).decode("utf-8", "replace").replace("\r\n", "\n")
    except (TreeError, *READ_ERRORS):
        return ""
