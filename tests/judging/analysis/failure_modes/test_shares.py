"""Shares of failure modes: counted by hand, and the same in the database's lists."""

import random
from typing import Any

import pytest

from judging.analysis.failure_modes.services import (
    Statement,
    confirm_proposals,
    review_runs,
    undo_reviews,
)
from judging.analysis.failure_modes.shares import (
    ModeFigures,
    RunModes,
    confirmed,
    count,
    modes_of_runs,
)
from judging.analysis.failure_modes.sources import (
    NONE,
    UNKNOWN,
    ModeSource,
    mode_words,
    showing,
    side_key,
    unexamined,
)
from judging.models import FailureReview
from judging.statistics.figures import Interval, Reason, Undefined
from runs.models import Run
from tests.judging.analysis import audited
from webagent.trajectory.verdict_records import OF_THE_AGENT, Mode, Side

PLAN, MISREAD, LIMIT = Mode.PLAN_ERROR, Mode.MISREAD_OBSERVATION, Mode.MAX_STEPS
ENVIRONMENT = Mode.ENVIRONMENT


def told(
    rules: set[Mode] | None = None,
    judge: set[Mode] | None = None,
    people: set[Mode] | None = None,
    **more: object,
) -> RunModes:
    words = (None if each is None else frozenset(each) for each in (rules, judge, people))
    return RunModes(1, bool(more.pop("is_error", False)), *words, **more)  # type: ignore[arg-type]


RUNS = [
    told({LIMIT}, {PLAN}, judge_side="reasoning"),
    told({LIMIT}, {PLAN}, {MISREAD}, judge_side="reasoning", people_side="operation"),
    told(set(), set()),
    told(set(), {ENVIRONMENT}),
    told({LIMIT}, None, {ENVIRONMENT}),
    told({LIMIT}, None, set()),
    told(),
    told({ENVIRONMENT}, is_error=True),
    told(set(), is_error=True),
]


def figures(by: ModeSource) -> ModeFigures:
    return count(RUNS, by)[1]


def test_peoples_word_counts_before_what_is_proposed() -> None:
    known = figures(ModeSource.KNOWN)
    assert (known.failures, known.examined, known.unknown) == (7, 6, 1)
    assert (known.environment, known.errors, known.agents) == (2, 1, 4)
    assert known.modes == {LIMIT: 1, PLAN: 1, MISREAD: 1}
    assert known.none == 2
    assert known.sides == {Side.REASONING: 1, Side.OPERATION: 1}


def test_sources_are_kept_apart() -> None:
    rules, judge, people = (
        figures(by) for by in (ModeSource.MECHANICAL, ModeSource.JUDGE, ModeSource.PEOPLE)
    )
    assert (rules.examined, rules.modes, rules.sides) == (6, {LIMIT: 4}, {})
    assert (judge.examined, judge.environment, judge.modes) == (4, 1, {PLAN: 2})
    assert (people.examined, people.environment, people.none) == (3, 1, 1)


def test_environment_is_never_the_agents() -> None:
    known = figures(ModeSource.KNOWN)
    for mode in OF_THE_AGENT:
        assert known.share(mode).total == known.agents == known.failures - 1 - 2
    spoiled = known.share(ENVIRONMENT)
    assert (spoiled.count, spoiled.total) == (2 + 1, 6 + 1)
    interval = known.share(PLAN).interval
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx((0.0456, 0.6994), abs=1e-4)  # Wilson, 1/4
    assert isinstance(ModeFigures(ModeSource.KNOWN).share(PLAN).value, Undefined)


def test_only_who_can_find_a_mode_says_that_it_is_not_there() -> None:
    rules, judge = figures(ModeSource.MECHANICAL), figures(ModeSource.JUDGE)
    assert rules.share(LIMIT).total == rules.agents == 6
    for nobody in (rules.share(PLAN), rules.share(MISREAD), rules.without_mode, judge.share(LIMIT)):
        assert nobody.value == nobody.interval == Undefined(Reason.NOBODY_LOOKED)
    assert [judge.share(PLAN).total, judge.without_mode.total] == [3, 3]
    known = count([*RUNS, told({LIMIT}), told(set())], ModeSource.KNOWN)[1]
    shares = known.share(LIMIT), known.share(PLAN), known.without_mode
    assert [(each.count, each.total) for each in shares] == [(2, 6), (1, 4), (2, 4)]


def failed(**fields: Any) -> Run:
    return audited.run(outcome="failure", **fields)


def proposes(of: Run, name: str, modes: set[Mode] | None, side: str = "") -> None:
    by = audited.evaluator(name, kind="modes")
    verdict = "error" if modes is None else "not_applicable"
    details = {} if modes is None else {"failure_modes": {m.value: {} for m in modes}, "side": side}
    audited.evaluation(of, by, verdict, details=details)


@pytest.mark.slow
@pytest.mark.django_db
def test_lists_hold_just_the_runs_that_are_counted() -> None:
    dice = random.Random(5)
    user = audited.person("engineer")
    for _ in range(60):
        run = failed()
        for name in ("failure-modes-mechanical", "failure-judge"):
            if dice.random() < 0.7:
                picked = {mode for mode in Mode if dice.random() < 0.2}
                side = dice.choice(["", *Side]) if name == "failure-judge" else ""
                proposes(run, name, None if dice.random() < 0.1 else picked, side)
        if dice.random() < 0.4:
            mode = dice.choice([None, *Mode])
            is_agents = mode is not None and mode is not ENVIRONMENT
            side = dice.choice([None, *Side]) if is_agents else None
            statement = Statement(modes=frozenset({mode} if mode else ()), side=side)
            said = review_runs(user=user, run_ids=[run.pk], statement=statement)
            if dice.random() < 0.2:
                undo_reviews(user=user, batch=said.batch, run_ids=[run.pk])
    every = Run.objects.order_by()
    runs = modes_of_runs(every, Run.objects.none())
    for by in ModeSource:
        counted = count(runs, by)[audited.agent().pk]
        assert counted.agents > 3
        for mode in OF_THE_AGENT:
            assert showing(every, mode, by).count() == counted.modes[mode], (by, mode)
        for side in Side:
            assert showing(every, side_key(side), by).count() == counted.sides[side], (by, side)
        assert showing(every, ENVIRONMENT, by).count() == counted.environment
        assert showing(every, NONE, by).count() == counted.none
        assert showing(every, UNKNOWN, by).count() == counted.unknown
    looked_at = Run.objects.exclude(pk__in=unexamined(every).values("pk")).count()
    assert looked_at == count(runs, ModeSource.MECHANICAL)[audited.agent().pk].examined


@pytest.mark.django_db
def test_confirming_changing_rejecting_and_taking_back_is_all_kept() -> None:
    one, two = audited.person("one"), audited.person("two")
    run, silent = failed(), failed()
    proposes(run, "failure-modes-mechanical", {LIMIT})
    proposes(run, "failure-judge", {PLAN}, "reasoning")
    said = confirm_proposals(user=one, run_ids=[run.pk, silent.pk])
    assert (said.changed, said.left_out) == (1, 1)
    assert confirm_proposals(user=two, run_ids=[run.pk]).changed == 0
    changed = review_runs(
        user=two, run_ids=[run.pk], statement=Statement(modes=frozenset({MISREAD}))
    )
    review_runs(user=one, run_ids=[run.pk, silent.pk], statement=Statement())
    history = FailureReview.objects.filter(run=run).order_by("pk")
    assert [(each.decision, each.by.username, each.named) for each in history] == [
        ("confirmed", "one", [PLAN, LIMIT]),
        ("changed", "two", [MISREAD]),
        ("rejected", "one", []),
    ]
    assert history[0].proposed["modes"] == ["plan_error", "max_steps"]
    assert (history[0].side, history[0].known_side) == ("reasoning", Side.REASONING)
    assert len(history[0].proposed["evaluations"]) == 2
    assert FailureReview.objects.get(run=silent).decision == "own"
    assert undo_reviews(user=two, batch=changed.batch, run_ids=[run.pk]) == 0  # said since
    last = FailureReview.objects.get(run=run, is_current=True)
    assert undo_reviews(user=two, batch=last.batch, run_ids=[run.pk]) == 1
    current = FailureReview.objects.get(run=run, is_current=True)
    assert (current.decision, current.by, current.named) == ("changed", two, [MISREAD])
    assert current.replaces == last
    share = confirmed(Run.objects.all())
    assert (share.count, share.total) == (0, 1)


@pytest.mark.django_db
def test_running_runs_are_not_spoken_of() -> None:
    running = failed(status="running")
    user = audited.person("one")
    assert review_runs(user=user, run_ids=[running.pk], statement=Statement()).changed == 0


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="environment"):
        Statement(modes=frozenset({ENVIRONMENT, PLAN}))
    with pytest.raises(ValueError, match="agent"):
        Statement(side=Side.BOTH)
    with pytest.raises(ValueError, match="laziness"):
        mode_words("laziness")
