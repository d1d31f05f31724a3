"""Labels and verdicts of runs that are not here, and of runs that come later."""

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging.evaluating.evaluating import runs_of
from judging.evaluating.services import runs_to_choose_from
from judging.evaluators.registry import predefined_evaluators
from judging.models import Evaluation, Label, MilestoneTick, ReferenceVerdict, Study, StudyItem
from judging.portability.judgements.label_files import LabelReport, import_labels
from judging.portability.study_bundles.services import import_study
from judging.studies.services import matching_runs
from runs.exports.services import bundles_of
from runs.imports.storing import ImportedRun, import_bundle, import_runs
from runs.models import Attachment, Experiment, Milestone, Run
from tests.judging.factories import annotators_of, make_study, next_assignment
from tests.judging.portability.test_study_bundles import bundle_of, wiped
from tests.runs.factories import client_of, make_user
from tests.runs.imports.test_stubs import whole
from tests.runs.operations.integrity import rows_hold
from tests.runs.storage.stores import use_store
from webagent.trajectory.reading import open_runs

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_completing.py completes runs on both"),
    pytest.mark.slow,
]
STUDY = "Published labels"
DATA = Path(__file__).parent.parent.parent / "data" / "agentrewardbench"
COLUMNS = "task_set,task,agent,annotator,evaluator,verdict,failure_step,rationale"


def brought(text: str, study: str = STUDY, **options: Any) -> LabelReport:
    options = {"makes_stubs": True} | options
    return import_labels(io.BytesIO(text.encode()), study=study, **options)


def table(*rows: str) -> str:
    return "\n".join([COLUMNS, *rows]) + "\n"


TWO = table(
    "webarena,webarena.7,generic,ann,,success,,",
    "webarena,webarena.7,generic,bob,,failure,1,it stopped early",
    "webarena,webarena.8,generic,ann,,success,,",
    "webarena,webarena.8,generic,bob,,success,,",
    "webarena,webarena.7,generic,,my judge,failed,,",
)


def test_each_run_that_rows_name_is_kept_once():
    report = brought(TWO)
    assert (report.labels, report.verdicts, report.stubs, report.bad) == (4, 1, 2, 0)
    assert (report.settled, report.disputed) == (1, 1)
    assert Run.objects.filter(is_stub=True).count() == 2
    again = brought(TWO)
    assert (again.labels, again.stubs, again.already_there) == (0, 0, 5)
    rows_hold()


def test_without_the_option_nothing_is_stored_and_a_look_leaves_nothing():
    report = brought(TWO, makes_stubs=False)
    assert report.bad == 5
    assert "option" in report.listed[0].reason
    assert brought(TWO, dry_run=True).stubs == 2
    assert not Run.objects.exists()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("header", "row", "field"),
    [
        ("task,agent,annotator,verdict", "webarena.7,generic,ann,success", "task_set"),
        ("task_set,task,annotator,verdict", "webarena,webarena.7,ann,success", "agent"),
        ("task_set,task,agent,seed,annotator,verdict", "a,b,c,five,ann,success", "seed"),
        ("task_set,task,agent,annotator,verdict", f"a,{'b' * 300},c,ann,success", "task"),
    ],
)
def test_rows_that_name_too_little_are_refused(header, row, field):
    report = brought(f"{header}\n{row}\n")
    assert [(bad.line, bad.field) for bad in report.listed] == [(2, field)]
    assert not Run.objects.exists()


def test_a_row_that_names_more_than_a_stub_is_not_guessed_at():
    brought(TWO)
    header = "task_set,task,agent,model,evaluator,verdict"
    report = brought(f"{header}\nwebarena,webarena.7,generic,model-a,j,passed\n")
    assert (report.bad, report.stubs) == (1, 0)
    assert "did not name model" in report.listed[0].reason
    assert Run.objects.count() == 2


def test_rows_that_several_whole_runs_fit_make_no_third():
    import_bundle(whole(seed=1))
    import_bundle(whole(seed=2))
    report = brought(table("webarena,webarena.7,generic,ann,,success,,"))
    assert report.bad == 1
    assert Run.objects.count() == 2


def test_a_stub_is_never_offered_evaluated_or_drawn_into_a_study():
    brought(TWO)
    stubs = list(Run.objects.filter(is_stub=True))
    study = make_study(runs=stubs, annotators=2)
    (person, _) = annotators_of(study)
    assert next_assignment(study=study, user=person) is None
    assert list(runs_of(study)) == []
    assert runs_to_choose_from(None, [run.pk for run in stubs]) == []
    assert list(matching_runs("", make_user("engineer"))) == []
    for evaluator in predefined_evaluators():
        for run in stubs:
            assert not (
                evaluator.applies_to(run) and evaluator.evaluate(run).verdict in "passed failed"
            )
    import_bundle(whole())
    offered = next_assignment(study=study, user=person)
    assert offered is not None
    assert offered.item.run.task.external_id == "webarena.7"


def test_pages_mark_stubs_and_say_what_is_missing():
    brought(TWO)
    import_bundle(whole(task="webarena.9"))
    client = client_of(make_user("engineer"))
    listed = client.get("/runs/").content.decode()
    assert listed.count("badge stub") == 2
    missing = client.get("/runs/?trajectory=missing").content.decode()
    assert (missing.count("data-run="), missing.count("badge stub")) == (2, 2)
    here = client.get("/runs/?trajectory=here").content.decode()
    assert (here.count("data-run="), here.count("badge stub")) == (1, 0)
    run = Run.objects.get(task__external_id="webarena.7")
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Only labels and verdicts of this run are here" in page
    assert "Needed: agent generic, trial 1" in page
    study = Study.objects.get()
    assert client.get(f"/studies/{study.pk}/").content.decode().count("badge stub") == 2
    import_bundle(whole())
    assert "Only labels" not in client.get(f"/runs/{run.pk}/").content.decode()


def test_the_command_and_the_page_take_the_option(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    path.write_text(TWO)
    with pytest.raises(CommandError, match="option of the import"):
        call_command("import_labels", str(path), "--study", STUDY)
    call_command("import_labels", str(path), "--study", STUDY, "--stubs")
    assert "Runs without trajectory: 2." in capsys.readouterr().out


def test_a_study_bundle_carries_stubs_and_finds_what_became_whole(tmp_path: Path) -> None:
    brought(TWO)
    study = Study.objects.get()
    first = bundle_of(study, tmp_path / "first.zip")
    before, keys = state(), set(Run.objects.values_list("stub_key", flat=True))
    wiped(study)
    import_study(first)
    assert state() == before
    assert set(Run.objects.values_list("stub_key", flat=True)) == keys
    assert Run.objects.filter(is_stub=True).count() == 2
    again = bundle_of(Study.objects.get(), tmp_path / "again.zip")
    assert again.read_bytes() == first.read_bytes()
    # Of a run that is whole here by now a bundle's stub makes no second one.
    import_bundle(whole())
    import_study(first)
    assert Run.objects.count() == 2
    assert Run.objects.filter(is_stub=True).count() == 1
    rows_hold()


def keeping(folder: Path) -> None:
    """Import all, with verdicts of runs whose trajectories are not there."""
    with open_runs(folder, answers={"arb_alone": "keep"}) as source:
        assert all(isinstance(each, ImportedRun) for each in import_runs(source))


class TestAgentRewardBench:
    @pytest.fixture(autouse=True)
    def store(self, settings: Any, tmp_path: Path) -> None:
        use_store(settings, tmp_path / "blobs")

    def test_its_annotations_are_taken_as_they_are(self):
        text = (DATA / "annotations.csv").read_text()
        rows = list(csv.DictReader(io.StringIO(text)))
        report = brought(text)
        assert report.bad == 0
        assert report.labels == len(rows)
        keys = {(row["benchmark"], row["model_name"], row["task_id"]) for row in rows}
        assert report.stubs == len(keys) == report.adjudications
        label = Label.objects.filter(annotator__username="A@agentrewardbench").first()
        assert label is not None
        assert label.extra["record"]["raw"]["trajectory_optimality"]
        first: dict[str, str] = {}
        for row in rows:
            first.setdefault(row["task_id"], row["trajectory_success"])
        said = dict(ReferenceVerdict.objects.values_list("run__task__external_id", "verdict"))
        assert said == {
            task: {"Successful": "success", "Unsuccessful": "failure"}[word]
            for task, word in first.items()
        }
        assert Experiment.objects.filter(runs__is_stub=True).exists()

    def test_trajectories_complete_what_annotations_began(self):
        text = (DATA / "annotations.csv").read_text()
        study = "AgentRewardBench annotations"
        brought(text, study)
        ids = dict(Run.objects.values_list("task__external_id", "pk"))
        n_labels = Label.objects.count()
        for _ in range(2):
            with open_runs(DATA) as source:
                found = [each for each in import_runs(source) if isinstance(each, ImportedRun)]
        assert dict(Run.objects.values_list("task__external_id", "pk")) == ids
        assert len(found) == 3
        assert Run.objects.filter(is_stub=True).count() == len(ids) - 3
        assert Label.objects.count() == n_labels
        assert ReferenceVerdict.objects.count() == len(ids)
        rows_hold()

    @pytest.fixture
    def alone(self, tmp_path: Path) -> Path:
        """The annotations and judgments without trajectories."""
        folder = tmp_path / "alone"
        shutil.copytree(DATA / "trajectories" / "judgments", folder / "judgments")
        shutil.copy(DATA / "annotations.csv", folder)
        return folder

    def test_judgments_come_in_without_trajectories_where_that_is_answered(self, alone: Path):
        with open_runs(alone) as source:
            assert [question.key for question in source.questions] == ["arb_alone"]
            found = list(import_runs(source))
        assert not Run.objects.exists()
        assert [str(each).rpartition(": ")[2] for each in found] == [
            "12 rows are of trajectories that are not in the upload",
            "6 judgments are of trajectories that are not in the upload",
        ]
        keeping(alone)
        assert Run.objects.filter(is_stub=True).count() == 6
        judged = Evaluation.objects.filter(run__is_stub=True)
        assert judged.values("run").distinct().count() == 3
        assert Run.objects.exclude(goal="").count() == 3

    def test_judgments_then_trajectories_are_as_all_at_once(self, alone: Path):
        def said() -> dict[str, object]:
            return {
                bundle.task.external_id: (
                    bundle.content_hash,
                    Counter(each.evaluator.name for each in bundle.evaluations),
                    [label.annotator for label in bundle.labels],
                    [each.verdict for each in bundle.adjudications],
                )
                for bundle in bundles_of(Run.objects.filter(is_stub=False))
            }

        with transaction.atomic():
            keeping(DATA)
            wanted, n_attached = said(), Attachment.objects.filter(run__is_stub=False).count()
            transaction.set_rollback(True)
        keeping(alone)
        keeping(DATA)
        assert said() == wanted
        assert Attachment.objects.filter(run__is_stub=False).count() == n_attached
        rows_hold()

    def test_rows_that_cannot_be_read_are_named_by_line(self):
        head = (DATA / "annotations.csv").read_text().splitlines()[0]
        report = brought(
            f"{head}\nA,webarena,webarena.7,gpt,e,Perhaps,No,1. Complete Failure,No\n"
            "B,webarena,,gpt,e,Successful,No,1. Complete Failure,No\nC,webarena\n"
        )
        assert [(bad.line, bad.field) for bad in report.listed] == [
            (2, "trajectory_success"),
            (3, ""),
            (4, ""),
        ]
        assert not Run.objects.exists()


WORDS = st.sampled_from(["success", "failure", "unsure", "not_executable"])
LABELS = st.fixed_dictionaries(
    {
        "verdict": WORDS,
        "failure_step": st.none() | st.integers(0, 2),
        "rationale": st.none() | st.sampled_from(["clear", "it stopped"]),
        "looping": st.none() | st.sampled_from(["yes", "no"]),
        "reached": st.none() | st.booleans(),
    }
)
JUDGES = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["passed", "failed", "error"]), "score": st.none() | st.just(0.5)}
)
AT = timezone.now().isoformat()


def json_lines(
    task_ids: list[str],
    names: set[str],
    labels: dict[tuple[str, str], dict[str, Any]],
    judged: dict[tuple[str, str], dict[str, Any]],
) -> str:
    known = {"model": "model-a", "seed": 5, "task_set_version": "0.14.3"}
    beside = {name: known[name] for name in names}
    rows: list[dict[str, Any]] = []
    for (task, person), said in labels.items():
        row = {key: value for key, value in said.items() if key != "reached"}
        row |= {"annotator": person, "at": AT, "kind": "label", "task": task}
        if said["reached"] is not None:
            row["extra"] = {"milestones": [{"name": "found", "achieved": said["reached"]}]}
        rows.append(row)
    for (task, judge), said in judged.items():
        rows.append({**said, "evaluator": judge, "at": AT, "kind": "verdict", "task": task})
    given = ({"task_set": "webarena", "agent": "generic", **beside, **row} for row in rows)
    return "\n".join(json.dumps(row) for row in given if row["task"] in task_ids) + "\n"


def state() -> dict[str, Any]:
    """All that is here of runs and of what was said of them, without keys."""
    exported = [
        {
            "run": bundle.content_hash,
            "labels": Counter(
                json.dumps(label.to_json() | {"id": "", "run_id": ""}, sort_keys=True)
                for label in bundle.labels
            ),
            "evaluations": Counter(
                json.dumps(each.to_json() | {"id": "", "run_id": ""}, sort_keys=True)
                for each in bundle.evaluations
            ),
            "adjudications": sorted(each.verdict for each in bundle.adjudications),
            "task": bundle.task.to_json(),
        }
        for bundle in bundles_of(Run.objects.order_by("task__external_id"))
    ]
    ticks = MilestoneTick.objects.order_by("label__item__run__task__external_id", "pk")
    return {
        "runs": exported,
        "items": sorted(
            StudyItem.objects.values_list("run__task__external_id", "status", "n_labels")
        ),
        "current": Evaluation.objects.filter(is_current=True).count(),
        "ticks": Counter(
            ticks.values_list(
                "label__annotator__username",
                "milestone__task__task_set__version",
                "milestone__name",
            )
        ),
        "tasks": sorted(Run.objects.values_list("task__task_set__version", "task__external_id")),
    }


TASKS = ["webarena.7", "webarena.8"]
PLACES = st.tuples(st.sampled_from(TASKS), st.sampled_from(["ann", "bob", "cem"]))


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    labels=st.dictionaries(PLACES, LABELS, min_size=1, max_size=5),
    judged=st.dictionaries(
        st.tuples(st.sampled_from(TASKS), st.sampled_from(["j1", "j2"])), JUDGES, max_size=3
    ),
    names=st.sets(st.sampled_from(["model", "seed", "task_set_version"])),
    order=st.permutations(TASKS),
)
def test_completing_a_stub_is_importing_the_run_first(labels, judged, names, order):
    text = json_lines(TASKS, names, labels, judged)
    named = {task for task, _ in (*labels, *judged)}

    def trajectories() -> None:
        for task in order:
            if task in named:
                import_bundle(whole(task=task))
                run = Run.objects.get(task__external_id=task)
                Milestone.objects.get_or_create(task=run.task, name="found", position=1)

    with transaction.atomic():
        trajectories()
        assert brought(text).bad == 0
        wanted = state()
        transaction.set_rollback(True)
    with transaction.atomic():
        assert brought(text).bad == 0
        assert Run.objects.filter(is_stub=True).count() == len(named)
        # The milestones of a task are known before its trajectory comes.
        for task in named:
            stub = Run.objects.get(task__external_id=task)
            Milestone.objects.get_or_create(task=stub.task, name="found", position=1)
        trajectories()
        assert state() == wanted
        rows_hold()
        transaction.set_rollback(True)
