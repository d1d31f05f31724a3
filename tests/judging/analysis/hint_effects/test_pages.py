"""The pages of an experiment of hints: what they count, link and leave out, and for whom."""

import csv
import io
import json
import re
from collections import defaultdict
from statistics import mean

import pytest
from django.test import Client

from judging.analysis.hint_effects.pictures import MAPS
from judging.models import Unblinding
from runs.models import Experiment, Run
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.judging.analysis.hint_effects.made import TRIALS, hint_experiment
from tests.judging.factories import make_study
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]

BASELINE = ["sff", "sff", "fff", "sss", "ssf"]
RESULTS = {
    "concrete.same_task": ["sss", "sss", "sss", "sss", "sse"],
    "concrete.other_site_lowest": ["fff", "sff", "fff", "sff", "ssf"],
    "insights.other_site_lowest": ["sff", "ssf", "fff", "sfs", "ss."],
}


@pytest.fixture
def hints() -> Experiment:
    return hint_experiment(RESULTS, BASELINE)


def reader(name: str = "reader") -> Client:
    client = Client()
    permissions = ("judging.view_audit", "runs.view_run", "runs.view_experiment")
    client.force_login(audited.person(name, *permissions, "runs.view_hint", "runs.view_task"))
    return client


def body(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def shown(client: Client, address: str) -> str:
    """The page, with white space as browsers show it."""
    return re.sub(r"\s+", " ", body(client, address))


def rows(client: Client, experiment: Experiment, name: str) -> list[dict[str, str]]:
    address = made.address("hint_table", experiment.pk, name, "csv")
    return list(csv.DictReader(io.StringIO(body(client, address))))


def test_the_figures_are_those_of_a_computation_from_the_exported_trials(hints: Experiment) -> None:
    client = reader()
    trials: defaultdict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for row in rows(client, hints, "hint-trials"):
        key = (row["level"], row["relatedness"], row["task"])
        trials[key][int(row["trial"])] = row["standing"]

    def won(level: str, relatedness: str, task: str) -> int | None:
        found = trials[level, relatedness, task]
        is_whole = len(found) == TRIALS and set(found.values()) <= {"success", "failure"}
        return list(found.values()).count("success") if is_whole else None

    names = sorted({task for _level, _relatedness, task in trials})
    cells = rows(client, hints, "hint-cells")
    assert len(cells) == len(RESULTS)
    for row in cells:
        pairs = [
            (before, after)
            for task in names
            if (before := won("none", "none", task)) is not None
            and (after := won(row["level"], row["relatedness"], task)) is not None
        ]
        gains = [after - before for before, after in pairs]
        assert int(row["tasks"]) == len(pairs)
        assert float(row["difference"]) == pytest.approx(mean(gains) / TRIALS)
        assert int(row["improvements"]) == sum(gain for gain in gains if gain > 0)
        assert int(row["deteriorations"]) == -sum(gain for gain in gains if gain < 0)
        best = [bool(after) - bool(before) for before, after in pairs]
        assert float(row["best"]) == pytest.approx(mean(best))
    by_key = {f"{row['level']}.{row['relatedness']}": row for row in cells}
    assert by_key["concrete.same_task"]["tasks"] == "4"
    assert by_key["concrete.same_task"]["improvements"] == "7"
    assert by_key["concrete.other_site_lowest"]["deteriorations"] == "3"


def test_every_picture_holds_its_numbers_and_links_every_cell(hints: Experiment) -> None:
    text = body(reader(), made.address("hint_report", hints.pk))

    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) == len(MAPS)
    assert "+58.3" in pictures[0]  # (2 + 2 + 3 + 0) of 4 tasks with 3 trials each
    assert "n = 4" in pictures[0]
    assert "+7" in pictures[2]
    assert "−3" in pictures[3]
    for picture in pictures:
        for key in RESULTS:
            level, relatedness = key.split(".")
            assert made.address("hint_cell", hints.pk, level, relatedness) in picture
    assert "upper bound" in text
    assert "of 3 independent ones, at least one leaves out 0 by chance 14.3 %" in text
    assert "1 ended in an error" in text
    assert "1 no run" in text
    assert not re.search(r"<style|\sstyle=|\son\w+=", text)


def test_a_cell_shows_tasks_that_changed_with_their_runs_side_by_side(hints: Experiment) -> None:
    text = shown(reader(), made.address("hint_cell", hints.pk, "concrete", "other_site_lowest"))

    assert "2 tasks changed" in text
    first = Run.objects.get(
        experiment=hints, task__external_id="made-0", trial=1, agent__model="m "
    )
    second = Run.objects.get(
        experiment=hints,
        task__external_id="made-0",
        trial=1,
        agent__config__hints="concrete.other_site_lowest.Hints",
    )
    assert f"/runs/compare/?a={first.pk}&amp;b={second.pk}" in text
    assert "BM25 1.50" in text
    assert "drawn among 2" in text


def test_missing_and_broken_trials_are_told_with_their_tasks(hints: Experiment) -> None:
    text = shown(reader(), made.address("hint_cell", hints.pk, "insights", "other_site_lowest"))

    assert "Left out (1)" in text
    assert ">2/2</td>" in text
    assert "success → <strong>no run" in text or "→ <strong>no run" in text


def test_an_experiment_without_hints_or_baseline_says_so() -> None:
    plain = made.two_models({"both": 1, "a": 0, "b": 0, "neither": 0})
    assert "No hints were given here" in body(reader(), made.address("hint_report", plain.pk))
    alone = hint_experiment({"concrete.same_task": ["sss"]}, ["..."], name="alone")
    assert "There is no baseline" in body(reader("two"), made.address("hint_report", alone.pk))


def test_hidden_runs_leave_their_tasks_out_and_are_listed_nowhere(hints: Experiment) -> None:
    user = audited.person("blind", "judging.view_audit", "runs.view_run", "runs.view_experiment")
    hidden = Run.objects.filter(experiment=hints, task__external_id="made-0").first()
    assert hidden is not None
    make_study(runs=[hidden], annotators=[user])
    client = client_of(user)

    cells = rows(client, hints, "hint-cells")
    listed = {row["run"] for row in rows(client, hints, "hint-trials")}

    assert [row["tasks"] for row in cells] == ["3", "4", "3"]
    assert not listed & {
        str(pk)
        for pk in Run.objects.filter(task__external_id="made-0").values_list("pk", flat=True)
    }
    # No condition lists the task: a trial missing in one of them would tell who acted.
    for key in RESULTS:
        page = body(client, made.address("hint_cell", hints.pk, *key.split(".")))
        assert str(hidden.pk) not in page
        assert "made-0" not in page
    assert "made-0" not in {row["task"] for row in rows(client, hints, "hint-tasks")}
    assert "1 task that you still judge" in body(client, made.address("hint_report", hints.pk))


def test_of_several_runs_of_a_trial_the_first_counts_and_the_others_are_told() -> None:
    of = hint_experiment({"concrete.same_task": ["sff"]}, ["fff"], name="again")
    failed = Run.objects.get(experiment=of, agent__config__has_key="hints", trial=2)
    again = [made.run_row(of, failed.task, failed.agent, 1.0, trial=trial) for trial in (2, 7)]
    made.store(again)

    (cell,) = rows(reader(), of, "hint-cells")

    assert (cell["improvements"], cell["undecided"]) == ("1", "")
    assert "2 runs outside the planned trials" in body(
        reader("two"), made.address("hint_report", of.pk)
    )


def test_whoever_reads_verdicts_of_people_is_noted(hints: Experiment) -> None:
    client = reader()
    run = Run.objects.filter(experiment=hints, agent__model="m ")[0]
    made.settle(run, "success")
    address = ("hint_cell", hints.pk, "concrete", "same_task")

    body(client, made.address(*address, verdict="reward"))
    assert not Unblinding.objects.exists()
    body(client, made.address(*address, verdict="reference"))

    assert [*Unblinding.objects.values_list("item__run", flat=True)] == [run.pk]


def test_files_and_pictures_can_be_taken_away(hints: Experiment) -> None:
    client = reader()
    table = json.loads(body(client, made.address("hint_table", hints.pk, "hint-tasks", "json")))
    assert len(table["rows"]) == len(RESULTS) * len(BASELINE)
    assert any("an upper bound" in note for note in table["notes"])
    picture = body(client, made.address("hint_picture", hints.pk, "best"))
    assert picture.startswith("<svg")
    assert client.get(made.address("hint_table", hints.pk, "no-such", "csv")).status_code == 404
    assert client.get(made.address("hint_picture", hints.pk, "no-such")).status_code == 404
    assert (
        client.get(made.address("hint_cell", hints.pk, "abstract", "same_task")).status_code == 404
    )
    assert client.get(made.address("hint_cell", hints.pk, "x", "y")).status_code == 404
