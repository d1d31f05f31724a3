"""Reading a study's bundle: every line is checked before anything is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from judging.portability.study_bundles.kinds import KINDS, SINCE
from judging.portability.study_bundles.records import (
    FORMAT,
    VERSION,
    EvaluationLine,
    EvaluatorLine,
    GuidelineLine,
    Head,
    ItemLine,
    Line,
    MilestoneLine,
    RunRef,
    StudyLine,
)
from judging.portability.study_bundles.writing import FOLDER, HEAD, file_of
from webagent.field_errors import first_field_error
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.native.lines import LineError, read_json, read_lines
from webagent.trajectory.opening import open_tree
from webagent.trajectory.trees import Tree, TreeError, read_file

MOST_LISTED = 20
L = TypeVar("L", bound=Line)


class BadLine(NamedTuple):
    """What is wrong, and where; `line` 0 is the file as a whole."""

    file: str
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{where}, {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"


class BundleError(ValueError):
    """The bundle cannot be stored; nothing of it is."""

    def __init__(self, bad: list[BadLine], more: int = 0) -> None:
        lines = [str(each) for each in bad]
        if more:
            lines.append(f"and {more} more")
        super().__init__("\n".join(lines))
        self.bad = bad


class StudyBundle:
    """An open bundle. Use it in a `with`; raises BundleError where it is none."""

    def __init__(self, path: Path, bounds: Bounds) -> None:
        self._bounds = bounds
        try:
            self._tree: Tree = open_tree(path, bounds)
        except (BoundError, TreeError, OSError) as error:
            raise BundleError([BadLine(path.name, 0, "", str(error))]) from error
        try:
            root = _root(self._tree)
            if root is None:
                reason = f"holds no {FOLDER}{HEAD}, so it is no study's bundle"
                raise BundleError([BadLine(path.name, 0, "", reason)])
            self._root = root
            self.head = self._read_head()
        except BundleError:
            self._tree.close()
            raise

    def __enter__(self) -> StudyBundle:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()

    def lines(self, kind: type[L]) -> Iterator[L]:
        """The lines of one kind, one at a time. Call `check` before."""
        for _number, line in self._numbered(kind):
            yield line

    def study(self) -> StudyLine:
        """The study itself."""
        return next(self.lines(StudyLine))

    def blob(self, sha256: str, name: str) -> bytes:
        """The bytes of a file that a line names.

        Raises:
            BundleError: it is not there, or damaged.
        """
        try:
            content = read_file(self._tree, f"{self._root}{name}", self._bounds.blob_bytes)
        except (BoundError, TreeError) as error:
            raise BundleError([BadLine(name, 0, "", str(error))]) from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BundleError([BadLine(name, 0, "sha256", "its bytes are not those of its name")])
        return content

    def check(self) -> None:
        """Read every line once.

        Raises:
            BundleError: lines are wrong, or name what is nowhere in the bundle.
        """
        bad: list[BadLine] = []
        for name in KINDS:
            bad += self._check_file(name)
        if not bad:
            bad = list(self._check_names())
        if bad:
            raise BundleError(bad[:MOST_LISTED], max(0, len(bad) - MOST_LISTED))

    def _numbered(self, kind: type[L]) -> Iterator[tuple[int, L]]:
        name = next(name for name, each in KINDS.items() if each is kind)
        if file_of(name) not in self.head.files:
            return
        path = f"{self._root}{file_of(name)}"
        for number, line in enumerate(read_lines(self._tree, path, self._bounds), start=1):
            yield number, kind.model_validate(read_json(line, self._bounds))

    def _check_file(self, name: str) -> list[BadLine]:
        file = file_of(name)
        path = f"{self._root}{file}"
        told = self.head.files.get(file)
        if told is None:
            if self.head.version < SINCE.get(name, 1):
                return []
            return [BadLine(file, 0, "", f"{HEAD} does not list it")]
        bad: list[BadLine] = []
        digest = hashlib.sha256()
        number = 0
        try:
            for number, line in enumerate(read_lines(self._tree, path, self._bounds), start=1):
                digest.update(line)
                try:
                    KINDS[name].model_validate(read_json(line, self._bounds))
                except LineError as error:
                    bad.append(BadLine(file, number, error.field, str(error)))
                except ValidationError as error:
                    field, reason = first_field_error(error)
                    bad.append(BadLine(file, number, field, reason))
        except LineError as error:
            bad.append(BadLine(file, number + 1, error.field, str(error)))
        if not bad and digest.hexdigest() != told.get("sha256"):
            bad.append(BadLine(file, 0, "sha256", f"is not what {HEAD} says: it was changed"))
        if name == "study" and not bad and number != 1:
            bad.append(BadLine(file, 0, "", f"holds {number} lines, and must hold one"))
        return bad

    def _check_names(self) -> Iterator[BadLine]:
        """What lines name must be in the bundle, and stand there once."""
        evaluators = {line.config_hash for line in self.lines(EvaluatorLine)}
        versions = {line.version for line in self.lines(GuidelineLine)}
        milestones = {line.key for line in self.lines(MilestoneLine)}
        seen: set[RunRef] = set()
        for number, item in self._numbered(ItemLine):
            where = ("items.jsonl", number)
            if item.run in seen:
                yield BadLine(*where, "run", "stands there twice")
            seen.add(item.run)
            for label in item.labels:
                if label.guideline is not None and label.guideline not in versions:
                    yield BadLine(*where, "labels.guideline", f"no version {label.guideline}")
                for tick in label.ticks:
                    if tick.milestone not in milestones:
                        yield BadLine(*where, "labels.ticks", "a milestone that is not there")
            numbers = {tag.number for tag in item.tags}
            for tag in item.tags:
                if tag.evaluator not in evaluators:
                    yield BadLine(*where, "tags.evaluator", "an evaluator that is not there")
                if tag.replaces is not None and not (
                    tag.replaces in numbers and tag.replaces < tag.number
                ):
                    yield BadLine(*where, "tags.replaces", "no earlier tag of that number")
        for number, line in self._numbered(EvaluationLine):
            if line.evaluator not in evaluators:
                yield BadLine(
                    "evaluations.jsonl", number, "evaluator", "an evaluator that is not there"
                )

    def _read_head(self) -> Head:
        name = f"{self._root}{HEAD}"
        try:
            content = read_json(read_file(self._tree, name, self._bounds.json_bytes), self._bounds)
            version = content.get("version")
            if content.get("format") != FORMAT:
                raise BundleError([BadLine(HEAD, 0, "format", f"is not {FORMAT}")])
            if isinstance(version, int) and version > VERSION:
                reason = f"is {version}; this installation reads up to {VERSION}"
                raise BundleError([BadLine(HEAD, 0, "version", reason)])
            return Head.model_validate(content)
        except ValidationError as error:
            field, reason = first_field_error(error)
            raise BundleError([BadLine(HEAD, 0, field, reason)]) from error
        except (LineError, TreeError, BoundError) as error:
            raise BundleError([BadLine(HEAD, 0, "", str(error))]) from error


def holds_bundle(path: Path, bounds: Bounds) -> bool:
    """Whether the file holds a study's bundle, whatever else."""
    try:
        tree = open_tree(path, bounds)
    except (BoundError, TreeError, OSError):
        return False
    try:
        return _root(tree) is not None
    finally:
        tree.close()


def _root(tree: Tree) -> str | None:
    """What the names of the study's files begin with; None where there are none."""
    ending = f"{FOLDER}{HEAD}"
    for name in tree.names:
        if name == ending or name.endswith(f"/{ending}"):
            return name.removesuffix(HEAD)
    return None
