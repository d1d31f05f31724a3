"""The ways of asking who is blinded to which run agree, in worlds drawn by lot."""

from random import Random
from uuid import UUID

import pytest
from django.db.models import Q
from django.utils import timezone

from judging.models import Assignment, ReferenceVerdict, Study, StudyItem, StudyMember
from judging.studies import blinding
from judging.studies.blinding import StudyPolicy, is_blinded_to
from runs.models import Run, User
from tests.judging.factories import make_study
from tests.judging.growth.work_count import counted_work
from tests.runs.factories import make_agent, make_run, make_task, make_user

pytestmark = pytest.mark.django_db

Status, Origin = StudyItem.Status, ReferenceVerdict.Origin


def draw_runs(random: Random) -> list[Run]:
    """Runs alone and in families, whose tasks may differ."""
    tasks, agent = [make_task() for _ in range(6)], make_agent()
    runs: list[Run] = []
    for _ in range(16):
        before = random.choice([None, *runs])
        family = before.root if before else None
        task = random.choice(tasks)
        runs.append(make_run(steps=0, pictures=False, task=task, agent=agent, family=family))
    return runs


def draw_item(random: Random, study: Study, run: Run, position: int, user: User) -> bool:
    """Put the run in a study; returns whether the person waits for it there."""
    status = random.choice([Status.OPEN, Status.DISPUTED, Status.SETTLED, Status.SETTLED])
    item = StudyItem.objects.create(study=study, run=run, position=position, status=status)
    waits = status != Status.SETTLED
    if not waits:
        ReferenceVerdict.objects.create(
            item=item,
            run=run,
            verdict="success",
            origin=random.choice([Origin.AGREED, Origin.ADJUDICATED]),
            decided_at=timezone.now(),
            is_authoritative=False,
        )
    if random.random() < 0.2:
        is_repeat, state = random.choice([True, False]), random.choice(Assignment.State.values)
        now = timezone.now()
        Assignment.objects.create(
            item=item, user=user, is_repeat=is_repeat, state=state, leased_until=now, opened_at=now
        )
        waits = waits or (is_repeat and state == Assignment.State.LEASED)
    return waits


def draw_world(random: Random, user: User) -> tuple[list[Run], set[UUID]]:
    """Studies of all kinds; returns the runs, and those on which the person is blind."""
    runs = draw_runs(random)
    waiting: set[UUID] = set()
    for number in range(4):
        study = Study.objects.create(name=f"{user} {number}", is_open=bool(random.randrange(4)))
        part = random.choice([None, *StudyMember.Part.values])
        if part:
            left_at = random.choice([None, timezone.now()])
            StudyMember.objects.create(study=study, user=user, part=part, left_at=left_at)
        for position, run in enumerate(random.sample(runs, 3), start=1):
            waits = draw_item(random, study, run, position, user)
            if waits and part and study.is_open:
                waiting.add(run.root)
    return runs, {run.pk for run in runs if run.root in waiting}


@pytest.mark.parametrize("seed", range(6))
def test_every_way_of_asking_finds_the_same_runs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    user, policy = make_user("engineer"), StudyPolicy()
    runs, blind = draw_world(random, user)
    everywhere = Study.objects.create(name="everything, without the person")
    StudyItem.objects.bulk_create(
        StudyItem(study=everywhere, run=run, position=number) for number, run in enumerate(runs, 1)
    )

    def found(condition: Q | None) -> set[UUID]:
        kept = Run.objects.filter(condition) if condition else Run.objects.none()
        return {run.pk for run in kept}

    few = random.sample([run.pk for run in runs], 5)
    for looked_up in (blinding.LOOKED_UP, 0):
        monkeypatch.setattr(blinding, "LOOKED_UP", looked_up)
        assert found(policy.hidden(user)[0]) == blind
        assert found(policy.hidden(user, few)[0]).intersection(few) == blind.intersection(few)
    listed = policy.blind_runs(user)
    assert {run.pk for run in listed or ()} == blind
    assert policy.blind_tasks(user) == {run.task_id for run in runs if run.pk in blind}
    asked = everywhere.items.filter(is_blinded_to("run", user))
    assert {item.run_id for item in asked} == blind


def test_the_worlds_hold_what_is_to_be_told_apart() -> None:
    drawn = [draw_world(Random(seed), make_user("engineer")) for seed in range(6)]
    assert sum(0 < len(blind) < len(runs) for runs, blind in drawn) >= 3
    assert any(run.family and run.pk in blind for runs, blind in drawn for run in runs)


@pytest.mark.sqlite_only("SQLite plans without statistics, whatever a study holds")
def test_a_run_is_asked_of_indexes_however_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blinding, "LOOKED_UP", 0)
    others = [make_run(steps=0).pk for _ in range(10)]
    works = []
    for n in (10, 120):
        user = make_user("engineer")
        make_study(runs=[make_run(steps=0) for _ in range(n)], annotators=[user])
        with counted_work() as work:
            shown = Run.objects.visible_to(user).not_blind().filter(pk__in=others)
            assert shown.count() == len(others)
        works.append(work)
    assert works[0].growth_to(works[1]) < 1.5
