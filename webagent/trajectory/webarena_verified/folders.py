"""Which folders are tasks' output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webagent.trajectory.recognition import outline
from webagent.trajectory.trees import Tree, given_name

RESPONSE, RESULT, SUMMARY, LOG = (
    "agent_response.json",
    "eval_result.json",
    "eval_results.json",
    "eval_log.txt",
)
LONE_HAR = "network.har"
"""What a HAR by itself is called here."""
SETTINGS = "config.json"
"""Beside the tasks' folders; may give their files other names."""
_HAR = re.compile(r"^[^/]+\.har$")
_ZIP = re.compile(r"^[^/]+\.zip$", re.IGNORECASE)
_NAMES = {
    RESPONSE: "agent_response_file_name",
    RESULT: "eval_result_file_name",
    LONE_HAR: "trace_file_name",
}


@dataclass(slots=True)
class TaskFolder:
    """One task's output. Paths are relative to it; answer and result bear their usual names."""

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
        """A Playwright trace, which may stand in place of a HAR."""
        return next((path for path in sorted(self.files) if _ZIP.match(path)), None)


def find_task_folders(tree: Tree) -> list[TaskFolder]:
    """Folders that hold a response or a result; and siblings of those that hold a HAR alone.

    One HAR and nothing else is a folder by itself.
    """
    if (lone := _lone_har(tree)) is not None:
        return [lone]
    given = _given_names(tree)
    sure: set[str] = set()
    with_har: set[str] = set()
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        usual = given.get(prefix.rpartition("/")[0] if prefix else None, {}).get(last, last)
        if usual == RESPONSE or (last.endswith(".json") and _is_result(tree, name)):
            sure.add(prefix)
        elif _HAR.match(last) or usual == LONE_HAR:
            with_har.add(prefix)
    parents = {prefix.rpartition("/")[0] for prefix in sure}
    sure |= {prefix for prefix in with_har if prefix and prefix.rpartition("/")[0] in parents}
    folders = {
        prefix: TaskFolder(prefix, prefix.rpartition("/")[2] or given_name(tree)) for prefix in sure
    }
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if prefix in folders:
            names = given.get(prefix.rpartition("/")[0] if prefix else None, {})
            folders[prefix].files[_usual_name(tree, name, names)] = name
    return [folders[prefix] for prefix in sorted(folders)]


def _given_names(tree: Tree) -> dict[str | None, dict[str, str]]:
    """Folder with settings -> other name of a file in the folders below -> its usual one."""
    found: dict[str | None, dict[str, str]] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if last == SETTINGS:
            texts = outline(tree, name).texts
            found[prefix] = {texts[key]: usual for usual, key in _NAMES.items() if key in texts}
    return found


def _usual_name(tree: Tree, name: str, given: dict[str, str]) -> str:
    """What a task's file would be called if nobody had given it another name."""
    last = name.rpartition("/")[2]
    if _ZIP.match(last):
        return last
    if last.endswith(".json") and _is_result(tree, name):
        return RESULT
    return given.get(last, last)


def _is_result(tree: Tree, name: str) -> bool:
    head = outline(tree, name)
    return head.has("evaluators_results") and (name.endswith(RESULT) or head.has("task_id"))


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
