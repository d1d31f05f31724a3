"""Which folders are runs, and which files belong to each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from webagent.trajectory import run_files
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.inventory import NO_NUMBER
from webagent.trajectory.pickle_reader import Pickled
from webagent.trajectory.trees import Tree, given_name

EXP_ARGS = "exp_args.pkl"
SUMMARY = "summary_info.json"
LOG = "experiment.log"
PACKAGES = "package_versions.txt"
GOAL = "goal_object.pkl.gz"

_STEP = re.compile(r"^step_(\d{1,9})\.pkl\.gz$")
_SCREENSHOT = re.compile(r"^screenshot_(som_)?step_(\d{1,9})\.(png|jpe?g|webp|gif)$")
_HIDDEN = ("_", ".")


@dataclass(frozen=True)
class RunFolder:
    """One run's folder: its files by the path inside it."""

    path: str
    """Inside the tree; empty if the tree itself is the run."""
    name: str
    files: dict[str, str] = field(default_factory=dict)
    """Path inside the folder -> name in the tree."""
    steps: dict[int, str] = field(default_factory=dict)
    screenshots: dict[int, str] = field(default_factory=dict)
    marked: dict[int, str] = field(default_factory=dict)

    @property
    def hidden(self) -> bool:
        """Whether AgentLab moved it aside for another attempt."""
        return self.name.startswith(_HIDDEN)

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def spare_pictures(self) -> Iterator[str]:
        """Pictures of steps after the last one that has a file."""
        last = max(self.steps, default=-1)
        for kind in (self.screenshots, self.marked):
            yield from (path for number, path in sorted(kind.items()) if number > last)

    def rest(self) -> Iterator[str]:
        """Paths of the files that are neither steps nor pictures of steps."""
        for path in sorted(self.files):
            if not (_STEP.match(path) or _SCREENSHOT.match(path)):
                yield path

    def add(self, path: str, name: str) -> None:
        """Note one file of the run."""
        self.files[path] = name
        if step := _STEP.match(path):
            self.steps[int(step[1])] = path
        elif picture := _SCREENSHOT.match(path):
            kind = self.marked if picture[1] else self.screenshots
            kind.setdefault(int(picture[2]), path)


def find_run_folders(tree: Tree) -> list[RunFolder]:
    """Every folder with an `exp_args.pkl`, at any depth, with the files that are its own."""
    folders: dict[str, RunFolder] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if last == EXP_ARGS:
            shown = prefix.rpartition("/")[2] or given_name(tree)
            folders[prefix] = RunFolder(path=prefix, name=shown)
    for name in tree.names:
        prefix = name.rpartition("/")[0]
        while prefix not in folders and prefix:
            prefix = prefix.rpartition("/")[0]
        if prefix in folders:
            folders[prefix].add(name.removeprefix(f"{prefix}/") if prefix else name, name)
    return [folders[path] for path in sorted(folders)]


class RunFiles(run_files.RunFiles):
    """The same as for every format, and which of the files are steps and pictures."""

    def __init__(self, tree: Tree, folder: RunFolder, bounds: Bounds) -> None:
        super().__init__(tree, folder.path, folder.files, bounds)
        self.folder = folder
        self.takes_pictures = True
        """Whether the loop was told to keep a picture of each step; it is unless told not to."""

    def check_pickle(self, pickled: Pickled, path: str) -> None:
        """Say what of a pickle was not run, and which of its numbers no record can hold."""
        if pickled.suspicious:
            names = ", ".join(pickled.suspicious)
            self.note("pickle", path, f"names {names}: nothing of it was run")
        for number in range(pickled.unkept):
            self.inventory.miss("value", f"{path}: {number + 1}", NO_NUMBER)
