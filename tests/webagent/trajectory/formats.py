"""Reading samples of other tools' formats in tests."""

import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.schema import Blinding
from webagent.trajectory.intake import Bounds, Problem, Rejection
from webagent.trajectory.reading import open_runs

DATA = Path(__file__).parents[2] / "data"


def truth(name: str) -> dict[str, Any]:
    """What is in the samples of a format."""
    found: dict[str, Any] = json.loads((DATA / name / "truth.json").read_text())
    return found


def read(given: Path, bounds: Bounds | None = None, **answers: str) -> list[RunBundle | Problem]:
    """All that is read; every blob that a run mentions can be had."""
    with open_runs(given, bounds=bounds, answers=answers) as source:
        found = list(source)
        for item in found:
            if isinstance(item, RunBundle):
                for blob in item.blob_records():
                    assert len(item.read_blob(blob.sha256)) == blob.bytes
        return found


def runs(given: Path, bounds: Bounds | None = None, **answers: str) -> dict[str, Any]:
    """The runs by their ids; fails over anything that is rejected."""
    found = read(given, bounds, **answers)
    assert not [item for item in found if isinstance(item, Rejection)], found
    return {item.run.id: item for item in found if isinstance(item, RunBundle)}


def only(given: Path, bounds: Bounds | None = None, **answers: str) -> RunBundle:
    """The only run that is there, with nothing beside it."""
    (bundle,) = read(given, bounds, **answers)
    assert isinstance(bundle, RunBundle), bundle
    return bundle


def rejections(given: Path, bounds: Bounds | None = None) -> list[Rejection]:
    return [item for item in read(given, bounds) if isinstance(item, Rejection)]


def copied(name: str, target: Path) -> Path:
    """A copy of a format's samples, to be damaged."""
    shutil.copytree(DATA / name, target / name)
    return target / name


def zip_of(members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def members(path: Path) -> dict[str, bytes]:
    """What a zip holds, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return target


def blind_text(bundle: RunBundle) -> str:
    """All words that somebody blinded to the run gets to see, blobs included."""
    blind = Blinding().apply(bundle)
    words = [json.dumps(record.to_json(), ensure_ascii=False) for record in blind.records()]
    for blob in blind.blob_records():
        words.append(blind.read_blob(blob.sha256).decode("utf-8", "replace"))
    return "\n".join(words)


def stored_text(bundle: RunBundle) -> str:
    """All words that are kept of a run."""
    words = [json.dumps(record.to_json(), ensure_ascii=False) for record in bundle.records()]
    for blob in bundle.blob_records():
        words.append(bundle.read_blob(blob.sha256).decode("utf-8", "replace"))
    return "\n".join(words)
