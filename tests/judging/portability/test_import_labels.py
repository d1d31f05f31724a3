"""Labels and verdicts from a table: what is stored, what is refused, and what comes out again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from judging.models import Dispute, Evaluation, Label, ReferenceVerdict, Study, StudyItem
from judging.portability.judgements.columns import cell_of_value, value_of_cell
from judging.portability.judgements.label_files import LabelReport, import_labels
from judging.portability.judgements.labels import label_records
from judging.portability.judgements.rows import Row, read_rows
from runs.models import Run, User
from tests.judging.factories import annotators_of, make_dispute, make_label, make_study
from tests.runs.factories import client_of, make_run, make_user
from tests.runs.operations.integrity import rows_hold
from webagent.trajectory.intake import Problem

STUDY = "Annotated elsewhere"
FIRST_DAY = "0001-01-01T00:00:00+14:00"


def brought(text: str, study: str = STUDY, **options: Any) -> LabelReport:
    return import_labels(io.BytesIO(text.encode()), study=study, **options)


def csv_of(*rows: str) -> str:
    header = "run_id,kind,annotator,evaluator,version,verdict,confidence,causes,rationale,cost"
    return "\n".join([header, *rows]) + "\n"


def agreed_and_disputed(first: Run, second: Run) -> str:
    return csv_of(
        f"{first.pk},label,ann,,,success,80,,,",
        f"{second.pk},label,ann,,,failure,,loop;gave up,<b>No</b>,",
        f"{first.pk},label,bob,,,success,,,,",
        f"{second.pk},label,bob,,,unsure,,,,",
        f"{first.pk},verdict,,my judge,2,failed,,,No hose.,0.25",
    )


class TestReading:
    """Without a database."""

    def test_a_csv_row_may_span_lines_and_tells_where_it_began(self):
        text = '\n\ufeffrun_id,rationale\n1,"a\nb"\n2,c\n3\n'.lstrip("\n")
        assert list(read_rows(io.BytesIO(text.encode()))) == [
            Row(2, {"run_id": "1", "rationale": "a\nb"}),
            Row(4, {"run_id": "2", "rationale": "c"}),
            Problem("", "", "", "has 1 cells; the header has 2", 5),
        ]

    @pytest.mark.parametrize(
        "content",
        [
            b"run_id,at\r\n1,2\r\n",
            b"\xef\xbb\xbfrun_id;at\r\n1;2\r\n",
            b"run_id\tat\n1\t2\n",
            b"sep=;\r\nrun_id;at\r\n1;2\r\n",
            b'"Run ID";"At"\n"1";"2"\n',
            "run_id\tat\r\n1\t2\r\n".encode("utf-16"),
        ],
    )
    def test_tables_may_be_as_spreadsheets_of_any_country_save_them(self, content):
        rows = [row for row in read_rows(io.BytesIO(content)) if isinstance(row, Row)]
        assert [row.values for row in rows] == [{"run_id": "1", "at": "2"}]

    @pytest.mark.parametrize(
        ("content", "line", "reason"),
        [
            (b"", 1, "empty"),
            (b"PK\x03\x04\x14\x00", 1, "workbook"),
            (b"run_id,at\r1,2\r", 1, "CR alone"),
            (b'[{"run_id": 1}]', 1, "one object a line"),
            (b"annotator,verdict\n", 1, "tells the run"),
            ("run_id,at\n".encode("utf-16") + b"\x00\xd8", 2, "UTF-16"),
            (b"name;verdict\n", 1, "names no column"),
            (b"run_id,run_id\n", 1, "twice"),
            (b"run_id,at\n1,2\n\xff,3\n", 3, "UTF-8"),
            (b'run_id,at\n1,"2\n', 2, "as CSV"),
            (b'{"run_id": 1}\n[]\n', 2, "not a JSON object"),
            (b'{"run_id": "\\u0000"}\n', 1, "cannot be stored"),
            (b'{"run_id": "\\ud800"}\n', 1, "cannot be stored"),
            (b'{"score": NaN}\n', 1, "cannot be stored"),
            (b'{"raw": ' + b"[" * 99_999, 1, "as JSON"),
            (b'{"raw": ' + b"[" * 99 + b"]" * 99 + b"}", 1, "too deep"),
            (b"run_id" + b"," * 4_000_001, 1, "a line of more than"),
        ],
    )
    def test_what_cannot_be_read_is_told_by_line(self, content, line, reason):
        bad = [row for row in read_rows(io.BytesIO(content)) if isinstance(row, Problem)]
        assert len(bad) == 1
        assert bad[0].line == line
        assert reason in bad[0].reason

    @pytest.mark.parametrize("text", ["=1+1", "'=1", "'tis", "''", "@x", "-1", "plain", " +a"])
    def test_cells_come_back_and_are_no_formulas(self, text):
        cell = cell_of_value("rationale", text)
        assert value_of_cell("rationale", cell) == text
        assert cell.lstrip(" ")[0] not in "=+-@"


@pytest.mark.django_db
class TestImporting:
    def test_agreement_settles_and_disagreement_is_disputed(self):
        first, second = make_run(pictures=False), make_run(pictures=False)
        report = brought(agreed_and_disputed(first, second))
        assert (report.labels, report.verdicts, report.settled, report.disputed) == (4, 1, 1, 1)
        study = Study.objects.get()
        assert (study.name, study.is_open) == (STUDY, False)
        assert ReferenceVerdict.objects.get().run == first
        assert Dispute.objects.get().item.run == second
        label = Label.objects.get(annotator__username="ann", success="failure")
        assert (label.causes, label.rationale) == (["loop", "gave up"], "<b>No</b>")
        assert not User.objects.filter(is_active=True).exists()
        said = Evaluation.objects.select_related("evaluator").get()
        assert (said.verdict, str(said.evaluator), float(said.cost or 0)) == (
            "failed",
            "my judge 2",
            0.25,
        )

    def test_a_second_time_adds_nothing_and_a_look_stores_nothing(self):
        text = agreed_and_disputed(make_run(pictures=False), make_run(pictures=False))
        assert brought(text, dry_run=True).labels == 4
        assert not Study.objects.exists()
        assert not User.objects.exists()
        brought(text)
        again = brought(text)
        assert (again.labels, again.verdicts, again.already_there) == (0, 0, 5)
        assert (Label.objects.count(), Evaluation.objects.count()) == (4, 1)

    def test_one_bad_row_keeps_all_out_and_is_told_with_its_place(self, tmp_path):
        run = make_run(pictures=False)
        twin = make_run(pictures=False, task=run.task, agent=run.agent)
        rows = [
            {"run_id": str(run.pk), "annotator": "ann", "verdict": "success"},
            {"run_id": str(run.pk), "annotator": "ann", "verdict": "failure"},
            {"run_id": str(run.pk), "annotator": "bob", "verdict": "great"},
            {"run_id": str(run.pk), "annotator": "bob", "verdict": "success", "confidence": 101},
            {"run_id": "7", "annotator": "bob", "verdict": "success"},
            {"task": twin.task.external_id, "annotator": "bob", "verdict": "success"},
            {"run_id": str(run.pk), "verdict": "success", "colour\x1b[31m": "red"},
            {"run_id": str(run.pk), "evaluator": "j", "evaluator_kind": "oracle", "verdict": "x"},
            {"run_id": str(run.pk), "evaluator": "j", "verdict": "passed", "cost": -1},
            {"run_id": str(run.pk), "annotator": "b\u202eo", "verdict": "success"},
            {"run_id": str(run.pk), "annotator": "\x1b[1m", "verdict": "success"},
            {"run_id": str(run.pk), "evaluator": "j", "verdict": "error", "at": FIRST_DAY},
            {
                "run_id": str(run.pk),
                "evaluator": "j",
                "verdict": "error",
                "seconds": 1,
                "extra": [],
            },
            {"run_id": str(run.pk), "evaluator": ["j"], "verdict": "error"},
            {"run_id": str(run.pk), "annotator": "bob", "verdict": "failure", "failure_step": 99},
        ]
        file = tmp_path / "labels.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = io.StringIO()
        with pytest.raises(CommandError) as refused:
            call_command("import_labels", str(file), study=STUDY, stdout=out)
        told = [line.removeprefix(f"{file}, ") for line in str(refused.value).splitlines()[1:]]
        assert [line.split(":")[0] for line in told] == [
            "line 2, annotator",
            "line 3, verdict",
            "line 4, confidence",
            "line 5, run_id",
            "line 6, task",
            "line 7, kind",
            "line 8, verdict",
            "line 9, cost",
            "line 10, annotator",
            "line 11, annotator",
            "line 12, at",
            "line 13, extra",
            "line 14, evaluator.name",
            "line 15, failure_step",
        ]
        assert "\x1b" not in out.getvalue()
        assert "line 7, colour\ufffd[31m: is no column" in out.getvalue()
        assert not Label.objects.exists()
        assert not User.objects.exists()

    def test_many_bad_rows_are_counted_and_twenty_listed(self):
        report = brought(csv_of(*["7,label,ann,,,success,,,,"] * 30))
        assert (report.bad, len(report.listed)) == (30, 20)

    @pytest.mark.slow
    def test_what_is_decided_stays_and_studies_of_people_here_are_not_entered(self, tmp_path):
        first, second = make_run(pictures=False), make_run(pictures=False)
        brought(agreed_and_disputed(first, second))
        late = brought(csv_of(f"{first.pk},label,eve,,,failure,,,,"))
        other = brought(csv_of(f"{first.pk},verdict,,my judge,2,passed,,,,"))
        assert [bad.listed[0].field for bad in (late, other)] == ["run_id", "evaluator"]
        assert Label.objects.count() == 4
        here, file = make_study(runs=[first]), tmp_path / "labels.csv"
        file.write_text(csv_of())
        with pytest.raises(CommandError, match="imports cannot add to it"):
            call_command("import_labels", str(file), study=here.name)

    @pytest.mark.slow
    def test_labels_and_verdicts_may_come_in_either_order(self):
        run = make_run(pictures=False)
        row = f"run_id,kind,annotator,verdict,by\n{run.pk},"
        files = [f"{row}label,ann,failure,\n", f"{row}label,bob,success,\n"]
        files.append(f"{row}adjudication,,failure,zoe\n")
        for study, order in (("last", files), ("first", files[::-1])):
            assert not any(brought(text, study).bad for text in order)
            item = StudyItem.objects.get(study__name=study)
            assert (item.status, item.n_labels) == ("settled", 2)
            assert item.verdict.verdict == "failure"

    @pytest.mark.slow
    def test_a_decision_may_stand_among_labels_of_its_run_in_one_file(self):
        first, second = make_run(pictures=False), make_run(pictures=False)
        header = "run_id,kind,annotator,verdict,by\n"
        brought(f"{header}{first.pk},label,ann,success,\n")
        rows = [
            f"{run.pk},{rest}"
            for run in (first, second)
            for rest in (
                "label,bob,failure,",
                "adjudication,,failure,zoe",
                "label,eve,success,",
                "label,joe,success,",
            )
        ]
        report = brought(header + "\n".join(rows))
        assert (report.bad, report.labels, report.adjudications) == (0, 6, 2)
        items = StudyItem.objects.filter(run__in=[first, second])
        assert sorted(items.values_list("n_labels", "status")) == [(3, "settled"), (4, "settled")]
        assert Study.objects.get().labels_per_run == 4
        rows_hold(StudyItem, ReferenceVerdict, Label, Study)

    @pytest.mark.slow
    def test_many_rows_take_few_queries_each(self, django_assert_max_num_queries):
        runs = [make_run(pictures=False) for _ in range(10)]
        rows = [f"{run.pk},label,{who},,,success,,,," for run in runs for who in ("ann", "bob")]
        rows += [f"{run.pk},verdict,,judge {n},2,failed,,,," for run in runs for n in range(4)]
        brought(csv_of(f"{runs[0].pk},label,zoe,,,success,,,,"))
        with django_assert_max_num_queries(4 * len(rows)):
            assert brought(csv_of(*rows), "another").labels == 20
        with django_assert_max_num_queries(40):
            assert brought(csv_of(*rows), "another").already_there == len(rows)

    def test_runs_are_found_by_hash_and_by_task_agent_and_seed(self):
        run = make_run(pictures=False, seed=3, content_hash="c" * 64)
        make_run(pictures=False, task=run.task, agent=run.agent, seed=4)
        named = f"{run.task.external_id},{run.agent.name},3"
        text = f"content_hash,task,agent,seed,annotator,verdict\n{'c' * 64},,,,ann,success\n"
        brought(f"{text},{named},bob,success\n")
        assert StudyItem.objects.get().run == run
        assert ReferenceVerdict.objects.get().verdict == "success"

    def test_a_blind_person_sees_nothing_of_them(self):
        run = make_run(pictures=False)
        study = make_study(runs=[run])
        brought(
            csv_of(
                f"{run.pk},label,ann,,,failure,,,Secretword,",
                f"{run.pk},verdict,,my judge,2,failed,,,Secretword,",
            )
        )
        blind, auditor = annotators_of(study)[0], make_user("engineer")
        pane, page = (
            reverse(name, args=[run.pk]) for name in ("judging:run_judgements", "runs:run_detail")
        )
        for word in ("Secretword", "my judge"):
            assert word in shown(auditor, pane)
            assert word not in shown(blind, pane)
            assert word not in shown(blind, page)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_study_goes_out_and_comes_back_whole_under_another_name(tmp_path: Path, ending: str):
    study = make_study(runs=2, adjudicators=1)
    make_dispute(study)
    item = study.items.get(status=StudyItem.Status.OPEN)
    for number, user in enumerate(annotators_of(study)):
        make_label(
            item,
            user,
            "failure",
            rationale=f"=HYPERLINK({number})\n'x",
            causes=("loop",),
            seconds=2.5,
        )
    file = tmp_path / f"labels.{ending}"
    call_command("export_labels", study.name, str(file), stdout=io.StringIO())
    call_command("import_labels", str(file), study="Copy", stdout=io.StringIO())
    assert said("Copy") == said(study.name)
    assert len(said("Copy")) == 4
    copy = Study.objects.get(name="Copy")
    assert sorted(copy.items.values_list("status", flat=True)) == ["disputed", "settled"]
    verdict = ReferenceVerdict.objects.get(item__study=copy)
    assert (verdict.verdict, verdict.origin) == ("failure", "agreed")


def shown(user: User, address: str) -> str:
    client = client_of(user)
    text: str = client.get(address).content.decode()
    return text


def said(study: str) -> list[str]:
    """Everything that the labels of a study say, sorted."""
    found = label_records(Label.objects.filter(item__study__name=study))
    kept = {"id", "study"}
    return sorted(record.model_dump_json(exclude=kept) for _, record in found)
