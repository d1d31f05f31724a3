"""The study files in `examples/`, each run to its end."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from judging.replication.study_file import read_study_file
from runs.models import Experiment, KnowledgeSet, Run
from tests.judging.replication.own_model import own_model

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("its parts are tested on both"),
]
EXAMPLES = Path(__file__).parents[3] / "examples"


def replicate(file: Path, *arguments: str) -> str:
    out = io.StringIO()
    call_command("replicate", str(file), *arguments, stdout=out)
    return out.getvalue()


def tables(file: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of each table, once the file has run."""
    said = json.loads(replicate(file, "--run", "--format", "json"))
    return {name: table["rows"] for name, table in said["tables"].items()}


def test_every_example_is_a_study_file() -> None:
    files = sorted(EXAMPLES.glob("*/study.toml"))
    assert len(files) == 4
    for file in files:
        read_study_file(file.read_bytes(), file.name)


def test_webarena_mod() -> None:
    """Counted here from the files beside it, not by the product."""
    found = tables(EXAMPLES / "webarena-mod" / "study.toml")
    assert [row["ours"] for row in found["table-1"]] == [23, 16, 36, 0, 40, 1, 34, 0]
    assert [row["difference"] for row in found["table-1"]] == [0] * 8
    shares = [row["ours"] for row in found["fn-share"]]
    assert shares == pytest.approx([100 * 16 / 75, 100 / 75])
    assert [row["ours"] for row in found["repairs"]] == [9, 6]
    assert [row["ours"] for row in found["successes"]] == [39, 75, 41, 75]
    lines = (EXAMPLES / "webarena-mod" / "before.csv").read_text().splitlines()
    assert sum(line.endswith("libwebarena,1,pipeline,passed,,") for line in lines) == 23
    assert all(
        row["missing_because"] is None
        for rows in found.values()
        for row in rows
        if "ours" in row and "figure" in row
    )


def test_agentrewardbench() -> None:
    found = tables(EXAMPLES / "agentrewardbench" / "study.toml")
    kappa, runs = found["agreement"][0], found["agreement"][1]
    assert (kappa["published"], runs["published"]) == (0.755, 105)
    assert (kappa["ours"], runs["ours"]) == (pytest.approx(0.7987, abs=1e-4), 24)
    judge = {str(row["row"]): row for row in found["judge"]}
    # By hand from judge.csv and the first annotation of each run: 12 TP, 3 FP, 2 FN, 7 TN.
    assert judge["precision"]["ours"] == pytest.approx(100 * 12 / 15)
    assert judge["recall"]["ours"] == pytest.approx(100 * 12 / 14)
    assert judge["accuracy"]["ours"] == pytest.approx(100 * 19 / 24)
    assert judge["F1"]["published"] is None


def test_bad_rows_of_a_file_are_named_and_nothing_is_stored(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "webarena-mod", tmp_path, dirs_exist_ok=True)
    causes = tmp_path / "causes.csv"
    causes.write_text(causes.read_text() + "999,libwebarena,output_format,task_data,\n")
    with pytest.raises(Exception, match=r"causes.csv, line 17, task: no error of libwebarena"):
        replicate(tmp_path / "study.toml", "--run")
    assert not Run.objects.exists()


@pytest.mark.browser
@pytest.mark.slow
def test_recovery_on_miniwob() -> None:
    found = tables(EXAMPLES / "miniwob-recovery" / "study.toml")
    vanilla, retry = found["figure-8"]
    assert vanilla["ours"] == 0  # it goes round in circles
    assert retry["ours"] == 100  # the oracle takes over
    detected, rescued = found["figure-9"]
    assert (detected["ours"], rescued["ours"]) == (4, 4)
    assert [row["ours"] for row in found["table-5"]] == [0, 4, 0, 0]
    what = {row["what"] for row in found["deviations"]}
    assert {"model", "task set", "number of tasks", "detector: loop_shortest"} <= what
    assert Experiment.objects.count() == 2


@pytest.mark.browser
@pytest.mark.slow
def test_knowledge_and_hints_on_miniwob(tmp_path: Path) -> None:
    with own_model(tmp_path):
        found = tables(EXAMPLES / "miniwob-knowledge" / "study.toml")
    assert [row["ours"] for row in found["table-4"]] == [100, 100, 100]
    same, other = found["figure-1"]
    assert same["ours"] == 0  # all solved without hints
    assert "0 rows of hint-cells" in str(other["missing_because"])
    what = {row["what"]: row for row in found["deviations"]}
    assert "entries of web knowledge" in what
    assert "web knowledge cut to a budget" in what
    assert KnowledgeSet.objects.count() == 2
