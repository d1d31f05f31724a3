"""`manage.py report`: the audit as a document and as files."""

import csv
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.analysis.audits.reports import AUDIT
from judging.models import Study
from tests.judging.analysis import audited, papers
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]
DOCUMENT = {"protocol", *AUDIT.entries} - {"triangle", "tagged_errors"}
"""Reports that are no lists of runs."""


@pytest.fixture(scope="module")
def study(kept_rows: None) -> Study:
    return papers.before_study().study


def report(*arguments: str) -> str:
    out = io.StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_markdown_holds_every_table_that_is_no_list_of_runs(study: Study) -> None:
    text = report("WebArena sample")
    assert text.startswith("# WebArena sample: audit of the evaluators\n")
    assert text.count("\n**WebArena sample") == len(DOCUMENT)
    strict = next(
        line for line in text.splitlines() if line.startswith("| webarena-strict | 1 | 75")
    )
    assert strict.startswith("| webarena-strict | 1 | 75 | 23 | 16 | 36 | 0 | 0 | 1.000 |")
    assert "fn\\_share | FN / N | 0.213 | 0.136 | 0.319 | Wilson" in text


def test_json_is_one_object_by_table(study: Study) -> None:
    content = json.loads(report(str(study.pk), "--format", "json"))
    assert set(content["tables"]) == DOCUMENT
    figures = {
        (row["evaluator"], row["figure"]): row["value"]
        for row in content["tables"]["figures"]["rows"]
    }
    assert figures["before", "fn_share"] == pytest.approx(16 / 75)
    assert figures["after", "fn_share"] == pytest.approx(1 / 75)
    steps = [row for row in content["tables"]["steps"]["rows"] if row["evaluator"] == "after 1"]
    assert [(row["step"], row["new_tp"]) for row in steps] == [
        ("matcher", None),
        ("equivalence", 1),
        ("inclusion", 2),
        ("together", None),
    ]


def test_one_table_in_every_format(study: Study) -> None:
    rows = list(
        csv.DictReader(io.StringIO(report(study.name, "--format", "csv", "--table", "triangle")))
    )
    assert len(rows) == 75
    assert r"\begin{tabular}" in report(study.name, "--format", "latex", "--table", "people")


def test_latex_document_has_a_table_environment_each(study: Study) -> None:
    text = report(study.name, "--format", "latex")
    assert text.count(r"\begin{table}") == len(DOCUMENT)


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "latex"])
def test_folder_holds_everything(study: Study, tmp_path: Path, form: str) -> None:
    said = report(study.name, "--format", form, "--out", str(tmp_path / "new"))
    ending = {"markdown": "md", "latex": "tex"}.get(form, form)
    written = {str(path.relative_to(tmp_path / "new")) for path in tmp_path.rglob("*.*")}
    expected = {f"{name}.{ending}" for name in ("protocol", *AUDIT.entries)}
    expected |= {f"pictures/{name}.svg" for name in ("fn_share", "fnr", "fpr")}
    expected |= set() if form == "csv" else {f"report.{ending}"}
    assert written == expected
    assert said.strip() == f"{len(expected)} files in {tmp_path / 'new'}"


def test_the_command_counts_as_it_is_told(study: Study) -> None:
    text = report(study.name, "--table", "agreement", "--unsure", "out")
    assert "; without “unsure”." in text
    assert "“unsure” is an answer" in report(study.name, "--table", "agreement")


def test_one_table_into_a_folder(study: Study, tmp_path: Path) -> None:
    report(study.name, "--format", "csv", "--table", "matrices", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["matrices.csv"]


def test_what_cannot_be_done_says_why(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="one CSV file holds one table"):
        report(study.name, "--format", "csv")
    with pytest.raises(CommandError, match="no study nowhere"):
        report("nowhere")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CommandError, match="cannot be written"):
        report(study.name, "--out", str(tmp_path / "taken" / "below"))


def test_a_silent_evaluator_has_no_share_of_zero() -> None:
    world = audited.study("Silent")
    audited.judged(world, audited.evaluator("speaks"), ["tp", "fn"])
    audited.evaluation(
        world.items[0].run, audited.evaluator("mute"), "not_applicable", reason="no reward"
    )
    content = json.loads(report("Silent", "--format", "json"))["tables"]
    mute = [row for row in content["figures"]["rows"] if row["evaluator"] == "mute"]
    values = {row["figure"]: row["value"] for row in mute}
    assert values.pop("coverage") == 0
    assert set(values.values()) == {None}
    assert {row["undefined_because"] for row in mute if row["figure"] == "fn_share"} == {
        "the evaluator gave no verdict"
    }
    [matrix] = [row for row in content["matrices"]["rows"] if row["evaluator"] == "mute"]
    assert matrix["no_verdict_because"] == "1 no reward; 1 not evaluated yet"


def test_the_page_hands_out_the_same_document(study: Study) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_report", args=[study.pk, "md"])
    assert client.get(address).content.decode() == report(study.name)
    assert client.get(address.replace(".md", ".csv")).status_code == 404
    assert client.get(address.replace(".md", ".xlsx")).status_code == 404
