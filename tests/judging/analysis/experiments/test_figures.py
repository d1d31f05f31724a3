"""Figures of configurations: counted by hand, and as papers print them."""

from datetime import timedelta
from decimal import Decimal
from math import comb, sqrt
from typing import Any

import pytest
from django.utils.translation import override

from judging.analysis.experiments.access import source_named
from judging.analysis.experiments.course import detections_of, stopped_early
from judging.analysis.experiments.figures import ExperimentFigures, configuration_names, names_in
from judging.analysis.experiments.outcome_reports import selector_words, trials_of
from judging.analysis.experiments.pairs import By, Cell, Side, pair_up
from judging.analysis.experiments.population import (
    Choice,
    RunResult,
    Source,
    choices_among,
    default_source,
    whole_scope,
)
from judging.models import EvaluatorVersion
from judging.statistics.figures import Interval, Share
from runs.interface.sentences import worded
from runs.models import AgentConfiguration, Event, Run, RunStatus
from runs.operations.health.infrastructure import error_rates
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.runs.factories import START, make_agent, make_task

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


def test_published_accuracies_come_out_with_their_standard_errors() -> None:
    """WorkArena L2: 42.1 ± 3.2 over 235 episodes. L1 has 330, and 195 of them give ± 2.7, which
    is what its other model is printed with; the 2.9 beside 59.1 takes fewer, such as 286.
    """
    agents = {name: make_agent(name) for name in ("l2", "l1", "l1 in 286", "other model")}
    printed = {
        "l2": (99, 235),
        "l1": (195, 330),
        "l1 in 286": (169, 286),
        "other model": (174, 330),
    }
    of, tasks = made.experiment(), made.tasks(330)
    made.store(
        made.run_row(of, task, agents[name], float(number < won))
        for name, (won, runs) in printed.items()
        for number, task in enumerate(tasks[:runs])
    )
    found = {
        each.agent.name: each
        for each in ExperimentFigures(whole_scope(of), Source()).configurations
    }
    words = {
        name: f"{100 * each.naive.value:.1f} ± {100 * each.naive.standard_error:.1f}"  # type: ignore[operator]  # both are numbers here
        for name, each in found.items()
    }
    assert words == {
        "l2": "42.1 ± 3.2",
        "l1": "59.1 ± 2.7",
        "l1 in 286": "59.1 ± 2.9",
        "other model": "52.7 ± 2.7",
    }


@pytest.mark.parametrize(
    "source",
    [Source(), Source(is_reference=True), Source(EvaluatorVersion(name="strict", version="1"))],
)
def test_what_a_source_says_of_itself_is_told_to_every_reader(source: Source) -> None:
    with override("en"):
        written = source.name, source.rule
    with override("ja"):
        told = source.name, source.rule
        assert told == tuple(map(worded, written))
    assert not {*told} & {*written}


def test_published_complementarity() -> None:
    of = made.two_models({"both": 135, "b": 39, "a": 60, "neither": 96})
    scope = whole_scope(of)
    first, second = (make_agent("generic", name) for name in ("gpt-5-mini", "claude-3.7-sonnet"))
    pairing = pair_up(Side(scope=scope, agent=first), Side(scope=scope, agent=second), Source())
    assert pairing.by is By.SEED
    assert pairing.counts == {
        Cell.BOTH: 135,
        Cell.ONLY_SECOND: 39,
        Cell.ONLY_FIRST: 60,
        Cell.NEITHER: 96,
    }
    assert (pairing.union.count, pairing.union.total) == (234, 330)
    assert pairing.test.p_value == pytest.approx(2 * sum(comb(99, k) for k in range(40)) / 2**99)
    assert not [*pairing.only_in_first, *pairing.only_in_second]


def test_five_trials_of_which_two_succeed() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    agent = make_agent()
    made.store(made.run_row(of, task, agent, r, trial=n) for n, r in enumerate([1, 1, 0, 0, 0]))
    scope = whole_scope(of)
    [found] = trials_of(ExperimentFigures(scope, Source()), None)
    at_two = found.rows[1]
    assert at_two.k == 2
    assert at_two.pass_at.value == pytest.approx(0.7)
    assert at_two.pass_hat.value == pytest.approx(0.1)
    assert (at_two.pass_at.tasks, at_two.pass_at.left_out) == (1, 0)
    assert len(found.rows) == 5


def test_a_perfect_selector_makes_best_of_k_pass_at_k_and_a_useless_one_the_mean() -> None:
    of, tasks = made.experiment(), made.tasks(3)
    agent = make_agent()
    rewards = [[1, 1, 0, 0, 0], [0, 0, 0], [1, 0, 0, 0]]
    runs = made.store(
        made.run_row(of, task, agent, reward, trial=n)
        for task, of_task in zip(tasks, rewards, strict=True)
        for n, reward in enumerate(of_task)
    )
    perfect, useless = audited.evaluator("perfect"), audited.evaluator("useless")
    for run in runs:
        audited.evaluation(run, perfect, "passed" if run.reward else "failed")
        audited.evaluation(run, useless, "passed")
    scope = whole_scope(of)
    figures = ExperimentFigures(scope, Source())
    [by_perfect] = trials_of(figures, Source(perfect))
    [by_useless] = trials_of(figures, Source(useless))
    for perfect_row, useless_row in zip(by_perfect.rows, by_useless.rows, strict=True):
        assert perfect_row.best is not None
        assert useless_row.best is not None
        assert perfect_row.best.value == pytest.approx(perfect_row.pass_at.value)
        enough = [t for t in rewards if len(t) >= perfect_row.k]
        mean = sum(sum(t) / len(t) for t in enough) / len(enough)
        assert useless_row.best.value == pytest.approx(mean)
        assert perfect_row.pass_at.left_out == 3 - len(enough)


def test_a_selector_that_breaks_off_leaves_runs_as_they_are_and_is_told() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    agent = make_agent()
    runs = made.store(
        made.run_row(of, task, agent, won, trial=n) for n, won in enumerate([1, 1, 0])
    )
    erring = audited.evaluator("erring")
    for run, verdict in zip(runs, ["error", "passed", "failed"], strict=True):
        audited.evaluation(run, erring, verdict)
    scope = whole_scope(of)
    [found] = trials_of(ExperimentFigures(scope, Source()), Source(erring))
    best = [row.best.value for row in found.rows if row.best]
    assert best == pytest.approx([2 / 3, 5 / 6, 1.0])
    assert found.coverage == Share(2, 3)
    assert "2 of 3 runs" in selector_words(Source(erring), [found])


def test_what_is_left_out_and_why() -> None:
    of, tasks = made.experiment(), made.tasks(9)
    odd = make_task("odd", infeasible_reason="no such product")
    agent = make_agent()
    runs = [
        made.run_row(of, tasks[0], agent, 1.0),
        made.run_row(of, tasks[1], agent, 0.0),
        made.run_row(of, tasks[2], agent, None),
        made.run_row(of, tasks[3], agent, 0.0, outcome=Run.Outcome.ERROR),
        made.run_row(of, tasks[4], agent, 0.0, outcome=Run.Outcome.INCOMPLETE),
        made.run_row(of, odd, agent, 1.0),
        made.run_row(of, tasks[5], agent, None, status=RunStatus.QUEUED),
        made.run_row(of, tasks[6], agent, 1.0, superseded=True),
        made.run_row(of, tasks[7], agent, 0.0, outcome=Run.Outcome.NOT_EXECUTABLE),
        made.run_row(of, tasks[8], agent, 1.0),
    ]
    made.store(runs)
    made.settle(runs[-1], "not_executable")
    [found] = ExperimentFigures(whole_scope(of), Source()).configurations
    assert found.standings == {
        RunResult.SUCCESS: 1,
        RunResult.FAILURE: 1,
        RunResult.NONE: 1,
        RunResult.ERROR: 1,
        RunResult.INCOMPLETE: 1,
        RunResult.INFEASIBLE: 1,
        RunResult.WAITING: 1,
        RunResult.SUPERSEDED: 1,
        RunResult.NOT_EXECUTABLE: 2,
    }
    assert (found.accuracy.count, found.accuracy.total) == (1, 2)


def test_sources_are_never_mixed() -> None:
    of, tasks = made.experiment(), made.tasks(4)
    agent = make_agent()
    runs = made.store(made.run_row(of, task, agent, 1.0) for task in tasks)
    judge = audited.evaluator("judge")
    audited.evaluation(runs[0], judge, "failed")
    audited.evaluation(runs[1], judge, "passed")
    audited.evaluation(runs[2], judge, "error", reason="no reply")
    made.settle(runs[0], "success")
    scope = whole_scope(of)
    counted = {
        source.key: (found.successes, found.failures, found.undecided)
        for source in (Source(), Source(is_reference=True), Source(judge))
        for found in ExperimentFigures(scope, source).configurations
    }
    assert counted == {
        "reward": (4, 0, 0),
        "reference": (1, 0, 3),
        f"evaluator:{judge.pk}": (1, 1, 2),
    }
    choices = choices_among(scope.counted(Source()))
    assert [(each.source.key, each.verdicts) for each in choices] == [
        ("reward", 4),
        ("reference", 1),
        (f"evaluator:{judge.pk}", 2),
    ]
    assert default_source(choices) == Source()
    unrewarded = [Choice(source=Source(), verdicts=0), *choices[1:]]
    assert default_source(unrewarded) == Source(judge)
    people = Choice(source=Source(is_reference=True), verdicts=8)
    told = [Choice(source=Source(judge), verdicts=10)]
    assert default_source([unrewarded[0], people, *told]) == people.source
    assert default_source([choices[0], people, *told]) == Source()
    assert source_named("evaluator:judge") == source_named(f"evaluator:{judge.pk}") == Source(judge)
    for wrong in ("evaluator:nobody", "evaluator:999", "people", "12"):
        with pytest.raises(ValueError, match="no"):
            source_named(wrong)
    audited.evaluator("judge", version="2")
    with pytest.raises(ValueError, match="several versions"):
        source_named("evaluator:judge")


def test_clustered_error_duration_and_cost() -> None:
    of, tasks = made.experiment(), made.tasks(25)
    agent = make_agent()
    made.store(
        made.run_row(
            of,
            task,
            agent,
            float(number < 10),
            trial=trial,
            cost=Decimal("0.5") if trial == 1 else None,
            seconds=4.0 if trial == 1 else 1.0,
            started_at=START + timedelta(minutes=trial),
            ended_at=START + timedelta(minutes=trial, seconds=30),
        )
        for number, task in enumerate(tasks)
        for trial in (1, 2, 3)
    )
    [found] = ExperimentFigures(whole_scope(of), Source()).configurations
    # Three identical trials of a task say no more than one.
    assert found.naive.standard_error == pytest.approx(sqrt(0.4 * 0.6 / 75))
    assert found.clustered.standard_error == pytest.approx(sqrt(0.4 * 0.6 / 24))
    assert found.clustered.clusters == 25
    assert (found.cost.known, found.cost.runs, found.cost.mean) == (25, 75, 0.5)
    assert found.seconds.mean == pytest.approx(2.0)
    assert found.wall_seconds == 150
    wilson = found.accuracy.interval
    assert isinstance(wilson, Interval)
    assert wilson.low == pytest.approx(0.2966, abs=1e-4)


def test_unknown_cost_is_not_nothing() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    made.store([made.run_row(of, task, make_agent(), 1.0)])
    [found] = ExperimentFigures(whole_scope(of), Source()).configurations
    assert found.cost.mean is None
    assert (found.cost.known, found.cost.runs) == (0, 1)


def test_detections_as_in_the_published_histogram() -> None:
    """Successes 109, 22, 7; failures some, 37, 7, 1: 39.2 % of the detected succeed."""
    of, agent = made.experiment(), make_agent()
    numbers = {1.0: [109, 22, 7], 0.0: [52, 37, 7, 1]}
    tasks = iter(made.tasks(235))
    runs = [
        (made.run_row(of, next(tasks), agent, reward, record=_recovered(times)), times)
        for reward, counts in numbers.items()
        for times, n in enumerate(counts)
        for _ in range(n)
    ]
    made.store(run for run, _ in runs)
    for run, times in runs:
        if times:
            made.mark(run, *[Event.Kind.LOOP] * times, *[Event.Kind.ROLLBACK] * times)
    scope = whole_scope(of)
    [found] = detections_of(ExperimentFigures(scope, Source()))
    assert found.numbers == [(0, 109, 52), (1, 22, 37), (2, 7, 7), (3, 0, 1)]
    assert f"{100 * float(found.among_detected.value):.1f}" == "39.2"  # type: ignore[arg-type]  # a number here
    assert (found.rescued, found.unaided, found.recovered) == (29, 109, 74)
    assert f"{100 * found.rescued / found.configuration.successes:.0f}" == "21"


def test_recoveries_are_read_from_the_record_or_from_the_marks() -> None:
    of, tasks, agent = made.experiment(), made.tasks(4), make_agent()
    runs = made.store(
        made.run_row(of, task, agent, 1.0, record=record)
        for task, record in zip(tasks, (_recovered(1), _recovered(0), {}, {}), strict=True)
    )
    made.mark(runs[0], Event.Kind.LOOP)
    made.mark(runs[1], Event.Kind.LOOP)
    made.mark(runs[2], Event.Kind.FALSE_COMPLETION, Event.Kind.ROLLBACK)
    scope = whole_scope(of)
    [found] = detections_of(ExperimentFigures(scope, Source()))
    assert found.rescued == 2


def _recovered(times: int) -> dict[str, object]:
    return {"extra": {"recovery": {"recoveries": times}}} if times is not None else {}


def test_runs_pair_by_trial_without_shared_seeds_and_unpaired_ones_are_told() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    a, b = make_agent("a"), make_agent("b")
    made.store(
        [
            *(made.run_row(of, task, a, 1.0, trial=n, seed=10 + n) for n in (1, 2, 3)),
            *(made.run_row(of, task, b, 0.0, trial=n, seed=20 + n) for n in (2, 3, 4)),
            made.run_row(of, task, b, 0.0, trial=1, outcome=Run.Outcome.ERROR),
        ]
    )
    first, second = (Side(scope=whole_scope(of), agent=agent) for agent in (a, b))
    pairing = pair_up(first, second, Source())
    assert pairing.by is By.TRIAL
    assert pairing.counts == {Cell.ONLY_FIRST: 2}
    assert [run.trial for run in pairing.only_in_first] == [1]
    assert [run.trial for run in pairing.only_in_second] == [4]
    by_seed = pair_up(first, second, Source(), By.SEED)
    assert not by_seed.pairs
    assert len(by_seed.only_in_first) == len(by_seed.only_in_second) == 3


def test_runs_without_a_seed_pair_with_none_by_seed() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    a, b = make_agent("a"), make_agent("b")
    made.store(made.run_row(of, task, agent, 1.0) for agent in (a, b))
    first, second = (Side(scope=whole_scope(of), agent=agent) for agent in (a, b))
    assert not pair_up(first, second, Source(), By.SEED).pairs
    assert pair_up(first, second, Source()).counts == {Cell.BOTH: 1}


def test_configurations_are_told_apart_by_what_differs() -> None:
    agents: list[dict[str, Any]] = [
        {"name": "librarian", "version": "1", "config": {"style": "plain", "site": "l"}},
        {"name": "librarian", "version": "1", "config": {"style": "careless", "site": "l"}},
        {"name": "oracle", "version": "1"},
        {"name": "generic", "version": "prompts 1", "model": "a"},
        {"name": "generic", "version": "prompts 2", "model": "a"},
        {"name": "wrong", "version": "", "config": {"seed": 1}},
        {"name": "wrong", "version": "", "config": {"seed": 1}},
    ]
    rows = [AgentConfiguration(pk=pk, **fields) for pk, fields in enumerate(agents)]
    names = list(configuration_names(rows).values())
    assert names == [
        "generic prompts 1 · a",
        "generic prompts 2 · a",
        "librarian (style=careless)",
        "librarian (style=plain)",
        "oracle",
        "wrong #5",
        "wrong #6",
    ]


def test_the_usual_settings_come_first_then_those_that_change_one() -> None:
    settings: list[dict[str, Any]] = [
        {"a": 1, "b": 2},
        {"b": 2},
        {},
        {"hints": "abstract.same_task.0"},
    ]
    rows = [
        AgentConfiguration(pk=pk, name="visitor", config=config)
        for pk, config in enumerate(settings)
    ]
    assert list(configuration_names(rows).values()) == [
        "visitor",
        "visitor (b=2)",
        "visitor (hints: abstract procedure, same task)",
        "visitor (a=1, b=2)",
    ]


def test_what_stopping_early_saved_is_told_by_configuration() -> None:
    of, tasks, agent = made.experiment(), made.tasks(4), make_agent()
    stop = {"end_reason": Run.EndReason.HARNESS_LOOP_STOP, "n_steps": 20}
    told = {"extra": {"recovery": {"steps_saved_at_most": 30, "replayed_steps": 0}}}
    made.store(
        [
            made.run_row(of, tasks[0], agent, 0.0, record=told, cost=Decimal("0.10"), **stop),
            made.run_row(of, tasks[1], agent, 0.0, record=told, **stop),  # of unknown price
            made.run_row(of, tasks[2], agent, 0.0, record=told, superseded=True, **stop),
            made.run_row(of, tasks[3], agent, 1.0),
        ]
    )
    scope = whole_scope(of)
    [found] = stopped_early(ExperimentFigures(scope, Source())).values()
    assert (found.runs, found.saved.steps) == (2, 60)
    assert found.saved.dollars == Decimal("0.15")
    # On the page beside the anomalies that led to it.
    made.mark(Run.objects.get(task=tasks[0]), Event.Kind.LOOP)
    page = made.reader().get(made.address("experiment_part", of.pk, "recovery", verdict="reward"))
    assert "60 steps, about $0.1500" in page.content.decode()


def test_errors_of_the_infrastructure_are_told_by_the_pages_names_of_configurations() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    few = make_agent("generic", model="m", config={"examples": 0})
    many = make_agent("generic", model="m", config={"examples": 5})
    made.store(
        made.run_row(
            *(of, task, agent, None),
            trial=n,
            source_format="crosscheck-agent",
            status=RunStatus.FAILED,
            outcome=Run.Outcome.ERROR,
            fault=Run.Fault.HTTP_5XX,
        )
        for n, agent in enumerate([few, many, many])
    )
    scope = whole_scope(of)
    rates = error_rates(scope.visible, names_in(scope)).by_agent
    assert sorted(rate.attempts for rate in rates) == [1, 2]
    assert {rate.name for rate in rates} == set(names_in(scope).values())
