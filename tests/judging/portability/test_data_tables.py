"""Judgements as data: what stands in a file, that it comes back, and who gets none of it."""

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from judging.models import (
    Evaluation,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyMember,
    Unblinding,
)
from judging.portability.judgements.columns import DataColumn, Type
from judging.portability.judgements.data_tables import (
    DATA_FORMATS,
    DATA_TABLES,
    everything_of,
    study_contents_for,
    write_csv,
    write_jsonl,
)
from judging.portability.judgements.label_files import import_labels
from judging.portability.judgements.labels import RECORD, label_records, label_rows
from judging.portability.judgements.table_parquet import write_parquet
from judging.studies.services import close_study
from runs.models import AuditEntry, Milestone, Run
from tests.judging.factories import annotators_of, make_evaluation, make_label, make_study
from tests.runs.factories import client_of, make_run, make_user
from webagent.trajectory.canonical import canonical_json

pytestmark = pytest.mark.postgresql_only("slow, and alike on both")

COLUMNS = [
    DataColumn("id", Type.TEXT, "the name"),
    DataColumn("n", Type.WHOLE, "how many"),
    DataColumn("x", Type.NUMBER, "how much"),
    DataColumn("cost", Type.MONEY, "dollars"),
    DataColumn("ok", Type.YES_NO, "whether"),
    DataColumn("at", Type.TIME, "when"),
    DataColumn("words", Type.WORDS, "which"),
    DataColumn("extra", Type.JSON, "what else"),
]
ROWS: list[dict[str, Any]] = [
    {
        "id": "=1+1",
        "n": 3,
        "x": 0.5,
        "cost": "0.25",
        "ok": False,
        "at": "2026-01-02T03:04:05+09:00",
        "words": ["a;b", "c"],
        "extra": {"k": ["=x"]},
        "hidden": "not a column",
    },
    {"id": "empty"},
]


def written(writer, rows=ROWS) -> bytes:
    file = io.BytesIO()
    assert writer(file, COLUMNS, rows) == len(rows)
    return file.getvalue()


class TestWriting:
    """Without a database."""

    def test_no_cell_of_csv_is_a_formula_and_what_is_unknown_is_empty(self):
        head, first, empty = written(write_csv).decode().splitlines()
        assert head == "id,n,x,cost,ok,at,words,extra"
        assert first.startswith("'=1+1,3,0.5,0.25,false,2026-01-02T03:04:05+09:00,")
        assert empty == "empty,,,,,,,"
        assert "hidden" not in first

    def test_a_line_of_json_leaves_out_what_is_unknown(self):
        first, empty = map(json.loads, written(write_jsonl).splitlines())
        assert first == {key: value for key, value in ROWS[0].items() if key != "hidden"}
        assert empty == {"id": "empty"}

    def test_parquet_has_types_zones_and_nulls(self):
        table = pq.read_table(io.BytesIO(written(write_parquet)))
        first, empty = table.to_pylist()
        assert first["at"] == datetime(2026, 1, 1, 18, 4, 5, tzinfo=UTC)
        assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
        assert (first["n"], first["cost"], first["ok"]) == (3, Decimal("0.25"), False)
        assert first["words"] == ["a;b", "c"]
        assert json.loads(first["extra"]) == {"k": ["=x"]}
        assert set(empty.values()) == {"empty", None}
        assert table.schema.field("n").metadata[b"meaning"] == b"how many"

    def test_the_same_rows_are_the_same_bytes_in_batches_of_bounded_size(self):
        rows = [{"id": str(n), "n": n} for n in range(4500)]
        assert written(write_parquet, rows) == written(write_parquet, rows)
        file = pq.ParquetFile(io.BytesIO(written(write_parquet, rows)))
        assert file.num_row_groups == 3

    def test_a_time_that_does_not_fit_is_null(self):
        rows = [{"at": "0001-01-01T00:00:00+14:00"}, {"at": "soon"}]
        table = pq.read_table(io.BytesIO(written(write_parquet, rows)))
        assert table["at"].to_pylist() == [None, None]


@pytest.fixture
def study(db) -> Study:
    """Three runs: agreed, disputed, and one with a single label; an evaluator on all."""
    made = make_study(runs=[make_run() for _ in range(3)])
    agreed, disputed, one = made.items.order_by("position")
    ann, bob = annotators_of(made)
    make_label(agreed, ann, causes=["gave up"], rationale="=cmd|calc", confidence=70)
    make_label(agreed, bob)
    make_label(disputed, ann)
    make_label(disputed, bob, success="failure", failure_step=2)
    make_label(one, ann)
    for item in (agreed, disputed, one):
        make_evaluation(item.run, verdict="passed", score=1.0, cost=Decimal("0.002"))
    return made


def facts_of(study_name: str) -> set[tuple[object, ...]]:
    """What the labels and reference verdicts of a study say."""
    labels = Label.objects.filter(item__study__name=study_name).values_list(
        "item__run__content_hash", "annotator__username", "success", "rationale", "failure_step"
    )
    verdicts = ReferenceVerdict.objects.filter(item__study__name=study_name).values_list(
        "run__content_hash", "verdict", "rationale", "decided_by__username", "decided_at"
    )
    return {*labels, *verdicts}


@pytest.mark.django_db
class TestOfStudies:
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_what_goes_out_comes_back_as_it_was(self, study, ending, tmp_path):
        close_study(study=study)
        said = facts_of(study.name)
        evaluations = set(Evaluation.objects.values_list("evaluator", "run", "verdict", "score"))
        for name in ("labels", "reference_verdicts", "evaluations"):
            call_command("export_table", name, tmp_path / f"{name}.{ending}", study=str(study.pk))
        told = AuditEntry.objects.filter(kind="study.exported", about_id=study.pk).order_by("pk")
        names = [f"{name}, {ending}" for name in ("labels", "reference_verdicts", "evaluations")]
        assert list(told.values_list("after", flat=True)) == names
        Evaluation.objects.all().delete()
        ReferenceVerdict.objects.all().delete()
        study.delete()
        for name in ("labels", "reference_verdicts", "evaluations"):
            with (tmp_path / f"{name}.{ending}").open("rb") as file:
                report = import_labels(file, study="Come back")
            assert (report.bad, report.unread) == (0, {}), report.listed
        assert facts_of("Come back") == said
        assert set(Evaluation.objects.values_list("evaluator", "run", "verdict", "score")) == (
            evaluations
        )

    def test_all_formats_hold_what_the_database_holds(self, study, tmp_path):
        counts = {"labels": 5, "reference_verdicts": 1, "evaluations": 3, "runs": 3, "matrices": 1}
        for name, count in counts.items():
            for ending in DATA_FORMATS:
                file = io.BytesIO()
                table = DATA_TABLES[name]
                rows = table.rows(everything_of(study))
                assert DATA_FORMATS[ending].write(file, table.columns, rows) == count, name

    def test_rows_of_labels_say_what_their_records_say(self, study, django_assert_num_queries):
        first, second, *_rest, last = Label.objects.order_by("pk")
        milestone = Milestone.objects.create(
            task=first.item.run.task, name="basket filled", weight=1, position=1
        )
        MilestoneTick.objects.create(label=first, milestone=milestone, achieved=True, step=1)
        for step, text in ((2, "later"), (0, "earlier ☕")):
            StepComment.objects.create(
                item=first.item, author=first.annotator, step_index=step, text=text
            )
        came_in = {
            "id": "a",
            "run_id": "b",
            "annotator": "somebody",
            "success": "failure",
            "looping": "yes",
            "raw": {"score": 2.0, "nothing": None},
        }
        for label in (second, last):
            label.extra = {RECORD: came_in}
            label.save()
        LabelRevision.objects.create(label=second, content={})
        repeat = Label.objects.create(
            item=first.item,
            annotator=first.annotator,
            is_repeat=True,
            success="unsure",
            submitted_at=first.submitted_at,
        )
        # Three ask whether there is anything beside the labels.
        with django_assert_num_queries(7):
            found = {row["id"]: row for row in label_rows(study.items.all())}
        assert set(found) == {str(pk) for pk in Label.objects.values_list("pk", flat=True)}
        for stored, record in label_records(Label.objects.all()):
            label, told = Label.objects.get(pk=stored.id), json.loads(canonical_json(record))
            row = {name: value for name, value in found[str(label.pk)].items() if value is not None}
            assert row.pop("kind") == "label"
            assert row.pop("is_repeat") == (label == repeat)
            assert row.pop("verdict") == told.pop("success")
            assert row.pop("causes", []) == told.pop("failure_types")
            run = label.item.run
            assert row.pop("task") == run.task.external_id
            assert row.pop("task_set") == run.task.task_set.name
            assert row.pop("task_set_version") == run.task.task_set.version
            assert (row.pop("agent"), row.pop("model")) == (run.agent.name, run.agent.model)
            assert row.pop("trial") == run.trial
            assert json.dumps(row, sort_keys=True) == json.dumps(told, sort_keys=True)
            assert json.dumps(row.get("comments")) == json.dumps(told.get("comments"))
            assert json.dumps(row.get("extra")) == json.dumps(told.get("extra"))

    def test_no_command_writes_over_a_file_or_a_table_that_is_none(self, study, tmp_path):
        out = tmp_path / "labels.csv"
        out.write_text("mine")
        with pytest.raises(CommandError, match="cannot be written"):
            call_command("export_table", "labels", out, study=str(study.pk))
        with pytest.raises(CommandError, match="must end in one of .csv, .jsonl, .parquet"):
            call_command("export_table", "labels", tmp_path / "x.xls", study=str(study.pk))
        with pytest.raises(CommandError, match="table of studies"):
            call_command("export_table", "labels", tmp_path / "x.csv", experiment="any")
        assert out.read_text() == "mine"

    def test_labels_go_out_when_they_are_open_and_whoever_took_them_is_noted(self, study):
        auditor = make_user("engineer", "auditor")
        shown = list(DATA_TABLES["labels"].rows(study_contents_for(auditor, study)))
        assert len(shown) == 4, "the label of a run that waits for the second one stays hidden"
        client = client_of(auditor)
        answer = client.get(reverse("judging:study_data", args=[study.pk, "labels", "jsonl"]))
        assert len(answer.getvalue().splitlines()) == 4
        assert Unblinding.objects.filter(user=auditor).count() == 3

    def test_whoever_judges_a_run_of_the_study_gets_nothing(self, study):
        blind = make_user("engineer", "blind one")
        StudyMember.objects.create(study=study, user=blind, part=StudyMember.Part.ANNOTATOR)
        client = client_of(blind)
        for name in DATA_TABLES:
            for ending in DATA_FORMATS:
                address = reverse("judging:study_data", args=[study.pk, name, ending])
                assert client.get(address).status_code == 403
        client.force_login(make_user("annotator"))
        assert client.get(address).status_code == 403
        assert not Unblinding.objects.exists()

    def test_unknown_tables_and_endings_are_not_there(self, study):
        client = client_of(make_user("engineer", "auditor"))
        for name, ending in (("labels", "xls"), ("passwords", "csv")):
            address = reverse("judging:study_data", args=[study.pk, name, ending])
            assert client.get(address).status_code == 404
        assert Run.objects.count() == 3
