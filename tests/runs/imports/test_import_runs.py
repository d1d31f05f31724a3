"""`manage.py import_runs` and `show_run`: what people and programs get to read."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.models import Experiment, Run, Step
from tests.runs.imports.test_storing import rows
from tests.webagent.trajectory import formats
from tests.webagent.trajectory.formats import members, zip_of
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.writer import write_folder, write_zip

pytestmark = pytest.mark.django_db
AGENTLAB = formats.DATA / "agentlab"
TRUTH = formats.truth("agentlab")


def import_json(capsys: Any, *arguments: object) -> tuple[Any, dict[str, Any]]:
    """Exit code and report."""
    code: Any = 0
    try:
        call_command("import_runs", *map(str, arguments), "--json")
    except SystemExit as stop:
        code = stop.code
    out = capsys.readouterr()
    assert out.err == ""
    return code, json.loads(out.out)


def show(capsys: Any, run_id: str) -> dict[str, Any]:
    call_command("show_run", run_id, "--json")
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


@pytest.mark.slow
def test_every_run_is_as_its_truth_says(store, capsys):
    code, report = import_json(capsys, AGENTLAB)
    assert code == 0
    assert report["rejected"] == report["already_there"] == []
    by_name = {row["source"].removeprefix(f"{AGENTLAB}/"): row for row in report["imported"]}
    assert by_name.keys() == TRUTH.keys()
    for name, truth in TRUTH.items():
        run = show(capsys, by_name[name]["run"])
        actions = [action for action in truth["actions"] if action]
        errors = [error for error in truth["action_errors"] if error]
        assert [step["action"] for step in run["steps"] if step["action"]] == actions
        assert [step["error"] for step in run["steps"] if step["error"]] == errors
        assert (run["goal"], run["seed"]) == (truth["goal_text"], truth["seed"])
        assert run["n_screenshots"] == truth["n_screenshots"] == by_name[name]["screenshots"]
        assert len(run["steps"]) == run["n_steps"] == by_name[name]["steps"]
        assert run["outcome"] == truth["outcome"]
        assert (run["input_tokens"] or 0) == truth["input_tokens"]
        for step, url in zip(run["steps"], truth["urls"], strict=False):
            assert step["url"] == url


def test_the_report_has_the_agreed_shape(store, capsys, tmp_path):
    write_zip(tmp_path / "runs.zip", [run_bundle(1)])
    code, report = import_json(capsys, tmp_path / "runs.zip", "--format", "native")
    assert code == 0
    (row,) = report["imported"]
    counts = {"steps", "screenshots", "labels", "evaluations", "gaps", "dropped", "redacted"}
    assert row.keys() == {"source", "run"} | counts
    assert (row["source"], row["steps"], row["screenshots"]) == (
        f"{tmp_path / 'runs.zip'}#run-1",
        3,
        3,
    )
    assert Run.objects.filter(pk=row["run"]).exists()
    assert report.keys() == {"imported", "already_there", "rejected", "problems"}


def test_files_that_nobody_reads_are_told(store, capsys, tmp_path):
    write_folder(tmp_path / "runs", [run_bundle(1)])
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    assert import_json(capsys, tmp_path / "runs")[1]["unread"] == ["notes.txt"]
    call_command("import_runs", str(tmp_path / "runs"))
    assert "Files that no importer reads: 1, such as notes.txt\n" in capsys.readouterr().out


@pytest.mark.slow
def test_a_second_time_everything_is_already_there(store, capsys):
    first = import_json(capsys, AGENTLAB)[1]["imported"]
    before = rows()
    code, report = import_json(capsys, AGENTLAB)
    assert (code, report["imported"]) == (0, [])
    assert report["already_there"] == first
    before["runs.AuditEntry"] += 1  # that it was tried
    assert rows() == before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "no such file or folder"),
        (lambda path: path.mkdir(), "no run of a known format in it"),
        (lambda path: path.write_text("hello"), "neither a readable zip nor JSON"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: (path.mkdir(), (path / "a.txt").write_text("x")), "no run of a known format"),
    ],
)
def test_what_holds_no_runs_is_rejected_with_a_reason(store, capsys, tmp_path, make, reason):
    path = tmp_path / "given"
    make(path)
    code, report = import_json(capsys, path)
    assert (code, report["imported"]) == (1, [])
    (rejected,) = report["rejected"]
    assert rejected.keys() == {"source", "file", "field", "reason"}
    assert rejected["source"] == str(path)
    assert reason in rejected["reason"]


def test_a_rejected_run_leaves_nothing_and_the_others_come_in(store, capsys, tmp_path):
    bad = run_bundle(2)
    write_zip(tmp_path / "runs.zip", [run_bundle(1), bad, run_bundle(3)])
    files = members(tmp_path / "runs.zip")
    lines = [json.loads(line) for line in files["runs.jsonl"].splitlines()]
    lines[1]["outcome"] = "triumph"
    files["runs.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(zip_of(files))
    code, report = import_json(capsys, broken)
    assert code == 1
    assert len(report["imported"]) == 2
    (rejected,) = report["rejected"]
    assert rejected["file"] == "runs.jsonl"
    assert "outcome" in rejected["field"]
    assert not Run.objects.filter(task__external_id="shop.2").exists()
    assert not Step.objects.filter(run__task__external_id="shop.2").exists()


def test_a_hostile_pickle_runs_nothing(store, capsys, tmp_path):
    marker = tmp_path / "marker"

    class Hostile:
        def __reduce__(self):
            return Path.touch, (marker,)

    run = tmp_path / "results" / "2026-11-21_00-00-00_agent_on_task_0"
    run.mkdir(parents=True)
    (run / "exp_args.pkl").write_bytes(pickle.dumps(Hostile()))
    (run / "step_0.pkl.gz").write_bytes(gzip.compress(pickle.dumps(Hostile())))
    _code, report = import_json(capsys, tmp_path / "results")
    assert not marker.exists()
    assert report["problems"] or report["rejected"]


def test_runs_go_to_the_experiment_that_is_named(store, capsys, tmp_path):
    write_zip(tmp_path / "runs.zip", [run_bundle(1)])
    import_json(capsys, tmp_path / "runs.zip", "--experiment", "Garden")
    assert Run.objects.get().experiment == Experiment.objects.get(name="Garden")


def test_an_unknown_format_is_refused_at_once(store):
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("import_runs", "x", "--format", "nonsense")


def test_people_read_a_summary(store, capsys, tmp_path):
    write_zip(tmp_path / "runs.zip", [run_bundle(1)])
    with pytest.raises(SystemExit) as stop:
        call_command("import_runs", str(tmp_path / "runs.zip"), str(tmp_path / "nothing"))
    said = capsys.readouterr().out
    assert stop.value.code == 1
    assert "Imported 1 runs with 3 steps and 3 screenshots." in said
    assert "Rejected: 1." in said
    assert "no such file or folder" in said


class TestShowRun:
    def test_everything_of_a_step(self, store, capsys, tmp_path):
        write_zip(tmp_path / "runs.zip", [run_bundle(1)])
        (row,) = import_json(capsys, tmp_path / "runs.zip")[1]["imported"]
        run = show(capsys, row["run"])
        assert (run["outcome"], run["end_reason"]) == ("success", "task_ended")
        assert (run["reward"], run["final_answer"]) == (0.125, "24.90")
        step = run["steps"][1]
        stored = Step.objects.get(run=row["run"], index=1)
        assert (step["index"], step["action"], step["thought"]) == (1, "click('1')", "thought 1")
        assert (step["url"], step["error"]) == ("http://127.0.0.1/", None)
        assert (step["screenshot"], step["tree"]) == (stored.screenshot_id, stored.tree_id)
        assert (step["input_tokens"], step["cost"]) == (3, "0.100000")
        assert run["events"][0]["kind"] == "loop"
        assert run["gaps"] == [{"what": "step", "where": "step_9", "why": "missing"}]

    def test_people_read_it_too(self, store, capsys, tmp_path):
        write_zip(tmp_path / "runs.zip", [run_bundle(1)])
        (row,) = import_json(capsys, tmp_path / "runs.zip")[1]["imported"]
        call_command("show_run", row["run"])
        said = capsys.readouterr().out
        assert "outcome: success" in said
        assert "   1  click('1')" in said
        assert "thought: thought 1" in said

    @pytest.mark.parametrize("name", ["nothing", "6f0f1b0e-52c7-4b6f-9d3e-3d3b8f6f4a11"])
    def test_an_unknown_run(self, store, name):
        with pytest.raises(CommandError, match=f"no run {name}"):
            call_command("show_run", name, "--json")
