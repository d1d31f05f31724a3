"""Ended runs of which no worker was told get their evaluations all the same."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from judging.evaluating import tasks
from judging.evaluating.tasks import evaluate_missing_runs, is_walk_due
from judging.evaluators.matching.pipeline import NAMES
from judging.models import Evaluation, EvaluationPatrol, EvaluatorVersion
from runs.models import Run, RunStatus
from tests.faults.findings import Findings
from tests.judging.analysis import audited
from tests.runs.factories import make_user

pytestmark = pytest.mark.django_db

EXACT = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}


def lost(age: timedelta = timedelta(hours=1), **fields: Any) -> Run:
    """A run made so long ago of whose end nobody heard."""
    made_at = timezone.now() - age
    with patch("django.utils.timezone.now", lambda: made_at):
        task = audited.task("exact", spec=EXACT)
        return audited.run(task, reward=1.0, final_answer="42", **fields)


def names_of(run: Run) -> set[str]:
    return set(run.evaluations.values_list("evaluator__name", flat=True))


@pytest.mark.slow
@pytest.mark.fault(6, "the end of runs and the messages for their evaluation are never heard of")
def test_what_nobody_was_told_of_is_evaluated_once(
    monkeypatch: pytest.MonkeyPatch, findings: Findings
):
    monkeypatch.setattr(tasks, "AT_A_TIME", 2)
    runs = [lost() for _ in range(5)]
    made = evaluate_missing_runs(limit_s=60)
    for run in runs:
        assert names_of(run) >= {*NAMES, "imported-reward"}
    assert made == Evaluation.objects.count() == 5 * len(names_of(runs[0]))
    assert evaluate_missing_runs(limit_s=60) == 0
    findings.times, findings.kept = len(runs), made
    findings.check()


@pytest.mark.parametrize(
    "run",
    [
        {"age": timedelta(minutes=1)},
        {"ended_at": timedelta(minutes=1)},
        {"age": timedelta(days=30)},
        {"status": RunStatus.RUNNING},
    ],
    ids=["just imported", "just ended", "long ago", "under way"],
)
def test_others_are_left_alone(run: dict[str, Any]):
    if "ended_at" in run:
        run = {"ended_at": timezone.now() - run["ended_at"]}
    lost(**run)
    assert evaluate_missing_runs(limit_s=60) == 0


def test_what_waited_or_ran_for_weeks_is_looked_at_as_well(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "AT_A_TIME", 1)
    weeks, now = timedelta(days=30), timezone.now()
    own = {"created_by": make_user("engineer"), "ended_at": now - timedelta(hours=1)}
    ours, nobodys, new = lost(weeks, **own), lost(weeks, ended_at=own["ended_at"]), lost()
    lost(weeks, ended_at=now - timedelta(days=20))
    made = evaluate_missing_runs(limit_s=60)
    assert names_of(ours) == names_of(nobodys) == names_of(new)
    assert made == Evaluation.objects.count() == 3 * len(names_of(new))


def test_runs_that_ended_late_are_found_by_when_they_ended():
    user, long_ago = make_user("engineer"), timezone.now() - timedelta(days=30)
    task = audited.task("exact", spec=EXACT)
    for somebody in (user, None) * 150:
        audited.run(task, created_by=somebody, ended_at=long_ago)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # So few rows it would rather read all.
            cursor.execute("ANALYZE runs_run")
            cursor.execute("SET LOCAL enable_seqscan = off")
    late = tasks.ended_late(timezone.now() - timedelta(days=7), timezone.now())
    plan = late.order_by("came", "pk")[:100].explain()
    assert set(re.findall(r"\brun_\w+", plan)) == {"run_ended_of"}


def test_only_what_is_missing_is_made():
    run = lost()
    evaluate_missing_runs(limit_s=60)
    gone = Evaluation.objects.filter(evaluator__kind=EvaluatorVersion.Kind.MATCHER)
    kept = set(Evaluation.objects.exclude(pk__in=gone).values_list("pk", flat=True))
    missing = gone.delete()[0]
    assert missing == len(NAMES)
    assert evaluate_missing_runs(limit_s=60) == missing
    assert kept < set(run.evaluations.values_list("pk", flat=True))


def test_a_walk_goes_on_where_it_stopped_and_the_next_comes_later(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(tasks, "ask_for", asked.append)
    monkeypatch.setattr(tasks, "AT_A_TIME", 1)
    # The same moment: the second is told from the first by its id.
    moment = timezone.now()
    with patch("tests.judging.evaluating.test_overlooked.timezone.now", lambda: moment):
        first, second = sorted((lost(), lost()), key=lambda run: run.pk.hex)
    tasks.ask_for_overlooked()
    ticks = iter((0.0, 0.0, 2.0, 2.0))
    clock = SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr(tasks, "time", clock)  # nobody else's
    evaluate_missing_runs(limit_s=1)
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "ask_for", asked.append)
    assert (bool(names_of(first)), names_of(second)) == (True, set())
    tasks.ask_for_overlooked()
    tasks.evaluate_overlooked()
    assert names_of(second) == names_of(first)
    tasks.ask_for_overlooked()
    assert asked == [tasks.EVALUATE_OVERLOOKED] * 2
    EvaluationPatrol.objects.update(begun_at=timezone.now() - tasks.AGAIN_AFTER)
    assert is_walk_due()


@pytest.mark.slow
def test_queries_do_not_grow_with_the_runs(django_assert_max_num_queries: Any):
    for _ in range(3):
        lost()
    evaluate_missing_runs(limit_s=60)
    with CaptureQueriesContext(connection) as few:
        evaluate_missing_runs(limit_s=60)
    for _ in range(20):
        lost()
    evaluate_missing_runs(limit_s=60)
    # Only milestones look at each run by itself.
    with django_assert_max_num_queries(len(few) + 2 * 20):
        assert evaluate_missing_runs(limit_s=60) == 0
