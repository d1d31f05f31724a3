"""What an audit counts, against counts made by hand."""

import pytest

from judging.analysis.audits.figures import BY_KEY, Measured, measured
from judging.analysis.audits.matrices import NO_REASON, NOT_EVALUATED, Audit
from judging.analysis.audits.population import Group, Population, Shown, items_in, items_in_cells
from judging.analysis.audits.views import listed_studies
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Interval, Reason, Undefined
from runs.models import Task, TaskSet
from tests.judging.analysis import audited
from tests.runs.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_source_papers_matrix(paper: audited.Audited) -> None:
    [found] = Audit(paper.study).evaluators
    assert found.matrix == ConfusionMatrix(tp=23, fn=16, tn=36, fp=0)
    fn_share = Measured(found, BY_KEY["fn_share"])
    assert fn_share.value == pytest.approx(16 / 75)
    assert isinstance(fn_share.interval, Interval)
    assert (fn_share.interval.low, fn_share.interval.high) == pytest.approx(
        (0.136, 0.319), abs=5e-4
    )


def test_fifth_cell_and_its_reasons(mixed: audited.Audited) -> None:
    first, second = Audit(mixed.study).evaluators
    assert first.matrix == ConfusionMatrix(
        tp=4, fn=3, tn=2, fp=1, no_verdict_on_success=3, no_verdict_on_failure=2
    )
    assert first.reasons == [("needs a judge", 3), (NOT_EVALUATED, 2)]
    assert second.matrix == ConfusionMatrix(
        tp=0, fn=2, tn=0, fp=0, no_verdict_on_success=8, no_verdict_on_failure=5
    )
    assert second.matrix.runs == first.matrix.runs == 15


def test_reasons_are_those_of_runs_without_a_verdict() -> None:
    """An import may give a reason beside a verdict, and none where there is no verdict."""
    world, judge = audited.study(), audited.evaluator()
    for verdict, reason in (
        ("passed", "easy"),
        ("error", ""),
        ("error", "no answer"),
        ("not_applicable", ""),
    ):
        item = world.add("success")
        audited.evaluation(item.run, judge, "error", reason="before", is_current=False)
        audited.evaluation(item.run, judge, verdict, reason=reason)
    [found] = Audit(world.study).evaluators
    assert found.reasons == [(NO_REASON, 2), ("no answer", 1)]


def test_population_tells_who_is_left_out(mixed: audited.Audited) -> None:
    population = Population(mixed.study)
    assert population.groups == {
        Group.COUNTED: 15,
        Group.NOT_EXECUTABLE: 1,
        Group.INFEASIBLE: 1,
        Group.UNSETTLED: 1,
    }
    assert (population.references.successes, population.references.failures) == (10, 5)
    for group, n in population.groups.items():
        assert items_in(mixed.study, group).count() == n


def test_a_run_of_a_task_that_a_later_version_calls_infeasible_is_left_out(
    mixed: audited.Audited,
) -> None:
    task = mixed.study.items.filter(verdict__verdict="success")[0].run.task
    patched = TaskSet.objects.create(name="a set", version="patched", parent=task.task_set)
    Task.objects.create(
        task_set=patched,
        external_id=task.external_id,
        original=task,
        infeasible_reason="no such page",
    )
    n = mixed.study.items.filter(
        run__task=task, verdict__verdict__in=["success", "failure"]
    ).count()
    groups = Population(mixed.study).groups
    assert (groups[Group.COUNTED], groups[Group.INFEASIBLE]) == (15 - n, 1 + n)
    assert [row.counted for row in listed_studies(make_user("engineer"), [mixed.study])] == [15 - n]


@pytest.mark.slow
def test_every_count_is_the_number_of_runs_behind_it(mixed: audited.Audited) -> None:
    for found in Audit(mixed.study).evaluators:
        matrix = found.matrix
        expected = [matrix.tp, matrix.fn, matrix.tn, matrix.fp, matrix.no_verdict]
        listed = [items_in_cells(mixed.study, found.evaluator, [cell]).count() for cell in Shown]
        assert listed == expected
        assert items_in_cells(mixed.study, found.evaluator, list(Shown)).count() == matrix.runs


def test_earlier_evaluations_do_not_count() -> None:
    world = audited.study()
    judge = audited.evaluator()
    item = world.add("success")
    audited.evaluation(item.run, judge, "failed", is_current=False)
    audited.evaluation(item.run, judge, "passed")
    [found] = Audit(world.study).evaluators
    assert found.matrix == ConfusionMatrix(tp=1, fn=0, tn=0, fp=0)


def test_another_studys_verdict_on_the_same_run_does_not_leak_in() -> None:
    ours, theirs = audited.study("ours"), audited.study("theirs")
    run = audited.run()
    theirs.add("failure", of=run)
    ours.add("success", of=run)
    audited.evaluation(run, audited.evaluator(), "passed")
    assert Audit(ours.study).evaluators[0].matrix.tp == 1
    assert Audit(theirs.study).evaluators[0].matrix.fp == 1


def test_figures_that_do_not_exist_say_why() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator(), ["tn", "tn"])
    [found] = Audit(world.study).evaluators
    reasons = {
        key: value.reason
        for key in BY_KEY
        if isinstance(value := Measured(found, BY_KEY[key]).value, Undefined)
    }
    assert reasons == {
        "precision": Reason.NOTHING_PASSED,
        "recall": Reason.NO_SUCCESSES,
        "fnr": Reason.NO_SUCCESSES,
        "f1": Reason.NO_POSITIVES,
        "kappa": Reason.ONE_CLASS,
    }


def test_shared_tasks_give_an_interval_by_task() -> None:
    world = audited.study()
    judge = audited.evaluator()
    for number in range(12):
        run = audited.run(audited.task(f"shared {number // 4}"))
        world.add("success", of=run)
        audited.evaluation(run, judge, "passed" if number < 4 else "failed")
    audit = Audit(world.study)
    assert audit.shares_tasks
    recall = measured(audit, audit.evaluators[0], BY_KEY["recall"])
    assert isinstance(recall.interval, Interval)
    assert isinstance(recall.by_task, Interval)
    # Runs of one task are all alike here, so there are 3 observations, not 12.
    by_task = recall.by_task.high - recall.by_task.low
    assert by_task > 1.5 * (recall.interval.high - recall.interval.low)
