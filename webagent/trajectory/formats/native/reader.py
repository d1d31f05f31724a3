"""Read the native format run by run; what is whole is read, the rest is said."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.lines import Lines, parsed, read_json
from webagent.trajectory.files.opening import CutZipTree
from webagent.trajectory.files.originals import take_blobs, without_missing
from webagent.trajectory.files.recognition import Answers, Recognition
from webagent.trajectory.files.trees import Tree, TreeError, read_file
from webagent.trajectory.formats.native.schema import (
    BLOBS,
    LINE_FILES,
    MANIFEST,
    N_STEPS,
    RUNS,
    SAID_FILES,
    STEPS,
    TASKS,
    Manifest,
)
from webagent.trajectory.intake import (
    NO_NUMBER,
    BoundError,
    Bounds,
    InputError,
    Inventory,
    Problem,
    Rejection,
)
from webagent.trajectory.records import (
    FORMAT_NAME,
    FORMAT_VERSION,
    BlobRecord,
    Record,
    RunRecord,
    StepRecord,
    TaskRecord,
)
from webagent.trajectory.verdict_records import SAID

R = TypeVar("R", bound=Record)
_KEYS = {TASKS: "id", RUNS: "id"}
RUNS_OF_BUNDLE, STUDY_OF_BUNDLE = "runs/", "study/"
"""The two folders of a study's bundle."""


class NativeReader:
    """Reads `manifest.json` with its JSON Lines and blobs, at the root or in subfolders."""

    name = "native"
    signs = "manifest.json, runs.jsonl, steps.jsonl"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """Runs as the manifests say; at least 1 where there is a native file at all.

        Closed, since blobs hold files of any kind: those of other formats that a run came from.
        """
        total = 0
        files: set[str] = set()
        uses: set[str] = set()
        for root, head in _heads(tree, bounds).items():
            manifest = _manifest(tree, root, head)
            listed = manifest.files.get(RUNS) if isinstance(manifest, Manifest) else None
            total += max(listed.count, 1) if listed else 1
            own = {root + name for name in (MANIFEST, *LINE_FILES)}
            blobs = f"{root}{BLOBS}/"
            files |= {name for name in tree.names if name in own or name.startswith(blobs)}
            uses |= _of_bundle(tree, root)
        return Recognition(runs=total, files=frozenset(files), uses=frozenset(uses), closed=True)

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """Each run, with its verdicts; problems of the file itself first."""
        for root, head in _heads(tree, bounds).items():
            found = _manifest(tree, root, head)
            if isinstance(found, Rejection):
                yield found
                continue
            if found is None:
                yield Problem(_source(tree, root), root + MANIFEST, "", "missing")
            yield from _NativeFile(tree, root, found, bounds).read()


def _heads(tree: Tree, bounds: Bounds) -> dict[str, dict[str, Any] | None]:
    """Prefixes (`""` or `folder/`) of native files, each with its manifest if there is one."""
    heads: dict[str, dict[str, Any] | None] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        root = f"{prefix}/" if prefix else ""
        if last == MANIFEST:
            try:
                head = read_json(read_file(tree, name, bounds.json_bytes), bounds)
            except (InputError, TreeError, BoundError):
                continue
            if head.get("format") == FORMAT_NAME:
                heads[root] = head
        elif last == RUNS and root + MANIFEST not in tree and root + STEPS in tree:
            heads[root] = None
    return heads


def _of_bundle(tree: Tree, root: str) -> set[str]:
    """What stands beside the runs in a study's bundle: others read it once the runs are there."""
    beside = f"{root.removesuffix(RUNS_OF_BUNDLE)}{STUDY_OF_BUNDLE}"
    if not root.endswith(RUNS_OF_BUNDLE) or f"{beside}bundle.json" not in tree:
        return set()
    return {name for name in tree.names if name.startswith(beside)}


def _manifest(tree: Tree, root: str, head: dict[str, Any] | None) -> Manifest | Rejection | None:
    if head is None:
        return None
    try:
        manifest = parsed(Manifest, head)
        if manifest.version > FORMAT_VERSION:
            raise InputError(
                "version", f"version {manifest.version} is newer than {FORMAT_VERSION}"
            )
    except InputError as error:
        return error.rejection(_source(tree, root), root + MANIFEST)
    return manifest


def _source(tree: Tree, root: str) -> str:
    return f"{tree.label}/{root}".rstrip("/")


class _NativeFile:
    """One native file, opened: its lines indexed, its blobs found."""

    def __init__(self, tree: Tree, root: str, manifest: Manifest | None, bounds: Bounds) -> None:
        self._tree = tree
        self._root = root
        self._manifest = manifest
        self._bounds = bounds
        self._source = _source(tree, root)
        self._problems: list[Problem] = []
        self._has_all_steps = not isinstance(tree, CutZipTree)
        self._blobs = {
            name.rpartition("/")[2].split(".")[0]: name
            for name in tree.names
            if name.startswith(f"{root}{BLOBS}/")
        }

    def read(self) -> Iterator[RunBundle | Problem]:
        files = {name: self._lines(name) for name in LINE_FILES}
        try:
            yield from self._problems
            if len(files[RUNS]) > self._bounds.runs:
                reason = f"more than {self._bounds.runs} runs"
                yield Rejection(self._source, self._root + RUNS, "", reason)
                return
            for run_id in files[RUNS]:
                yield self._run(run_id, files)
            strays = (
                (name, run_id)
                for name in (STEPS, *SAID_FILES)
                for run_id in files[name]
                if run_id not in files[RUNS]
            )
            for name, run_id in islice(strays, self._bounds.problems):
                reason = f"{run_id[:200]} is not in {RUNS}"
                yield Problem(self._source, self._root + name, "run_id", reason)
        finally:
            for lines in files.values():
                lines.close()

    def _lines(self, name: str) -> Lines:
        def report(error: InputError) -> None:
            self._has_all_steps = self._has_all_steps and name != STEPS
            if len(self._problems) < self._bounds.problems:
                self._problems.append(error.problem(self._source, self._root + name))

        key = _KEYS.get(name, "run_id")
        lines = Lines(self._tree, self._root + name, key, self._bounds, report)
        listed = self._manifest.files.get(name) if self._manifest else None
        if listed and (listed.sha256, listed.bytes) != (lines.sha256, lines.bytes):
            reason = (
                f"not as the manifest says: {lines.count} of {listed.count} lines,"
                f" {lines.bytes} of {listed.bytes} bytes"
            )
            self._problems.append(Problem(self._source, self._root + name, "sha256", reason))
            self._has_all_steps = self._has_all_steps and name != STEPS
        return lines

    def _run(self, run_id: str, files: dict[str, Lines]) -> RunBundle | Rejection:
        source = f"{self._source}#{run_id}"
        stash = BlobStash()
        file = RUNS
        try:
            (number, line), *others = files[RUNS].get(run_id)
            if others:
                raise InputError("id", "appears twice", line=others[0][0])
            n_steps = line.pop(N_STEPS, None)
            run = parsed(RunRecord, line, line=number)
            file = TASKS
            task = self._task(run.task_id, files[TASKS])
            file = STEPS
            steps = _parse_all(StepRecord, files[STEPS].get(run_id), self._bounds.steps_per_run)
            if n_steps is not None and n_steps != len(steps):
                raise InputError(N_STEPS, f"{len(steps)} of {n_steps} steps are here")
            if n_steps is None and not self._has_all_steps:
                raise InputError(N_STEPS, "nobody can tell whether its steps are all here")
            said: dict[str, Any] = {}
            for file, name in SAID_FILES.items():
                said[name] = _parse_all(SAID[name], files[file].get(run_id))
        except InputError as error:
            return error.rejection(source, self._root + file)
        bundle = RunBundle(source=source, task=task, run=run, steps=steps, blobs=stash, **said)
        absent = "not in the file"
        missing = take_blobs(bundle, stash, self._tree, self._bounds, self._name_of, absent)
        if missing and isinstance(self._tree, CutZipTree):
            first = missing[0]
            return Rejection(source, first.name, first.blob.role, first.why)
        inventory = Inventory(self._bounds.problems)
        for name in LINE_FILES:
            key = run.task_id if name == TASKS else run_id
            for place in files[name].unstorable_numbers(key):
                inventory.miss("value", f"{name}: {place}", NO_NUMBER)
        return without_missing(bundle, missing, inventory)

    def _task(self, task_id: str, tasks: Lines) -> TaskRecord:
        found = next(tasks.get(task_id), None)
        if found is None:
            raise InputError("task_id", f"{task_id} is not in {TASKS}")
        number, line = found
        return parsed(TaskRecord, line, line=number)

    def _name_of(self, blob: BlobRecord) -> tuple[str | None, str]:
        name = self._blobs.get(blob.sha256)
        return name, name or f"{self._root}{BLOBS}"


def _parse_all(
    kind: type[R], lines: Iterator[tuple[int, dict[str, Any]]], limit: int | None = None
) -> tuple[R, ...]:
    records: list[R] = []
    for number, line in lines:
        if limit is not None and len(records) >= limit:
            raise InputError("", f"more than {limit} lines", line=number)
        records.append(parsed(kind, line, line=number))
    return tuple(records)
