"""What an upload seems to be, judged by content: the words in which readers say so."""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import BinaryIO, ParamSpec
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.assembling import RunFiles
from webagent.trajectory.files.trees import NamedFiles, Tree, head_of
from webagent.trajectory.intake import Bounds, InputError, Problem, Rejection
from webagent.trajectory.values import first_field_error, noting_refused

log = logging.getLogger(__name__)
P = ParamSpec("P")

Answers = Mapping[str, str]
"""What the person who imports said to a reader's questions: key of the question -> choice."""

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
    """What one reader finds in a tree. No runs, not even on request: it is another format."""

    runs: int = 0
    """Runs to expect, for a progress bar and the bounds; damaged files may hold fewer."""
    files: frozenset[str] = frozenset()
    """Files that make it this format: no other reader may take the same ones."""
    uses: frozenset[str] = frozenset()
    """Files that belong to its runs beside: other readers leave them alone."""
    questions: tuple[Question, ...] = ()
    runs_if: Mapping[str, int] = field(default_factory=dict)
    """Further runs by the key of the question that has to be answered for them."""
    closed: bool = False
    """No reader that comes after looks into `files`, whatever they seem to be."""


class HidingTree(NamedFiles[str]):
    """A tree without some of its files."""

    def __init__(self, tree: Tree, hidden: Set[str]) -> None:
        left = {name: name for name in tree.names if name not in hidden}
        super().__init__(tree.label, left, tree.problems)
        self._tree = tree

    def hashed(self, name: str) -> bytes | None:
        return self._tree.hashed(name) if name in self else None

    def close(self) -> None:
        self._tree.close()

    def _size(self, file: str) -> int:
        return self._tree.size(file)

    def _stream(self, file: str) -> BinaryIO:
        return self._tree.open(file)


def clash(found: Mapping[str, Recognition], tree: Tree) -> Rejection | None:
    """A refusal where two formats take the same files for their own: of the first two that do."""
    for one, other in combinations(found, 2):
        if both := sorted(found[one].files & found[other].files):
            shown = ", ".join(both[:MOST_NAMED]) + ("…" if len(both) > MOST_NAMED else "")
            why = f"may be {one} or {other}: say which with the format"
            return Rejection(tree.label, shown, "format", why)
    return None


HEAD_BYTES = 1 << 17
"""Keys that stand behind this much are not seen."""
MAX_STRING = 500

_MARK = re.compile(r'(?<!\\)"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]:,]|"|[^\s{}\[\]:,"]+')


@dataclass(frozen=True, slots=True)
class Outline:
    """The outermost shape of a JSON document; `kind` is empty if it is none."""

    kind: str = ""
    """`object` or `array`."""
    keys: tuple[str, ...] = ()
    """Keys of the object, or of the array's first object, in order, as far as the head goes."""
    texts: dict[str, str] = field(default_factory=dict)
    """Those of its values that are short strings."""
    inner: frozenset[str] = frozenset()
    """Keys of objects in its lists, or one level down in its objects."""

    def has(self, *keys: str) -> bool:
        """Whether all of these keys are there."""
        return set(keys) <= set(self.keys)


_OUTLINES: WeakKeyDictionary[Tree, dict[str, Outline]] = WeakKeyDictionary()


def outline(tree: Tree, name: str) -> Outline:
    """The outline of one file of the tree; looked up once, however many readers ask."""
    known = _OUTLINES.setdefault(tree, {})
    if name not in known:
        known[name] = outline_of(head_of(tree, name, HEAD_BYTES).decode("utf-8", "replace"))
    return known[name]


def outline_of(head: str) -> Outline:
    """The outline of a document, or of the beginning of one."""
    marks = _MARK.finditer(head.lstrip("\ufeff \t\r\n"))
    first = next(marks, None)
    if first is None or first[0] not in "{[":
        return Outline()
    kind = "object" if first[0] == "{" else "array"
    wanted = 1 if kind == "object" else 2
    keys: list[str] = []
    texts: dict[str, str] = {}
    inner: set[str] = set()
    depth, before, is_value = 1, "", False
    for match in marks:
        mark = match[0]
        if mark == '"':  # the head ends inside a string
            break
        if mark == ":":
            if depth == wanted:
                keys.append(_text(before))
            elif depth <= wanted + 2:
                inner.add(_text(before))
        elif mark in "{[":
            depth += 1
            if kind == "array" and depth == wanted and mark == "[":
                break
        elif mark in "}]":
            depth -= 1
            if depth < wanted:
                break
        elif is_value and depth == wanted and mark[0] == '"' and len(mark) <= MAX_STRING:
            texts[keys[-1]] = _text(mark)
        before, is_value = mark, mark == ":"
    return Outline(kind, tuple(keys), texts, frozenset(inner))


def _text(mark: str) -> str:
    try:
        return str(json.loads(mark))
    except ValueError:
        return mark.strip('"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """One run in a tree: the files that it is made of, and how it is read."""

    path: str
    """Where it lies, for reports; empty if the tree is the run."""
    files: Mapping[str, str]
    """Path as the run knows it -> name in the tree."""
    own: Collection[str]
    """Names in the tree that make it this format."""
    beside: Collection[str] = ()
    """Names of what belongs to it beside."""
    file: str
    """What is named where the run cannot be read."""
    read: Callable[[RunFiles], RunBundle]


@dataclass(slots=True, eq=False)
class PlacesReader:
    """Reads a format whose runs are found by looking at the tree alone."""

    name: str
    signs: str
    """What it is recognised by, in words."""
    places: Callable[[Tree, Bounds], Iterable[RunPlace | Problem | Question]]

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The runs, with the files that make them and those beside."""
        found = list(self.places(tree, bounds))
        places = [each for each in found if isinstance(each, RunPlace)]
        questions = tuple(each for each in found if isinstance(each, Question))
        own = frozenset(name for place in places for name in place.own)
        beside = frozenset(name for place in places for name in place.beside)
        return Recognition(runs=len(places), files=own, uses=beside - own, questions=questions)

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """Each run in turn."""
        for place in self.places(tree, bounds):
            if isinstance(place, Problem):
                yield place
            elif isinstance(place, RunPlace):
                files = RunFiles(tree, place.path, place.files, bounds, self.name)
                files.answers = answers
                yield guarded(files.source, place.file, place.read, files)


def folders_with(
    tree: Tree, is_sign: Callable[[str, str], bool], *, depth: int | None = None
) -> dict[str, dict[str, str]]:
    """Folders that hold a sign of the format -> their files: path inside -> name in the tree.

    A file belongs to the nearest such folder above it.

    Args:
        is_sign: told a name in the tree and its last part.
        depth: how many folders below a file may lie; any number by default.
    """
    folders: dict[str, dict[str, str]] = {
        prefix: {}
        for name in tree.names
        for prefix, _, last in (name.rpartition("/"),)
        if is_sign(name, last)
    }
    for name in tree.names if folders else ():
        prefix, below = name.rpartition("/")[0], 0
        while prefix not in folders and prefix:
            prefix, below = prefix.rpartition("/")[0], below + 1
        if prefix in folders and (depth is None or below <= depth):
            folders[prefix][name.removeprefix(f"{prefix}/") if prefix else name] = name
    return dict(sorted(folders.items()))


def unreadable(files: RunFiles, path: str, name: str, field: str, otherwise: str) -> InputError:
    """For a document that a run cannot do without: where its JSON breaks, or which field is wrong.

    Args:
        path: the document as `files` knows it; `name` is what reports call it.
    """
    why = files.inventory.why("file", path)
    return InputError("JSON" if why else field, why or otherwise, file=name)


def guarded(
    source: str, file: str, read: Callable[P, RunBundle], *args: P.args, **kwargs: P.kwargs
) -> RunBundle | Rejection:
    """The run, or why there is none: one run's odd content must not cost the others."""
    try:
        with noting_refused():
            return read(*args, **kwargs)
    except InputError as error:
        return error.rejection(source, file)
    except ValidationError as error:
        return Rejection(source, file, *first_field_error(error))
    except Exception as error:
        log.exception("run %s could not be read", source)
        return Rejection(source, file, "", f"unexpected: {type(error).__name__}")
