"""Exports come back without loss, and show nobody what is hidden from them."""

import io
import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.models import (
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
    StudyMember,
)
from runs.exports.services import bundle_of, export_runs
from runs.imports.storing import import_bundle, import_runs
from runs.models import (
    AgentConfiguration,
    Blob,
    DeletedRun,
    Experiment,
    Hint,
    ImportJob,
    LearningJob,
    Milestone,
    Run,
    RunStatus,
    Task,
    TaskSet,
    User,
)
from runs.storage.blobs import storage_name
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_user
from tests.runs.imports.test_storing import rows, with_run
from tests.webagent.trajectory import formats
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.schema import Blinding
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import MilestoneRecord
from webagent.trajectory.verdict_records import HintJobRecord, HintRecord

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]
RULE = {"reached_when": {"kind": "url", "pattern": "*/cart"}}
AGENTLAB = formats.DATA / "agentlab"


def wipe() -> None:
    """Empty the database, children first."""
    Study.objects.all().delete()
    Run.objects.update(retry_of=None, rerun_of=None)
    named = [
        DeletedRun(run_id=run_id, reason="a test")
        for run_id in Run.objects.values_list("pk", flat=True)
    ]
    DeletedRun.objects.bulk_create(named)
    hints = (Hint, LearningJob)
    for model in (*hints, Evaluation, EvaluatorVersion, ImportJob, Run, Task, TaskSet, Experiment):
        model._default_manager.all().delete()
    AgentConfiguration.objects.all().delete()
    Blob.objects.update(thumbnail=None)
    Blob.objects.all().delete()
    User.objects.all().delete()
    DeletedRun.objects.all().delete()
    # The policies that come ready, and what nobody deletes.
    ours = ("runs.WorkerBeat", "runs.RetryPolicy", "runs.AuditEntry")
    assert {name: n for name, n in rows().items() if n and name not in ours} == {}


def written(folder: Path, name: str, **options: Any) -> bytes:
    target = folder / name
    export_runs(target, Run.objects.all(), **options)
    return target.read_bytes()


def read_back(file: Path) -> list[Any]:
    with open_runs(file) as source:
        return list(import_runs(source))


def lines(archive: bytes, name: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return [json.loads(line) for line in file.read(f"{name}.jsonl").splitlines()]


def test_what_was_exported_comes_back_byte_for_byte(store, tmp_path):
    for number in range(3):
        import_bundle(run_bundle(number))
    first = written(tmp_path, "first.zip")
    wipe()
    assert all(item.is_new for item in read_back(tmp_path / "first.zip"))
    assert written(tmp_path, "second.zip") == first


def test_real_runs_come_back_byte_for_byte(store, tmp_path, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True), open_runs(AGENTLAB) as source:
        assert sum(getattr(item, "is_new", False) for item in import_runs(source)) > 5
    assert Evaluation.objects.exists()
    first = written(tmp_path, "first.zip")
    wipe()
    with django_capture_on_commit_callbacks(execute=True):
        read_back(tmp_path / "first.zip")
    assert written(tmp_path, "second.zip") == first


def test_importing_an_export_adds_nothing(store, tmp_path):
    import_bundle(run_bundle(1))
    written(tmp_path, "runs.zip")
    before = rows()
    assert [item.is_new for item in read_back(tmp_path / "runs.zip")] == [False]
    assert rows() == before


def advised_bundle(name: str = "The cart holds the item", text: str = "Open the shop first."):
    """A run with its task's milestones, and a hint that was written from it."""
    bundle = run_bundle(1)
    milestones = (
        MilestoneRecord(name=name, weight=2.0, is_ordered=True, rule=RULE),
        MilestoneRecord(name="The order is placed"),
    )
    hint = HintRecord(
        id="h1",
        run_id=bundle.run.id,
        level="concrete",
        text=text,
        job=HintJobRecord(
            id=str(UUID(int=7)),
            model="writer",
            verdict="reward",
            verdict_name="imported reward",
            verdict_rule="Success is a reward above 0.",
        ),
        model="writer-2026",
        prompt_version="3",
        prompt_hash="a" * 64,
        asks=2,
        faults=(("it names the answer",),),
        input_tokens=120,
        output_tokens=30,
        cost=Decimal("0.0012"),
        seconds=1.5,
        at=datetime(2026, 11, 2, 8, 30, tzinfo=UTC),
    )
    task = bundle.task.model_copy(update={"milestones": milestones})
    return replace(bundle, task=task, hints=(hint,))


def test_milestones_and_hints_come_back_byte_for_byte(store, tmp_path):
    imported = import_bundle(advised_bundle())
    assert imported.problems == ()
    first = written(tmp_path, "first.zip")
    [task], [hint] = lines(first, "tasks"), lines(first, "hints")
    assert [one["name"] for one in task["milestones"]] == [
        "The cart holds the item",
        "The order is placed",
    ]
    assert task["milestones"][0]["rule"] == RULE
    assert (hint["text"], hint["job"]["verdict_name"]) == (
        "Open the shop first.",
        "imported reward",
    )
    wipe()
    [back] = read_back(tmp_path / "first.zip")
    assert back.problems == ()
    assert written(tmp_path, "second.zip") == first
    assert list(Milestone.objects.values_list("origin", flat=True)) == ["imported"] * 2
    job = LearningJob.objects.get()
    assert job.params["runs"] == [str(back.run_id)]
    assert (job.state, job.n_done, job.hints.get().cost) == ("finished", 1, Decimal("0.0012"))


def test_milestones_and_hints_that_are_here_stay(store, tmp_path):
    import_bundle(advised_bundle())
    before = rows()
    again = import_bundle(advised_bundle())
    assert (again.is_new, again.problems, rows()) == (False, (), before)
    other = import_bundle(advised_bundle(name="Another way", text="Another text"))
    assert [problem.reason for problem in other.problems] == [
        "the task has other milestones here, which stay",
        "another one is here in its place, which stays",
    ]
    assert rows() == before


def test_milestones_and_hints_that_make_no_sense_are_left_out(store):
    bundle = advised_bundle()
    hint = bundle.hints[0]
    elsewhere = hint.model_copy(update={"job": hint.job.model_copy(update={"id": "job-1"})})
    odd = (MilestoneRecord(name="a", rule={"reached_when": {"sql": "DROP TABLE"}}),)
    task = bundle.task.model_copy(update={"milestones": odd})
    found = import_bundle(replace(bundle, task=task, hints=(elsewhere,)))
    assert found.is_new
    assert [problem.file for problem in found.problems] == [f"task {task.external_id}", "hint h1"]
    assert not Milestone.objects.exists()
    assert not Hint.objects.exists()


def test_a_blind_file_holds_neither_milestones_nor_hints(store, tmp_path):
    import_bundle(advised_bundle())
    blind = written(tmp_path, "blind.zip", blinding=Blinding())
    assert lines(blind, "hints") == []
    assert "milestones" not in lines(blind, "tasks")[0]


def test_nothing_that_tells_how_to_succeed_at_a_task_that_one_still_judges(store, client):
    run = Run.objects.get(pk=import_bundle(advised_bundle()).run_id)
    person = make_user("engineer")
    client.force_login(person)
    address = reverse("runs:run_export", args=[run.pk])
    assert lines(b"".join(client.get(address)), "hints")
    make_study(runs=[make_run(task=run.task, pictures=False)], annotators=[person])
    [task] = lines(shown := b"".join(client.get(address)), "tasks")
    assert not {"eval", "reference", "milestones"} & task.keys()
    assert lines(shown, "hints") == []
    assert lines(shown, "runs")[0]["outcome"] == run.outcome


def test_a_folder_holds_the_same_as_a_zip(store, tmp_path):
    import_bundle(run_bundle(1))
    archive = written(tmp_path, "runs.zip")
    export_runs(tmp_path / "folder", Run.objects.all())
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        for name in file.namelist():
            assert (tmp_path / "folder" / name).read_bytes() == file.read(name)
    with pytest.raises(FileExistsError):
        export_runs(tmp_path / "folder", Run.objects.all())


def test_each_run_keeps_its_own_account_of_its_task(store, tmp_path):
    import_bundle(run_bundle(1))
    second = run_bundle(2)
    task = run_bundle(1).task.model_copy(update={"id": second.run.task_id, "extra": {"note": "b"}})
    import_bundle(with_task(second, task))
    tasks = lines(written(tmp_path, "runs.zip"), "tasks")
    assert sorted(task["extra"]["note"] or "" for task in tasks) == ["", "b"]


def with_task(bundle: Any, task: Any) -> Any:
    from_dataclass = type(bundle)
    return from_dataclass(**{**vars(bundle), "task": task})


def test_links_are_written_with_the_ids_that_runs_have_here(store, tmp_path):
    chain = [
        with_run(run_bundle(1), superseded_by="run-2"),
        with_run(run_bundle(2), retry_of="run-1"),
        with_run(run_bundle(3), rerun_of="run-1"),
    ]
    first, retry, rerun = (item.run_id for item in import_runs(chain))  # type: ignore[union-attr]
    found = {run["id"]: run for run in lines(written(tmp_path, "runs.zip"), "runs")}
    assert found[str(first)]["superseded_by"] == str(retry)
    assert found[str(retry)]["retry_of"] == found[str(rerun)]["rerun_of"] == str(first)


def test_a_run_whose_worker_died_goes_out_and_comes_back(store, tmp_path):
    run = make_run(
        steps=0,
        status=RunStatus.FAILED,
        outcome=Run.Outcome.ERROR,
        end_reason=Run.EndReason.KILLED,
        error_message="The worker died.",
        error_origin="harness",
        reward=None,
    )
    first = written(tmp_path, "first.zip")
    (again,) = read_back(tmp_path / "first.zip")
    assert (again.run_id, again.is_new) == (run.pk, False)
    wipe()
    read_back(tmp_path / "first.zip")
    assert written(tmp_path, "second.zip") == first
    assert Run.objects.get().error_message == "The worker died."


def test_runs_under_way_stay_out(store, tmp_path):
    make_run(steps=0, status=RunStatus.RUNNING)
    assert lines(written(tmp_path, "runs.zip"), "runs") == []


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_blob_that_is_not_what_it_was_leaves_no_half_file(store, tmp_path, damage):
    run_id = import_bundle(run_bundle(1)).run_id
    picture: Any = Run.objects.get(pk=run_id).steps.order_by("index")[0].screenshot
    file = store / storage_name(picture)
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(CommandError, match="check_blobs"):
        call_command("export_runs", tmp_path / "runs.zip")
    assert list(tmp_path.glob("*.zip")) == list(tmp_path.glob(".*.zip*")) == []


def test_a_blind_export_holds_no_reference_and_no_verdict(store, tmp_path):
    import_bundle(run_bundle(1))
    archive = written(tmp_path, "blind.zip", blinding=Blinding(hide_agent=True))
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        content = b"".join(file.read(name) for name in file.namelist())
    for secret in (b"SECRET", b"0.125", b'"passed"', b'"success"', b"exact_match"):
        assert secret not in content


class TestCommand:
    def test_chosen_runs_only(self, store, tmp_path, capsys):
        one, two = (import_bundle(run_bundle(number)).run_id for number in (1, 2))
        call_command("export_runs", tmp_path / "one.zip", "--run", str(one))
        assert [run["id"] for run in lines((tmp_path / "one.zip").read_bytes(), "runs")] == [
            str(one)
        ]
        assert "1 runs" in capsys.readouterr().out
        assert two

    def test_an_experiment(self, store, tmp_path):
        import_bundle(run_bundle(1), experiment_name="first")
        import_bundle(run_bundle(2), experiment_name="second")
        call_command("export_runs", tmp_path / "runs.zip", "--experiment", "second")
        (run,) = lines((tmp_path / "runs.zip").read_bytes(), "runs")
        assert run["experiment"] == "second"

    def test_what_is_not_there_is_said(self, store, tmp_path):
        with pytest.raises(CommandError, match="no experiment"):
            call_command("export_runs", tmp_path / "x.zip", "--experiment", "nothing")
        missing = "6f0f1b0e-52c7-4b6f-9d3e-3d3b8f6f4a11"
        with pytest.raises(CommandError, match=missing):
            call_command("export_runs", tmp_path / "x.zip", "--run", missing)

    def test_atif_comes_back_as_the_same_runs(self, store, tmp_path, capsys):
        run_id = import_bundle(run_bundle(1)).run_id
        call_command("export_runs", tmp_path / "runs.zip", "--format", "atif")
        assert "1 runs as ATIF" in capsys.readouterr().out
        before = rows()
        assert [(item.run_id, item.is_new) for item in read_back(tmp_path / "runs.zip")] == [
            (run_id, False)
        ]
        assert rows() == before
        call_command("export_study", Study.objects.get().name, tmp_path / "out", format="atif")
        assert (tmp_path / "out" / str(run_id) / "trajectory.json").exists()

    def test_a_study_with_its_labels(self, store, tmp_path):
        import_bundle(run_bundle(1))
        study = Study.objects.get()
        call_command("export_study", study.name, tmp_path / "study.zip", format="native")
        assert len(lines((tmp_path / "study.zip").read_bytes(), "labels")) == 2
        with pytest.raises(CommandError, match="no study"):
            call_command("export_study", "nothing", tmp_path / "x.zip")


class TestPages:
    def download(self, response: Any) -> bytes:
        assert response.status_code == 200
        assert response["Content-Type"] == "application/zip"
        assert response["Content-Disposition"].startswith("attachment;")
        return b"".join(response.streaming_content)

    def test_a_run(self, store, client):
        run_id = import_bundle(run_bundle(1)).run_id
        client.force_login(make_user())
        archive = self.download(client.get(reverse("runs:run_export", args=[run_id])))
        (run,) = lines(archive, "runs")
        assert (run["id"], run["reward"]) == (str(run_id), 0.125)
        assert len(lines(archive, "labels")) == 2

    def test_several_runs(self, store, client):
        ids = [str(import_bundle(run_bundle(number)).run_id) for number in range(3)]
        client.force_login(make_user())
        url = reverse("runs:run_export_selected")
        archive = self.download(client.post(url, {"run": [*ids[:2], "no-id"]}))
        assert {run["id"] for run in lines(archive, "runs")} == set(ids[:2])
        assert client.post(url, {}).status_code == 302

    def test_who_is_blind_gets_a_blind_one(self, store, client):
        run: Any = Run.objects.get(pk=import_bundle(run_bundle(1)).run_id)
        user = make_user()
        study = Study.objects.create(name="local", hides_identity=True)
        StudyItem.objects.create(study=study, run=run, position=0)
        StudyMember.objects.create(study=study, user=user, part=StudyMember.Part.ANNOTATOR)
        client.force_login(user)
        for query in ({}, {"format": "atif"}):
            url = reverse("runs:run_export", args=[run.pk])
            archive = self.download(client.get(url, query))
            with zipfile.ZipFile(io.BytesIO(archive)) as file:
                content = b"".join(file.read(name) for name in file.namelist())
                assert any(n.endswith("trajectory.json") for n in file.namelist()) is bool(query)
            assert b"SECRET" not in content
            assert b"0.125" not in content

    def test_a_run_under_way_or_unknown(self, store, client):
        running = make_run(steps=0, status=RunStatus.RUNNING)
        client.force_login(make_user())
        for run_id in (running.pk, "6f0f1b0e-52c7-4b6f-9d3e-3d3b8f6f4a11"):
            assert client.get(reverse("runs:run_export", args=[run_id])).status_code == 404


def test_bundles_have_the_hash_that_their_run_was_stored_under(store):
    run = Run.objects.get(pk=import_bundle(run_bundle(1)).run_id)
    assert bundle_of(run).content_hash == run.content_hash


def test_labels_and_verdicts_come_back(store, tmp_path):
    import_bundle(run_bundle(1))
    written(tmp_path, "runs.zip")
    before = sorted(Label.objects.values_list("pk", "success", "annotator__username"))
    verdict = ReferenceVerdict.objects.values_list("pk", "verdict", "origin").get()
    wipe()
    read_back(tmp_path / "runs.zip")
    assert sorted(Label.objects.values_list("pk", "success", "annotator__username")) == before
    assert ReferenceVerdict.objects.values_list("pk", "verdict", "origin").get() == verdict
