"""`manage.py experiment_report`: the figures of an experiment without a browser."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from judging.analysis.experiments.reports import EXPERIMENT
from runs.models import Experiment, Run
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def two(kept_rows: None) -> Experiment:
    return made.two_models({"both": 135, "b": 39, "a": 60, "neither": 96})


def report(*arguments: str) -> str:
    out = io.StringIO()
    call_command("experiment_report", *arguments, stdout=out)
    return out.getvalue()


def test_text_for_a_terminal(two: Experiment) -> None:
    text = report("Two models")
    assert text.startswith("Two models by imported reward\n")
    assert "Verdicts: imported reward." in text
    assert "0.591" in text  # 195 of 330
    assert max(map(len, text.splitlines())) < 200


def test_published_table_in_json(two: Experiment) -> None:
    tables = json.loads(report(str(two.pk), "--verdict", "reward", "--format", "json"))["tables"]
    [row] = tables["pairs"]["rows"]
    assert row["first"] == "generic · claude-3.7-sonnet"
    cells = [row[key] for key in ("both", "only_first", "only_second", "neither")]
    assert cells == [135, 39, 60, 96]
    assert row["union"] == pytest.approx(234 / 330)
    shares = {each["model"]: each["value"] for each in tables["configurations"]["rows"]}
    assert shares["gpt-5-mini"] == pytest.approx(195 / 330)
    assert shares["claude-3.7-sonnet"] == pytest.approx(174 / 330)


def test_another_source_speaks_of_other_runs(two: Experiment) -> None:
    run = Run.objects.filter(experiment=two)[0]
    judge = audited.evaluator("judge")
    audited.evaluation(run, judge, "passed")
    text = report("Two models", "--verdict", "evaluator:judge", "--format", "markdown")
    assert "evaluator judge 1" in text
    assert "1 of 660 runs that count have one" in text
    with pytest.raises(CommandError, match="no evaluator nobody"):
        report("Two models", "--verdict", "evaluator:nobody")


@pytest.mark.parametrize("form", ["text", "csv", "json", "markdown", "latex"])
def test_folder_holds_everything(two: Experiment, tmp_path: Path, form: str) -> None:
    ending = {"text": "txt", "markdown": "md", "latex": "tex"}.get(form, form)
    report("Two models", "--format", form, "--out", str(tmp_path))
    expected = {f"{name}.{ending}" for name in EXPERIMENT.entries}
    expected |= set() if form == "csv" else {f"report.{ending}"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_one_table_and_what_cannot_be_done(two: Experiment, tmp_path: Path) -> None:
    assert report("Two models", "--format", "csv", "--table", "runs").count("\n") == 661
    with pytest.raises(CommandError, match="one CSV file holds one table"):
        report("Two models", "--format", "csv")
    with pytest.raises(CommandError, match="no experiment 'nowhere'"):
        report("nowhere")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CommandError, match="cannot be written"):
        report("Two models", "--out", str(tmp_path / "taken" / "below"))
