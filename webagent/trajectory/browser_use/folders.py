"""Which files are histories, and which pictures lie beside each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from webagent.trajectory.outlines import outline
from webagent.trajectory.trees import READ_CHUNK, READ_ERRORS, Tree, TreeError, given_name

_BESIDE = frozenset(("state", "result"))
_LONGEST_KEY = len('"model_output"')


@dataclass(frozen=True)
class HistoryFile:
    """One history and the files of its folder, by their path in that folder."""

    folder: str
    """Inside the tree, with `/` at the end; empty for the tree itself."""
    name: str
    files: dict[str, str] = field(default_factory=dict)
    shares_folder: bool = False
    """Whether another history lies in the same folder."""

    def beside(self) -> list[str]:
        """Paths of the folder's files that are no pictures."""
        return [path for path in sorted(self.files) if path != self.name and not _is_picture(path)]

    def picture(self, path: str) -> str | None:
        """The file that a history calls `path`, which is mostly absolute and elsewhere.

        Of several with that name, the one whose folders agree best; None if none does or no one
        can tell.
        """
        parts = path.replace("\\", "/").split("/")
        agreeing: dict[int, list[str]] = defaultdict(list)
        for own in self.files:
            if _is_picture(own) and (common := _common_end(own.split("/"), parts)):
                agreeing[common].append(own)
        best = agreeing[max(agreeing)] if agreeing else []
        # `screenshots/step_2.png` beside two histories may be of either.
        if len(best) != 1 or (self.shares_folder and max(agreeing) < len(("run", "shots", "file"))):
            return None
        return best[0]


def find_histories(tree: Tree) -> list[HistoryFile]:
    """Every history, each with the files of its folder and of the folders below."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in tree.names:
        if name.endswith(".json") and _is_history(tree, name):
            folder, slash, last = name.rpartition("/")
            found[folder + slash].append(last)
    files: dict[str, dict[str, str]] = {folder: {} for folder in found}
    for name in tree.names:
        folder = name.rpartition("/")[0] + "/"
        while folder not in files and folder.strip("/"):
            folder = folder.rstrip("/").rpartition("/")[0] + "/"
        folder = folder if folder in files else ""
        if folder in files:
            files[folder][name.removeprefix(folder)] = name
    return [
        HistoryFile(folder, last, files[folder], shares_folder=len(names) > 1)
        for folder, names in sorted(found.items())
        for last in names
    ]


def experiment_of(tree: Tree, history: HistoryFile) -> str:
    """The folder that holds the run's own."""
    above = history.folder.rstrip("/").rpartition("/")[0]
    return above.rpartition("/")[2] or given_name(tree)


def _is_history(tree: Tree, name: str) -> bool:
    seen = outline(tree, name)
    if not seen.has("history"):
        return False
    known = "model_output" in seen.inner and not seen.inner.isdisjoint(_BESIDE)
    return known or _names_items(tree, name)


def _names_items(tree: Tree, name: str) -> bool:
    """Whether an item's keys stand anywhere: the first item may be of any size."""
    wanted = {b'"model_output"': False, b'"result"': False, b'"state"': False}
    rest = b""
    try:
        with tree.open(name) as stream:
            while chunk := stream.read(READ_CHUNK):
                words = rest + chunk
                for key in wanted:
                    wanted[key] = wanted[key] or key in words
                output, result, state = wanted.values()
                if output and (result or state):
                    return True
                rest = words[-_LONGEST_KEY:]
    except (TreeError, *READ_ERRORS):
        pass
    return False


def _is_picture(path: str) -> bool:
    return path.lower().endswith((".png", ".jpg", ".jpeg", ".webp"))


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count
