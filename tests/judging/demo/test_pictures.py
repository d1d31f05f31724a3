"""A part that is recorded afresh takes its place among the shipped runs, which stay as they are."""

import zipfile
from pathlib import Path

import pytest

from judging.demo import RUNS_FILE
from judging.demo.management.commands.record_demo import put_in
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.reading import open_runs

TASK = "larkfield.map-save-garden"


def lines(archive: Path, name: str) -> list[bytes]:
    with zipfile.ZipFile(archive) as opened:
        return opened.read(name).splitlines()


@pytest.mark.slow
def test_other_runs_stay_to_the_byte_and_those_of_the_task_are_replaced(tmp_path: Path) -> None:
    recorded, out = tmp_path / "part.zip", tmp_path / "runs.zip"
    with open_runs(RUNS_FILE) as source:
        runs = [run for run in source if isinstance(run, RunBundle)]
        (one, *_others) = of_task = [run for run in runs if run.task.id == TASK]
        write_zip(recorded, [one])
    put_in(recorded, RUNS_FILE, out)
    for name in ("runs.jsonl", "steps.jsonl", "tasks.jsonl"):
        kept = set(lines(out, name))
        assert lines(out, name) == [line for line in lines(RUNS_FILE, name) if line in kept]
    gone = {*lines(RUNS_FILE, "runs.jsonl")} - {*lines(out, "runs.jsonl")}
    assert len(gone) == len(of_task) - 1
    assert all(TASK.encode() in line for line in gone)
