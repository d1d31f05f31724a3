"""A study file run to its end in a world without a browser: each part once, whoever stops it."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from judging.models import EvaluationBatch, Replication, ReplicationPart, Study, StudyItem
from judging.replication.work import Work, carry_out_here, go_on
from runs.models import Experiment, Hint, LearningJob, Run
from tests.judging.replication import files
from tests.judging.replication.files import replicate
from tests.runs.knowledge.lever_world import MAX_STEPS, MODEL, inhabited

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("its parts are tested on both"),
]
ARMS = f"""
[tasks.levers]
set = "levers"
ids = ["levers.rowan", "levers.birch", "levers.geese", "levers.amber", "levers.coral"]
paper = {{ set = "WebArena", count = 164 }}
[trials]
count = 2
seeds = "0-1"
[arms.plain]
agent = "generic"
model = "{MODEL}"
max_steps = {MAX_STEPS}
paper = {{ agent = "GenericAgent", model = "gpt-oss-120b", max_steps = 30, trials = 3 }}
[arms.stopped]
agent = "generic"
model = "{MODEL}"
max_steps = {MAX_STEPS}
policy.recovery = {{ on_loop = "stop", loop_shortest = 2, loop_longest = 4 }}
paper.detector = {{ loop_shortest = 15, loop_longest = 25, compare = "actions" }}
[arms.hinted]
agent = "generic"
model = "{MODEL}"
max_steps = {MAX_STEPS}
hints.source = "tips"
hints.levels = ["concrete"]
hints.relatednesses = ["same_task", "other_site_lowest"]
paper.levels = ["concrete", "insights"]
paper.relatednesses = ["same_task", "same_site_lowest", "other_site_lowest"]
[learning.tips]
kind = "hints"
arms = ["plain"]
model = "{MODEL}"
[judging.people]
arms = ["plain", "stopped"]
sample = 6
seed = 11
guidelines = "Look at the lever."
evaluators = [{{ name = "imported-reward" }}]
"""
TABLES = """
[[tables]]
key = "accuracy"
title = "Accuracy"
place = "Table 4"
report = "configurations"
columns = [{ key = "accuracy", column = "value", unit = "percent" }, { key = "n" }]
[[tables.rows]]
name = "Vanilla"
arm = "plain"
published = { accuracy = { value = 42.1, se = 3.2 }, n = 235 }
[[tables.rows]]
name = "Stopped"
arm = "stopped"
published = { accuracy = 47.2 }
[[tables]]
key = "both"
title = "What each solves"
place = "Table 5"
report = "comparison"
arm = "plain"
versus = "stopped"
columns = [{ key = "n", name = "tasks" }]
rows = [
  { name = "both", select = { figure = "both" }, published = { n = 135 } },
  { name = "only the first", select = { figure = "only_first" }, published = { n = 39 } },
]
[[tables]]
key = "hints"
title = "Heat map"
place = "Figure 1"
report = "hint-cells"
arm = "hinted"
select.relatedness = "same_task"
columns = [
  { key = "same", column = "difference", unit = "percent" },
  { key = "best", unit = "percent" },
]
select.level = "concrete"
rows = [{ name = "concrete", published = { same = 10.3, best = 0 } }]
[[tables]]
key = "reward"
title = "The reward"
place = "Table 9"
report = "figures"
judging = "people"
select = { evaluator = "imported-reward", figure = "coverage" }
columns = [{ key = "value" }]
rows = [{ name = "reward", published = { value = 1 } }]
"""
LEVERS = files.text(ARMS, TABLES, name="levers")
FEWER = LEVERS.replace('"levers.birch", "levers.geese", "levers.amber", ', "")
"""With two tasks of the five: 20 runs, of which 8 may be judged."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("levers")) as stub:
        yield stub


@pytest.fixture
def file(tmp_path: Path, world: object) -> Path:
    path = tmp_path / "levers.toml"
    path.write_text(LEVERS)
    return path


def counted() -> dict[str, int]:
    """How many rows of everything that a replication makes there are."""
    models = (Run, Experiment, Study, StudyItem, LearningJob, Hint, EvaluationBatch)
    return {model.__name__: model.objects.count() for model in (*models, ReplicationPart)}


def test_one_command_does_everything_once_and_reports(file: Path) -> None:
    plan = replicate(file)
    assert "5 tasks × 1 configurations × 2 trials" in plan
    assert "waits for what is learned: tips" in plan
    assert not Run.objects.exists()

    report = replicate(file, "--run")
    _holds_what_the_world_gives(report)
    _is_done_again_and_doubles_nothing(file)
    _draws_the_same_sample_again(file)


def _holds_what_the_world_gives(report: str) -> None:
    # 5 tasks, 2 trials: plain, stopped; a baseline and two conditions of hints.
    assert Run.objects.count() == 10 + 10 + 30
    assert counted()["StudyItem"] == 6
    assert "waits for" not in report
    facts = files.facts_of(LEVERS)
    first, n, second = files.rows_of(facts, "accuracy")
    plain = Run.objects.filter(experiment__name="levers: plain")
    won = plain.filter(reward__gt=0).count()
    assert (first["ours"], n["ours"]) == (100 * won / 10, 10)
    assert 0 < won < 10
    assert first["difference"] == pytest.approx(10 * won - 42.1)
    assert second["ours"] is not None
    both, only_first = files.rows_of(facts, "both")
    assert both["ours"] == won
    assert only_first["ours"] == 0
    cell, best = files.rows_of(facts, "hints")
    # Each task gains the trial without luck, and all alike have no spread.
    assert (cell["ours"], cell["ours_low"], cell["difference"]) == (50, None, pytest.approx(39.7))
    # The best trial is the lucky one, which succeeds without hints too.
    assert (best["ours"], best["missing_because"]) == (0, None)
    (reward,) = files.rows_of(facts, "reward")
    assert reward["missing_because"] == "the evaluator gave no verdict" or reward["ours"] is None

    found = {(row["what"], row["paper"], row["ours"]) for row in files.rows_of(facts, "deviations")}
    assert ("model", "gpt-oss-120b", MODEL) in found
    assert ("a stub of fixed rules answers, no model", "", MODEL) in found
    assert ("most steps of a run", "30", str(MAX_STEPS)) in found
    assert ("trials of a task", "3", "2") in found
    assert ("number of tasks", "164", "5") in found
    conditions = "2, without: general insights, same site, lowest BM25"
    assert ("conditions of hints", "6", conditions) in found
    assert ("detector: loop_shortest", "15", "2") in found
    assert not [each for each in found if each[0] == "detector: compare"]
    assert [each for each in found if each[0] == "wording of prompts"]
    assert ("runs without a reference verdict", "", "6") in found


def _is_done_again_and_doubles_nothing(file: Path) -> None:
    before, report = counted(), replicate(file, "--report")
    replicate(file, "--run")
    replicate(file, "--resume")
    assert counted() == before
    assert replicate(file, "--report") == report
    assert Replication.objects.get().ended_at is not None


def _draws_the_same_sample_again(file: Path) -> None:
    def drawn() -> list[tuple[str, int]]:
        items = StudyItem.objects.order_by("position")
        return list(items.values_list("run__task__external_id", "run__trial"))

    first = drawn()
    StudyItem.objects.all().delete()
    Study.objects.all().delete()
    replicate(file, "--run")
    assert drawn() == first


def test_what_is_stopped_after_any_part_goes_on_there(file: Path) -> None:
    """Stops after ever more changes, before and between parts and in the middle of each."""
    file.write_text(FEWER)
    work = Work(files.taken_up(FEWER), folder=file.parent, is_told=True)
    for stop_after in range(1, 16, 3):
        seen: list[int] = []

        def should_stop(seen: list[int] = seen, stop_after: int = stop_after) -> bool:
            return len(seen) >= stop_after

        carry_out_here(work, should_stop=should_stop, on_change=lambda seen=seen: seen.append(1))  # type: ignore[misc]
    replicate(file, "--resume")
    assert counted()["Run"] == 20
    assert counted()["StudyItem"] == 6
    assert counted()["ReplicationPart"] == 5


def test_a_part_that_cannot_be_done_says_why_and_rests(file: Path) -> None:
    content = LEVERS.replace("seed = 11", 'seed = 11\nannotators = ["nobody"]')
    replication = files.taken_up(content)
    work = Work(replication, folder=file.parent, is_told=True)
    with pytest.raises(ValueError, match="account not found: nobody"):
        carry_out_here(work, should_stop=lambda: False, on_change=lambda: None)
    assert not Study.objects.exists()
    go_on(replication)
    replication.refresh_from_db()
    assert "account not found: nobody" in replication.problem


def test_resume_takes_something_to_resume(file: Path) -> None:
    with pytest.raises(CommandError, match="never started: give --run"):
        replicate(file, "--resume")


def test_files_that_are_missing_are_named(file: Path) -> None:
    file.write_text(LEVERS.replace("format =", 'runs = ["x.zip"]\nformat =', 1))
    with pytest.raises(CommandError, match=r"levers.toml, x.zip: not found"):
        replicate(file, "--run")
    assert not Run.objects.exists()
