"""Turns: fair between people, nobody starves, and the cost does not grow with the queue."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.models import Experiment, ExperimentState, Run, User
from runs.models.runs.turns import LANES_PER_PERSON, PATIENCE, First, in_turn
from tests.runs.factories import make_agent, make_experiment, make_task, make_user

BY_HAND, EXPERIMENT, BACKGROUND = Run.Priority.values
START = datetime(2026, 11, 21, tzinfo=UTC)


def queue(number: int = 1, **fields: Any) -> list[Run]:
    values = {"status": "queued", "source_format": "crosscheck-agent", **fields}
    values.setdefault("task", make_task())
    return Run.objects.bulk_create(
        (Run(agent=make_agent(), **values) for _ in range(number)), batch_size=2000
    )


def claim(owner: str = "") -> Run | None:
    return Run.objects.claim_next(owner=owner or str(uuid4()), lease_s=60)


def claimed(number: int) -> list[Run]:
    return [run for _ in range(number) if (run := claim())]


def end(run: Run) -> None:
    assert Run.objects.end(run.pk, run.lease_token, status="finished")


def served(number: int) -> Iterator[str]:
    """Whose runs one worker takes, one after the other."""
    for _ in range(number):
        run = claim()
        if run is None:
            return
        yield run.created_by.username if run.created_by else ""
        end(run)


@pytest.mark.slow
@pytest.mark.django_db
def test_one_worker_alternates_between_people():
    first, second = make_user(username="first"), make_user(username="second")
    queue(20, created_by=first, experiment=make_experiment(), priority=EXPERIMENT)
    queue(4, created_by=second, experiment=make_experiment(), priority=EXPERIMENT)
    assert list(served(10)) == ["first", "second"] * 4 + ["first"] * 2


@pytest.mark.slow
@pytest.mark.django_db
def test_several_workers_are_shared_evenly():
    people = [make_user(username=name) for name in ("a", "b", "c")]
    for person, number in zip(people, (50, 3, 50), strict=True):
        queue(number, created_by=person, priority=EXPERIMENT)
    held = Counter(run.created_by_id for run in claimed(6))
    assert set(held.values()) == {2}


@pytest.mark.django_db
def test_runs_of_nobody_have_their_turn_too():
    queue(3, created_by=make_user(username="somebody"))
    queue(3)
    assert sorted(served(4)) == ["", "", "somebody", "somebody"]


@pytest.mark.django_db
def test_a_persons_own_runs_go_in_order_and_by_hand_first():
    person = make_user()
    experiment = make_experiment()
    old = queue(2, created_by=person, experiment=experiment, priority=EXPERIMENT)
    later = queue(1, created_by=person, priority=BACKGROUND)
    quick = queue(1, created_by=person)
    assert [run.pk for run in claimed(9)] == [run.pk for run in (*quick, *old, *later)]


@pytest.mark.django_db
def test_what_was_started_by_hand_goes_before_the_experiments_of_others():
    queue(5, created_by=make_user(), experiment=make_experiment(), priority=EXPERIMENT)
    (quick,) = queue(1, created_by=make_user())
    run = claim()
    assert run is not None
    assert run.pk == quick.pk


@pytest.mark.django_db
@pytest.mark.parametrize("state", [s for s in ExperimentState if s != ExperimentState.RUNNING])
def test_no_way_leads_to_a_run_of_an_experiment_that_does_not_run(state: str):
    experiment = make_experiment()
    runs = queue(2, experiment=experiment, priority=EXPERIMENT)
    Experiment.objects.filter(pk=experiment.pk).update(state=state)
    assert claim() is None
    assert Run.objects.claim(runs[0].pk, owner="w", lease_s=60) is None
    assert Run.objects.due_somewhere(100) == 0
    Experiment.objects.filter(pk=experiment.pk).update(state=ExperimentState.RUNNING)
    assert Run.objects.due_somewhere(100) == 2
    assert claim() is not None


@pytest.mark.django_db
def test_an_experiment_has_no_more_runs_at_a_time_than_it_may():
    experiment = make_experiment()
    Experiment.objects.filter(pk=experiment.pk).update(parallelism=2)
    queue(5, experiment=experiment, priority=EXPERIMENT)
    first, _second = claimed(5)
    end(first)
    assert len(claimed(5)) == 1


@pytest.mark.django_db
def test_a_run_that_waits_for_its_time_holds_up_nobody():
    soon = timezone.now() + timedelta(minutes=1)
    queue(3, not_before=soon)
    (due,) = queue(1)
    assert [run.pk for run in claimed(4)] == [due.pk]


@pytest.mark.django_db
def test_a_quicker_worker_costs_another_look_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    """Whoever loses the race for a run takes the next one."""
    runs = queue(2)
    real = type(Run.objects.all()).claim
    raced: list[UUID] = []

    def claim_after_another(self: Any, run_id: UUID, **options: Any) -> Any:
        if not raced:
            raced.append(run_id)
            assert real(self, run_id, owner="quicker", lease_s=60)
        return real(self, run_id, **options)

    monkeypatch.setattr(type(Run.objects.all()), "claim", claim_after_another)
    run = claim("slower")
    assert run is not None
    assert {raced[0], run.pk} == {run.pk for run in runs}
    assert run.lease_owner == "slower"


@pytest.mark.slow
@pytest.mark.django_db
def test_a_turn_costs_the_same_however_many_runs_wait():
    people = [make_user() for _ in range(3)]
    for person in people:
        queue(2, created_by=person, experiment=make_experiment(), priority=EXPERIMENT)
    few = _queries_of_a_turn()
    task = make_task()
    for person in people:
        queue(1000, created_by=person, task=task, priority=EXPERIMENT)
    many = _queries_of_a_turn()
    assert len(many) <= len(few) + len(people)  # one more lane each
    for sql in (few[0], *(sql for sql in many if '"lane" =' in sql)):
        _reads_by_index(sql)


def _queries_of_a_turn() -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert claim() is not None
    return [query["sql"] for query in queries if "runs_run" in query["sql"]]


def _reads_by_index(sql: str) -> None:
    """The plan names the lanes' index and reads no table through."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            plan = "\n".join(row[3] for row in cursor.fetchall())
            assert "SCAN runs_run" not in plan.replace("SCAN runs_run USING", ""), plan
        else:
            cursor.execute("ANALYZE runs_run")
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on runs_run" not in plan, plan
    assert "run_in_lane" in plan


# Simulations of the order alone: many people, workers and hours in a moment.


@st.composite
def _crowds(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int, list[int]]:
    """Lanes as (person, priority), workers, and how long runs take, in ticks."""
    lanes = st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(Run.Priority.values)), min_size=2, max_size=8
    )
    return draw(lanes), draw(st.integers(1, 6)), draw(st.lists(st.integers(1, 9), min_size=1))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(_crowds())
def test_nobody_starves_and_shares_are_even(crowd: tuple[list[tuple[int, int]], int, list[int]]):
    """Lanes never run dry; whoever waits is served again after a bounded time."""
    lanes, workers, lengths = crowd
    tick = timedelta(minutes=1)
    firsts = [
        First(uuid4(), person * LANES_PER_PERSON + number, priority, START)
        for number, (person, priority) in enumerate(lanes)
    ]
    people = {first.person for first in firsts}
    now, turns = START, 0
    busy: list[tuple[datetime, int]] = []
    last: dict[int, datetime] = {}
    longest: Counter[int] = Counter()
    while now < START + 300 * tick:
        busy = [(until, person) for until, person in busy if until > now]
        while len(busy) < workers:
            held = Counter(person for _, person in busy)
            first = in_turn(firsts, held=held, served=last, now=now)[0]
            busy.append((now + lengths[turns % len(lengths)] * tick, first.person))
            last[first.person] = now + turns * timedelta(microseconds=1)
            turns += 1
        held = Counter(person for _, person in busy)
        for person in people:
            waits = now - max(last.get(person, START), START)
            if not held[person]:
                longest[person] = max(longest[person], waits // tick)
        now += tick
    # Patience, then at most one run of everybody else for each turn.
    bound = PATIENCE // tick + 1 + max(lengths) * len(people)
    assert max(longest.values(), default=0) <= bound


def test_equal_wishes_get_equal_shares():
    firsts = [First(uuid4(), person * LANES_PER_PERSON, EXPERIMENT, START) for person in range(4)]
    last: dict[int, datetime] = {}
    turns: Counter[int] = Counter()
    for number in range(1000):
        now = START + timedelta(seconds=number)
        first = in_turn(firsts, held={}, served=last, now=now)[0]
        last[first.person] = now
        turns[first.person] += 1
    assert set(turns.values()) == {250}


@pytest.mark.django_db
def test_the_lane_follows_person_and_experiment():
    person, experiment = make_user(), make_experiment()
    (run,) = queue(1, created_by=person, experiment=experiment)
    run.refresh_from_db()
    assert run.lane == person.pk * LANES_PER_PERSON + experiment.pk
    User.objects.filter(Q(pk=person.pk)).delete()
    run.refresh_from_db()
    assert run.lane == experiment.pk
