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
_HAR = re.compile(r"^[^/]+\.har$")
_TRACE_ZIP = re.compile(r"^(?:network|trace|playwright)[^/]*\.zip$")


@dataclass(slots=True)
class TaskFolder:
    """One task's output. Paths are relative to it."""

    path: str
    name: str
    files: dict[str, str] = field(default_factory=dict)

    @property
    def har(self) -> str | None:
        return next((path for path in sorted(self.files) if _HAR.match(path)), None)

    @property
    def trace(self) -> str | None:
        return next((path for path in sorted(self.files) if _TRACE_ZIP.match(path)), None)


def find_task_folders(tree: Tree) -> list[TaskFolder]:
    """Folders that hold a response or a result; and siblings of those that hold a HAR alone."""
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
