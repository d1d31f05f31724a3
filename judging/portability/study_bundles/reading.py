"""Reading a study's bundle: every line is checked before anything is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from judging.portability.study_bundles.kinds import (
    FOLDER,
    FORMAT,
    HEAD,
    KINDS,
    SINCE,
    VERSION,
    EvaluationLine,
    Head,
)
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    Line,
    MilestoneLine,
    RunRef,
)
from runs.imports.session import import_bounds
from webagent.trajectory.files.lines import parsed, read_json, read_lines
from webagent.trajectory.files.opening import open_tree
from webagent.trajectory.files.trees import Tree, TreeError, read_file
from webagent.trajectory.intake import BoundError, Bounds, InputError, Problem

MOST_LISTED = 20
NO_EVALUATOR = "an evaluator that is not there"
L = TypeVar("L", bound=Line)


class BundleError(ValueError):
    """The bundle cannot be stored; nothing of it is. `bad` has the first problems."""

    def __init__(self, *bad: Problem) -> None:
        self.bad = bad[:MOST_LISTED]
        lines = [str(each) for each in self.bad]
        if len(bad) > MOST_LISTED:
            lines.append(f"and {len(bad) - MOST_LISTED} more")
        super().__init__("\n".join(lines))


class StudyBundle:
    """An open bundle of which every line was read once. Use it in a `with`.

    Raises:
        BundleError: it is none, lines are wrong, or name what is nowhere in the bundle.
    """

    def __init__(self, path: Path, bounds: Bounds) -> None:
        self._bounds = bounds
        try:
            self._tree: Tree = open_tree(path, bounds)
        except (BoundError, TreeError, OSError) as error:
            raise BundleError(Problem("", path.name, "", str(error))) from error
        try:
            root = _root(self._tree)
            if root is None:
                reason = f"holds no {FOLDER}{HEAD}, so it is no study's bundle"
                raise BundleError(Problem("", path.name, "", reason))
            self._root = root
            self.head = self._read_head()
            self._check()
        except BundleError:
            self._tree.close()
            raise

    def __enter__(self) -> StudyBundle:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()

    def lines(self, kind: type[L]) -> Iterator[L]:
        """The lines of one kind, one at a time."""
        for _number, line in self._numbered(kind):
            yield line

    def blob(self, sha256: str, name: str) -> bytes:
        """The bytes of a file that a line names.

        Raises:
            BundleError: it is not there, or damaged.
        """
        try:
            content = read_file(self._tree, f"{self._root}{name}", self._bounds.blob_bytes)
        except (BoundError, TreeError) as error:
            raise BundleError(Problem("", name, "", str(error))) from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BundleError(Problem("", name, "sha256", "its bytes are not those of its name"))
        return content

    def _check(self) -> None:
        bad = [problem for file in KINDS for problem in self._check_file(file)]
        if bad := bad or list(self._check_names()):
            raise BundleError(*bad)

    def _numbered(self, kind: type[L]) -> Iterator[tuple[int, L]]:
        file = next(file for file, each in KINDS.items() if each is kind)
        if file not in self.head.files:
            return
        path = f"{self._root}{file}"
        for number, line in enumerate(read_lines(self._tree, path, self._bounds), start=1):
            yield number, kind.model_validate(read_json(line, self._bounds))

    def _check_file(self, file: str) -> list[Problem]:
        path = f"{self._root}{file}"
        told = self.head.files.get(file)
        if told is None:
            if self.head.version < SINCE.get(file, 1):
                return []
            return [Problem("", file, "", f"{HEAD} does not list it")]
        bad: list[Problem] = []
        digest = hashlib.sha256()
        number = 0
        try:
            for number, line in enumerate(read_lines(self._tree, path, self._bounds), start=1):
                digest.update(line)
                try:
                    parsed(KINDS[file], read_json(line, self._bounds))
                except InputError as error:
                    bad.append(replace(error.problem("", file), line=number))
        except InputError as error:
            bad.append(replace(error.problem("", file), line=number + 1))
        if not bad and digest.hexdigest() != told.get("sha256"):
            bad.append(Problem("", file, "sha256", f"is not what {HEAD} says: it was changed"))
        if file == "study.jsonl" and not bad and number != 1:
            bad.append(Problem("", file, "", f"holds {number} lines, and must hold one"))
        return bad

    def _check_names(self) -> Iterator[Problem]:
        """What lines name must be in the bundle, and stand there once."""
        evaluators = {line.config_hash for line in self.lines(EvaluatorLine)}
        versions = {line.version for line in self.lines(GuidelineLine)}
        milestones = {line.key for line in self.lines(MilestoneLine)}
        seen: set[RunRef] = set()
        for number, item in self._numbered(ItemLine):
            wrong = partial(Problem, "", "items.jsonl", line=number)
            if item.run in seen:
                yield wrong(field="run", reason="stands there twice")
            seen.add(item.run)
            for label in item.labels:
                if label.guideline is not None and label.guideline not in versions:
                    yield wrong(field="labels.guideline", reason=f"no version {label.guideline}")
                if any(tick.milestone not in milestones for tick in label.ticks):
                    yield wrong(field="labels.ticks", reason="a milestone that is not there")
            numbers = {tag.number for tag in item.tags}
            for tag in item.tags:
                if tag.evaluator not in evaluators:
                    yield wrong(field="tags.evaluator", reason=NO_EVALUATOR)
                is_earlier = tag.replaces in numbers and (tag.replaces or 0) < tag.number
                if tag.replaces is not None and not is_earlier:
                    yield wrong(field="tags.replaces", reason="no earlier tag of that number")
        for number, line in self._numbered(EvaluationLine):
            if line.evaluator not in evaluators:
                yield Problem("", "evaluations.jsonl", "evaluator", NO_EVALUATOR, number)

    def _read_head(self) -> Head:
        name = f"{self._root}{HEAD}"
        try:
            content = read_json(read_file(self._tree, name, self._bounds.json_bytes), self._bounds)
            version = content.get("version")
            if content.get("format") != FORMAT:
                raise InputError("format", f"is not {FORMAT}")
            if isinstance(version, int) and version > VERSION:
                raise InputError(
                    "version", f"is {version}; this installation reads up to {VERSION}"
                )
            return parsed(Head, content)
        except InputError as error:
            raise BundleError(error.problem("", HEAD)) from error
        except (TreeError, BoundError) as error:
            raise BundleError(Problem("", HEAD, "", str(error))) from error


def holds_bundle(path: Path) -> bool:
    """Whether the file holds a study's bundle, whatever else."""
    try:
        tree = open_tree(path, import_bounds())
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
