"""The study files in `examples/`, each run to its end."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError

from judging.replication.study_file import read_study_file
from runs.models import Experiment, KnowledgeSet, Run
from tests.judging.replication.files import replicate
from tests.judging.replication.own_model import own_model
from tests.windowless import windowless

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("its parts are tested on both"),
    pytest.mark.slow,
]
EXAMPLES = Path(__file__).parents[3] / "examples"
ONE = 'ids = ["login-user"]'
TWO = 'ids = ["click-button", "login-user"]'
THREE = 'ids = ["click-button", "click-option", "login-user"]'
FOUR = 'ids = ["click-button", "click-option", "enter-text", "login-user"]'


def tables(file: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of each table, once the file has run."""
    with windowless():
        said = json.loads(replicate(file, "--run", "--format", "json"))
    return {name: table["rows"] for name, table in said["tables"].items()}


def smaller(folder: Path, example: str, *changes: tuple[str, str]) -> Path:
    """The example's file with parts of it replaced: every run drives a browser."""
    text = (EXAMPLES / example / "study.toml").read_text()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = folder / "study.toml"
    file.write_text(text)
    return file


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
    assert [row["ours"] for row in found["beside"]] == pytest.approx([-1500 / 75, 200 / 75])
    share = found["beside"][0]
    assert float(str(share["ours_low"])) < -20 < float(str(share["ours_high"])) < 0
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


def test_agentrewardbench(tmp_path: Path) -> None:
    found = tables(EXAMPLES / "agentrewardbench" / "study.toml")
    kappa, runs = found["agreement"][0], found["agreement"][1]
    assert (kappa["published"], runs["published"]) == (0.755, 105)
    # By hand, first label against second: 13 both success, 8 both failure, 1 and 1 apart, and one
    # failure whose second label is unsure.
    agreed, by_chance = 21 / 23, (14 * 14 + 9 * 9) / 23**2
    by_hand = (agreed - by_chance) / (1 - by_chance)
    assert (kappa["ours"], runs["ours"]) == (pytest.approx(by_hand), 23)
    assert [row["ours"] for row in found["alpha"]] == pytest.approx(
        [
            1 - (6 / 48) / (2 * (28 * 19 + 28 * 1 + 19 * 1) / 48 / 47),
            1 - (4 / 46) / (2 * 28 * 18 / 46 / 45),
        ]
    )
    ours = {(row["row"], row["figure"]): row["ours"] for row in found["judge"]}
    for name, split in (("all tasks", ""), ("development split", "dev"), ("test split", "test")):
        for figure, value in benchmark_figures(split).items():
            assert ours[name, figure] == pytest.approx(value), (name, figure)
    published = {row["figure"]: row for row in found["judge"] if row["published"] is not None}
    assert {name: row["published"] for name, row in published.items()} == {
        "precision": 69.8,
        "recall": 83.1,
        "F1": 75.9,
    }
    assert published["F1"]["ours"] == ours["test split", "F1"]
    _other_splits_are_refused_and_change_nothing(tmp_path)
    assert found["judge"] == tables(EXAMPLES / "agentrewardbench" / "study.toml")["judge"]


def _other_splits_are_refused_and_change_nothing(folder: Path) -> None:
    shutil.copytree(EXAMPLES / "agentrewardbench", folder, dirs_exist_ok=True)
    for name, old, new in (
        ("splits.csv", "webarena.100,webarena,test", "webarena.100,webarena,dev"),
        ("study.toml", "AgentRewardBench", "Another"),
    ):
        file = folder / name
        file.write_text(file.read_text().replace(old, new))
    with pytest.raises(
        CommandError, match=r"splits.csv, webarena.100: is of the split test already"
    ):
        replicate(folder / "study.toml", "--run")


def benchmark_figures(split: str) -> dict[str, float]:
    """The judge's figures in percent by AgentRewardBench's rules, from the files alone.

    The first annotation of a trajectory counts, unless it is "Unsure". A judge without an answer
    is neither right nor wrong to precision and recall, and wrong to accuracy.
    """
    folder = EXAMPLES / "agentrewardbench"
    said = {(row["task"], row["agent"]): row["verdict"] for row in rows_in(folder / "judge.csv")}
    splits = {row["task_id"]: row["split"] for row in rows_in(folder / "splits.csv")}
    first: dict[tuple[str, str], str] = {}
    for row in rows_in(folder / "annotations.csv"):
        task = row["task_id"].replace(".resized", "").replace(".improved", "")
        first.setdefault((task, row["model_name"]), row["trajectory_success"])
    pairs = [
        (truth == "Successful", said[run])
        for run, truth in first.items()
        if truth != "Unsure" and (not split or splits[run[0]] == split)
    ]
    tp, fp = pairs.count((True, "passed")), pairs.count((False, "passed"))
    fn, tn = pairs.count((True, "failed")), pairs.count((False, "failed"))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return {
        "precision": 100 * precision,
        "recall": 100 * recall,
        "F1": 200 * precision * recall / (precision + recall),
        "accuracy": 100 * (tp + tn) / len(pairs),
    }


def rows_in(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_bad_splits_are_named_and_nothing_is_stored(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "agentrewardbench", tmp_path, dirs_exist_ok=True)
    splits = tmp_path / "splits.csv"
    splits.write_text(splits.read_text().replace("task_id,", "task,"))
    with pytest.raises(CommandError, match=r"splits.csv, task_id: no such column"):
        replicate(tmp_path / "study.toml", "--run")
    assert not Run.objects.exists()


def test_bad_rows_of_a_file_are_named_and_nothing_is_stored(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "webarena-mod", tmp_path, dirs_exist_ok=True)
    causes = tmp_path / "causes.csv"
    causes.write_text(causes.read_text() + "999,libwebarena,output_format,task_data,\n")
    with pytest.raises(Exception, match=r"causes.csv, line 17, task: no error of libwebarena"):
        replicate(tmp_path / "study.toml", "--run")
    assert not Run.objects.exists()


@pytest.mark.browser
def test_recovery_on_miniwob(tmp_path: Path) -> None:
    """With one task to go round in circles on instead of the file's four, and not for long."""
    circles = ("max_steps = 20\npaper = {", "max_steps = 4\npaper = {")
    found = tables(smaller(tmp_path, "miniwob-recovery", (FOUR, ONE), circles))
    vanilla, retry = found["figure-8"]
    assert vanilla["ours"] == 0  # it goes round in circles
    done = Run.objects.values_list("task__external_id", "outcome", "end_reason", "error_message")
    assert retry["ours"] == 100, list(done)  # the oracle takes over
    detected, rescued = found["figure-9"]
    assert (detected["ours"], rescued["ours"]) == (1, 1)
    assert [row["ours"] for row in found["table-5"]] == [1, 1, 1, 1]
    what = {row["what"] for row in found["deviations"]}
    assert {"model", "task set", "number of tasks", "detector: loop_shortest"} <= what
    assert Experiment.objects.count() == 3


@pytest.mark.browser
def test_knowledge_and_hints_on_miniwob(tmp_path: Path) -> None:
    """With fewer tasks, trials, steps and levels of hints than the file has."""
    trials = ("max_steps = 8\ntrials = 3\nhints.", "max_steps = 4\ntrials = 2\nhints.")
    levels = ('hints.levels = ["concrete", "insights"]', 'hints.levels = ["concrete"]')
    file = smaller(tmp_path, "miniwob-knowledge", (THREE, TWO), trials, levels)
    with own_model(tmp_path):
        found = tables(file)
    assert [row["ours"] for row in found["table-4"]] == [100, 100, 100]
    same, site, *others = found["figure-1"]
    # Of two tasks one is solved in one trial of two without its own hint.
    assert same["ours"] == pytest.approx(100 / 2 / 2)
    assert site["ours"] == 0
    assert all("hint-cells has no row with" in str(row["missing_because"]) for row in others)
    assert [row["ours"] for row in found["figure-4"]] == [0, 0, None, None]
    what = {row["what"]: row for row in found["deviations"]}
    assert "entries of web knowledge" in what
    conditions = what["conditions of hints"]
    assert conditions["paper"] == "12"
    assert str(conditions["ours"]).startswith("2, without: ")
    assert {row["paper"] for row in found["deviations"] if row["what"] == "trials of a task"} == {
        "3"
    }
    told = what["web knowledge cut to a budget"]["ours"]
    assert told == "2 of 4 entries, within 120 tokens"
    assert KnowledgeSet.objects.count() == 2
