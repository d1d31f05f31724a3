"""Which folders are tasks' output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webagent.trajectory.outlines import outline
from webagent.trajectory.trees import Tree, given_name

RESPONSE, RESULT, SUMMARY, LOG = (
    "agent_response.json",
    "eval_result.json",
    "eval_results.json",
    "eval_log.txt",
)
LONE_HAR = "network.har"
"""What a HAR by itself is called here."""
_HAR = re.compile(r"^[^/]+\.har$")
_TRACE_ZIP = re.compile(r"^(?:network|trace|playwright)[^/]*\.zip$")


@dataclass(slots=True)
class TaskFolder:
    """One task's output. Paths are relative to it."""

    path: str
    name: str
    files: dict[str, str] = field(default_factory=dict)
    is_lone: bool = False
    """Whether it is a HAR by itself, of whatever tool."""

    @property
    def har(self) -> str | None:
        return next((path for path in sorted(self.files) if _HAR.match(path)), None)

    @property
    def trace(self) -> str | None:
        return next((path for path in sorted(self.files) if _TRACE_ZIP.match(path)), None)


def find_task_folders(tree: Tree) -> list[TaskFolder]:
    """Folders that hold a response or a result; and siblings of those that hold a HAR alone.

    One HAR and nothing else is a folder by itself.
    """
    if (lone := _lone_har(tree)) is not None:
        return [lone]
    sure: set[str] = set()
    with_har: set[str] = set()
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if last == RESULT:
            if outline(tree, name).has("evaluators_results"):
                sure.add(prefix)
        elif last == RESPONSE:
            sure.add(prefix)
        elif _HAR.match(last):
            with_har.add(prefix)
    parents = {prefix.rpartition("/")[0] for prefix in sure}
    sure |= {prefix for prefix in with_har if prefix and prefix.rpartition("/")[0] in parents}
    folders = {
        prefix: TaskFolder(prefix, prefix.rpartition("/")[2] or given_name(tree)) for prefix in sure
    }
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if prefix in folders:
            folders[prefix].files[last] = name
    return [folders[prefix] for prefix in sorted(folders)]


def _lone_har(tree: Tree) -> TaskFolder | None:
    """The only file there is, if it is a HAR by its content, whatever its name."""
    if len(tree.names) != 1:
        return None
    (name,) = tree.names
    found = outline(tree, name)
    if not found.has("log") or "entries" not in found.inner:
        return None
    folder, _, last = name.rpartition("/")
    label = last.removesuffix(".har").removesuffix(".json") or given_name(tree)
    return TaskFolder(folder, label, {LONE_HAR: name}, is_lone=True)
