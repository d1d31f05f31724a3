"""What takes files from outside, and what each of them may do with a damaged one.

An importer reads or refuses, in words of its own and in bounded time. Anything else is found.
"""

import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from judging.portability.judgements.rows import read_rows
from runs.catalogue.management.commands.import_tasks import TaskFileError, read_task_file
from runs.catalogue.milestones.definitions import MilestoneFileError, read_file
from runs.catalogue.patches.files import PatchFileError, parse_patch
from tests.fuzz.damage import damaged
from tests.webagent.trajectory.demonstrations import written_out
from tests.webagent.trajectory.samples import run_bundle
from tests.webarena_tasks import TASK_FILE
from webagent.trajectory.blobs import BlobError
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_folder
from webagent.trajectory.intake import Bounds, Problem
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import TaskSetRecord

DATA = Path(__file__).parents[1] / "data"
BOUNDS = Bounds(pickle_seconds=5.0)
LARGE = 2_000_000
"""Files that are longer are left as they are: they are pictures."""
NOT_OURS = {"truth.json", "README.md"}


class FoundError(AssertionError):
    """An importer did what it must not."""


@dataclass(frozen=True, slots=True)
class Importer:
    """`samples` are folders or files as people send them; `read` takes one, damaged or not."""

    name: str
    samples: Callable[[], list[Path]]
    read: Callable[[Path], int]


def read_runs(given: Path) -> int:
    """Read all that is there as an import does; how many runs were taken."""
    taken = 0
    with open_runs(given, bounds=BOUNDS) as source:
        for item in source:
            if not isinstance(item, RunBundle | Problem):
                raise FoundError(f"gave a {type(item).__name__}")
            if isinstance(item, Problem):
                if "unexpected" in item.reason:
                    raise FoundError(f"{item.file}: {item.reason}")
                continue
            taken += 1
            for record in item.records():
                record.to_json()
            for blob in item.blob_records():
                try:
                    if len(item.read_blob(blob.sha256)) != blob.bytes:
                        raise FoundError(f"blob {blob.sha256} has another length than it says")
                except BlobError:
                    pass  # refused when it is stored, in words
    return taken


def read_tasks(given: Path) -> int:
    try:
        return len(list(read_task_file(given, task_set=TaskSetRecord(name="x", version="1"))))
    except TaskFileError:
        return 0


def read_patch(given: Path) -> int:
    try:
        return len(parse_patch(given.read_bytes(), given.name).entries)
    except PatchFileError:
        return 0


def read_milestones(given: Path) -> int:
    try:
        return len(read_file(given.read_bytes()).tasks)
    except MilestoneFileError:
        return 0


def read_labels(given: Path) -> int:
    return len(list(read_rows(io.BytesIO(given.read_bytes()))))


def _folders(name: str) -> Callable[[], list[Path]]:
    """The parts of a format's samples that can be read by themselves; all of it where none can."""

    def samples() -> list[Path]:
        parts = sorted(path for path in (DATA / name).iterdir() if path.name not in NOT_OURS)
        alone = [part for part in parts if read_runs(part)]
        return alone or [DATA / name]

    return samples


def _native() -> list[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-native-"))
    write_folder(folder, iter([run_bundle()]))
    return [folder]


def _wonderbread() -> list[Path]:
    return [written_out(Path(tempfile.mkdtemp(prefix="fuzz-wonderbread-")))]


def _written(name: str, content: str) -> Callable[[], list[Path]]:
    """A file of this name and content."""

    def samples() -> list[Path]:
        path = Path(tempfile.mkdtemp(prefix="fuzz-sample-")) / name
        path.write_text(content)
        return [path]

    return samples


LABELS = (
    "kind,run_id,annotator,verdict,confidence,causes,failure_step,rationale,at\n"
    'label,5a6b1c30-0000-4000-8000-000000000001,ann,failure,3,"[""loop""]",2,"it, stopped",'
    "2026-11-21T10:00:00Z\n"
    "label,5a6b1c30-0000-4000-8000-000000000001,bob,success,,,,,2026-11-21T11:00:00Z\n"
    "verdict,5a6b1c30-0000-4000-8000-000000000001,,failure,,,,settled,2026-11-21T12:00:00Z\n"
)
LABEL_LINES = "\n".join(
    json.dumps(dict(zip(LABELS.splitlines()[0].split(","), line.split(","), strict=False)))
    for line in LABELS.splitlines()[1:]
)
MILESTONES = json.dumps(
    {
        "task_set": {"name": "shop", "version": "1"},
        "tasks": [{"task": "1", "milestones": [{"name": "found it", "weight": 2.0}]}],
    }
)
PATCHES = DATA.parents[1] / "runs" / "catalogue" / "patches"

FORMATS = sorted(path.name for path in DATA.iterdir() if (path / "truth.json").exists())
IMPORTERS = {
    importer.name: importer
    for importer in (
        Importer("native", _native, read_runs),
        *(Importer(name, _folders(name), read_runs) for name in FORMATS),
        Importer("wonderbread", _wonderbread, read_runs),
        Importer("tasks", lambda: [TASK_FILE], read_tasks),
        Importer("patches", lambda: sorted(PATCHES.glob("*.json")), read_patch),
        Importer("milestones", _written("milestones.json", MILESTONES), read_milestones),
        Importer("labels", _written("labels.csv", LABELS), read_labels),
        Importer("label_lines", _written("labels.jsonl", LABEL_LINES), read_labels),
    )
}


def damaged_copy(sample: Path, folder: Path, chance: Random) -> Path:
    """A copy of the sample in the folder in which one or two files are damaged."""
    target = folder / sample.name
    if sample.is_dir():
        shutil.copytree(sample, target, ignore=shutil.ignore_patterns(*NOT_OURS))
        files = sorted(path for path in target.rglob("*") if path.is_file())
    else:
        shutil.copy(sample, target)
        files = [target]
    small = [path for path in files if path.stat().st_size < LARGE]
    for path in chance.sample(small, min(len(small), chance.choice((1, 1, 2)))):
        path.write_bytes(damaged(path.name, path.read_bytes(), chance))
    return target


@contextmanager
def damaged_sample(sample: Path, seed: int) -> Iterator[Path]:
    """The copy that this number makes, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        yield damaged_copy(sample, Path(folder), Random(seed))
