"""What an upload seems to be, judged by content: the words in which readers say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from webagent.trajectory.bundles import Rejection
from webagent.trajectory.trees import Tree, TreeError

Answers = Mapping[str, str]
"""What the person who imports said to a reader's questions: key of the question -> choice."""
NO_ANSWERS: Answers = {}

MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that the files leave open and nobody may guess."""

    key: str
    """As in `import_runs --answer KEY=CHOICE`."""
    text: str
    choices: Mapping[str, str]
    """Choice -> what it means."""
    unanswered: str
    """What happens without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """What one reader finds in a tree. No runs: it is not this reader's format."""

    runs: int = 0
    """Runs to expect, for a progress bar and the bounds; damaged files may hold fewer."""
    files: frozenset[str] = frozenset()
    """Files that make it this format: no other reader may take the same ones."""
    uses: frozenset[str] = frozenset()
    """Files that belong to its runs beside: other readers leave them alone."""
    questions: tuple[Question, ...] = ()
    closed: bool = False
    """No reader that comes after looks into `files`, whatever they seem to be."""


class HidingTree:
    """A tree without some of its files."""

    def __init__(self, tree: Tree, hidden: Iterable[str]) -> None:
        self._tree = tree
        self._hidden = frozenset(hidden)
        self.label = tree.label
        self.names = tuple(name for name in tree.names if name not in self._hidden)
        self.problems = tree.problems

    def __contains__(self, name: object) -> bool:
        return name not in self._hidden and name in self._tree

    def size(self, name: str) -> int:
        return self._tree.size(name)

    def open(self, name: str) -> BinaryIO:
        if name in self._hidden:
            raise TreeError("not there")
        return self._tree.open(name)

    def close(self) -> None:
        self._tree.close()


def claims(found: Mapping[str, Recognition], tree: Tree) -> list[Rejection]:
    """A refusal for each pair of formats that both take the same files for their own."""
    names = list(found)
    clashes: list[Rejection] = []
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if both := sorted(found[one].files & found[other].files):
                shown = ", ".join(both[:MOST_NAMED]) + ("…" if len(both) > MOST_NAMED else "")
                why = f"may be {one} or {other}: say which with the format"
                clashes.append(Rejection(tree.label, shown, "format", why))
    return clashes
