"""No run of an archive or of lines that were cut short claims to be complete."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.webagent.trajectory.formats import read, zipped
from tests.webagent.trajectory.test_completeness import FORMATS
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Rejection

SHARES = (0.3, 0.6, 0.9, 0.99)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.slow
def test_no_run_of_a_cut_archive_claims_to_be_complete(
    originals: dict[str, Path], tmp_path: Path, name: str
) -> None:
    archive = zipped(originals[name], tmp_path / "whole.zip")
    whole = {item.content_hash for item in read(archive) if isinstance(item, RunBundle)}
    content = archive.read_bytes()
    for share in SHARES:
        cut = tmp_path / "cut.zip"
        cut.write_bytes(content[: int(len(content) * share)])
        found = read(cut)
        assert any("cut short" in item.reason for item in found if not isinstance(item, RunBundle))
        runs = [item for item in found if isinstance(item, RunBundle)]
        # Native files tell which runs are whole.
        assert not runs or name == "native"
        assert {run.content_hash for run in runs} <= whole
        assert runs or any(isinstance(item, Rejection) for item in found)


LINE_SHARES = (0.4, 0.6, 0.8, 0.95)


def _messages(samples_of: dict[str, Path], folder: Path) -> Path:
    documents = sorted(samples_of["computer_use"].glob("*.json"))
    document = json.loads(documents[0].read_text())
    messages = document if isinstance(document, list) else document["messages"]
    folder.mkdir()
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in messages))
    return folder / "log.jsonl"


def _trace(samples_of: dict[str, Path], folder: Path) -> Path:
    shutil.copytree(samples_of["playwright_trace"], folder)
    return max(folder.rglob("*.trace"), key=lambda path: path.stat().st_size)


def _steps_that_nobody_counts(samples_of: dict[str, Path], folder: Path) -> Path:
    shutil.copytree(samples_of["native"], folder)
    (manifest,) = folder.rglob("manifest.json")
    manifest.unlink()
    runs = manifest.with_name("runs.jsonl")
    rows = [json.loads(line) for line in runs.read_text().splitlines()]
    for row in rows:
        del row["n_steps"]
    runs.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return manifest.with_name("steps.jsonl")


@pytest.mark.parametrize("make", [_messages, _trace, _steps_that_nobody_counts])
def test_a_run_whose_lines_are_cut_is_refused_until_all_are_there(
    originals: dict[str, Path], make: Callable[[dict[str, Path], Path], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "given"
    path = make(originals, folder)
    whole = path.read_bytes()
    assert _runs(folder)
    for share in LINE_SHARES:
        cut = whole[: int(len(whole) * share)].rstrip()
        line = cut.rpartition(b"\n")[2]
        path.write_bytes(cut[: -len(line) // 2])
        assert not _runs(folder), share
        reasons = [item.reason for item in read(folder) if isinstance(item, Rejection)]
        assert any("cut short" in why or "nobody can tell" in why for why in reasons), reasons
    path.write_bytes(whole)
    assert _runs(folder)


def _runs(folder: Path) -> list[RunBundle]:
    return [item for item in read(folder) if isinstance(item, RunBundle)]
