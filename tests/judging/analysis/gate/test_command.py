"""`regression_gate` over stored experiments: its figures, formats and exit codes."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from judging.analysis.gate.report import SCHEMA
from judging.models import Evaluation
from runs.models import Run, RunStatus
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent, make_task

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]
TASKS = 20


def experiment(name: str, rewards: Sequence[Sequence[float | None]]) -> list[Run]:
    """Its runs, task by task; those without a reward ended in an error."""
    of, who = made.experiment(name), make_agent()
    tasks = made.tasks(len(rewards))
    return made.store(
        made.run_row(
            of,
            task,
            who,
            reward,
            trial=trial,
            outcome=Run.Outcome.UNKNOWN if reward is not None else Run.Outcome.ERROR,
        )
        for task, trials in zip(tasks, rewards, strict=True)
        for trial, reward in enumerate(trials, 1)
    )


@pytest.fixture
def planted() -> None:
    """All tasks solved in both trials; the candidate loses 8 of 20 tasks, one of them to errors."""
    experiment("before", [[1.0, 1.0]] * TASKS)
    experiment("after", [[0.0, 0.0]] * 7 + [[1.0, 1.0]] * 12 + [[None, None]])


def gate(*more: str, **options: Any) -> tuple[int, str, str]:
    """Exit code, output, and what stands on the error stream."""
    out = io.StringIO()
    given = {"metric": "success", "max_drop": "5", **options}
    arguments = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
    try:
        call_command(
            "regression_gate", "--baseline=before", "--candidate=after", *arguments, *more,
            stdout=out,
        )  # fmt: skip
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def test_text_fails_with_figures_interval_and_worst_tasks(planted: None) -> None:
    code, text, said = gate()
    assert code == 1
    assert "FAILED: the drop is larger than allowed, and more than noise" in text
    assert "success 100.0 % -> 63.2 %, a drop of 36.8 points (95 % interval 13.0 to 60.7)" in text
    assert "made-0: 100.0 % of 2 -> 0.0 % of 2" in text
    assert "Not compared:" in text
    assert "made-19: candidate 2 ended in an error" in text
    assert said == text.splitlines()[5]


def test_json_has_its_stable_members(planted: None) -> None:
    code, text, _ = gate(format="json")
    told = json.loads(text)
    assert code == 1
    assert (told["schema"], told["failed"], told["finding"]) == (SCHEMA, True, "regression")
    assert set(told) == {
        *("schema", "failed", "finding", "verdict", "metric", "k", "source", "rule", "baseline"),
        *("candidate", "drop", "interval", "cannot_rule_out_max_drop", "tasks_compared"),
        *("tasks_not_compared", "tasks_incomplete", "tasks"),
    }
    compared = [task for task in told["tasks"] if task["drop"] is not None]
    assert told["drop"] == pytest.approx(sum(t["drop"] for t in compared) / len(compared))
    assert told["drop"] == pytest.approx(7 / 19)
    last = told["tasks"][-1]
    assert last["task"] == "made-19"
    assert last["candidate"] == {
        "score": None,
        "values": [],
        "without_value": {"ended in an error": 2},
        "missing": 0,
        "partial": 0,
    }


def test_junit_has_a_case_a_task_and_one_for_the_whole(planted: None) -> None:
    odd = make_task("odd \x01 & <task>")
    agent = make_agent()
    made.store(made.run_row(made.experiment(name), odd, agent, 1.0) for name in ("before", "after"))
    code, text, _ = gate(format="junit")
    assert code == 1
    root = ElementTree.fromstring(text)  # noqa: S314 - our own writing
    [suite] = root
    cases = suite.findall("testcase")
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert len(cases) == TASKS + 2 == int(suite.attrib["tests"])
    assert all({"classname", "name", "time"} <= case.attrib.keys() for case in cases)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == 1 + 7
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) == 1
    assert cases[0].attrib["name"] == "no regression"
    assert "a drop of 35.0 points" in cases[0].find("failure").attrib["message"]  # type: ignore[union-attr]  # it failed
    assert "odd \ufffd & <task>" in {case.attrib["name"] for case in cases}


def test_noise_passes_in_every_format_and_says_so() -> None:
    experiment("before", [[1.0]] * TASKS)
    experiment("after", [[0.0]] * 2 + [[1.0]] * 18)
    code, text, _ = gate()
    assert code == 0
    assert "PASSED: the drop is larger than allowed, but within noise" in text
    assert "is not ruled out" in text
    junit = ElementTree.fromstring(gate(format="junit")[1])  # noqa: S314 - our own writing
    assert (junit.attrib["failures"], junit.findall(".//failure")) == ("0", [])
    assert json.loads(gate(format="json")[1])["finding"] == "within_noise"
    assert gate("--strict")[0] == 1


def test_pass_at_k_forgives_single_failures() -> None:
    experiment("before", [[1.0, 1.0]] * TASKS)
    experiment("after", [[1.0, 0.0]] * TASKS)
    assert gate()[0] == 1
    code, text, _ = gate(metric="pass_at_k", k=2)
    assert code == 0
    assert "pass@2 100.0 % -> 100.0 %" in text


def test_progress_is_the_milestones_score() -> None:
    by = audited.evaluator("milestones-mechanical")
    for name, score in (("before", 0.8), ("after", 0.4)):
        for run in experiment(name, [[0.0]] * 6):
            rates = {"maximum": 100 * score, "final": 0.0, "by_step": [100 * score, 0.0]}
            details = {"milestones": [], "progress": rates}
            said = audited.evaluation(run, by, "failed", score=score, details=details)
    Evaluation.objects.filter(pk=said.pk).update(verdict="error", score=None, details={})
    code, text, _ = gate(metric="progress", max_missing=20)
    assert code == 1
    stale = Evaluation.objects.filter(run__experiment__name="before").earliest("created_at")
    assert stale.score == 0.8
    stale.details["milestones_hash"] = "of others"
    stale.save()
    assert "baseline 1 of other milestones" in gate(metric="progress", max_missing=40)[1]
    assert "progress 80.0 % -> 40.0 %, a drop of 40.0 points" in text
    assert "candidate 1 no verdict" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": "evaluator:nobody"}, "there is no evaluator nobody"),
        ({"metric": "progress"}, "there is no evaluator milestones-mechanical"),
        ({"k": "3"}, "--k is for --metric pass_at_k"),
        ({"candidate_agent": "nobody"}, "no configuration nobody"),
        ({"max_missing": "1"}, "cannot be compared, more than --max-missing 1 % allows"),
        ({"out": "/nowhere/report.txt"}, "/nowhere/report.txt cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_two(planted: None, options: dict[str, str], words: str) -> None:
    code, text, said = gate(**options)
    assert (code, text) == (2, "")
    assert words in said
    assert "\n" not in said


def test_unended_runs_and_several_configurations_are_not_compared(planted: None) -> None:
    made.store([made.run_row(made.experiment("after"), made.tasks(1)[0], make_agent("two"), 1.0)])
    code, _, said = gate()
    assert code == 2
    assert "after has several configurations; choose one of: " in said
    together = json.loads(gate(candidate_agent="all", format="json")[1])
    assert len(together["candidate"]["configuration_ids"]) == 2
    [first] = [task for task in together["tasks"] if task["task"] == "made-0"]
    assert sorted(first["candidate"]["values"]) == [0.0, 0.0, 1.0]
    of, [task] = made.experiment("after"), made.tasks(1)
    made.store([made.run_row(of, task, make_agent(), None, status=RunStatus.QUEUED)])
    alone = made.experiment("before").runs.first().agent  # type: ignore[union-attr]  # it has runs
    assert gate(candidate_agent=alone.pk)[2].endswith(
        "1 runs of after · generic · model-a have not ended yet"
    )


def test_what_has_only_begun_is_told_as_such() -> None:
    experiment("before", [[1.0]])
    of, [task] = made.experiment("after"), made.tasks(1)
    made.store([made.run_row(of, task, make_agent(), None, status=RunStatus.QUEUED)])
    code, _, said = gate()
    assert code == 2
    assert said.endswith("have not ended yet")


def test_report_goes_to_a_file(planted: None, tmp_path: Path) -> None:
    code, text, _ = gate(format="junit", out=tmp_path / "gate.xml")
    assert (code, text) == (1, "")
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().tag == "testsuites"  # noqa: S314
