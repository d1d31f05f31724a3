"""Words looked for in the different goals find the same as words looked for in every run."""

from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging.desk.palette import found
from runs.models import Run
from runs.models.triggers import (
    ALL_GOALS,
    install_goal_texts,
    install_guards,
    missing_goal_triggers,
    remove_guards,
)
from tests.runs.factories import make_agent, make_run, make_task, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("PostgreSQL has an index of words")]
HOSTILE = (
    *("", "100 % off", "a_b", "a\\b", "'; --", '"x" OR "y"', "NUL\0after", "NEAR(a b)", "*"),
    *(
        "Straße",
        "STRASSE",
        "İstanbul",
        "Ünïcode",
        "ünïcode",
        "e\u0301",
        "👩‍💻 code",
        "予約する",
        "予",
    ),
    *("x" * 79 + "tail one", "x" * 79 + "tail two", "y" * 10_000 + "z", " ", "\n"),
)
SOME_TEXT = st.text(alphabet="aAbBéÉİß%_\\'\"*\0 予約👩", max_size=6)


def make_runs(*goals: str) -> None:
    task, agent = make_task(), make_agent()
    Run.objects.bulk_create(
        Run(task=task, agent=agent, goal=goal, source_format="native") for goal in goals
    )


def kept() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(ALL_GOALS.sql)
        return sorted(goal for (goal,) in cursor.fetchall())


def goals_of(runs: Any) -> list[str]:
    return sorted(runs.order_by().values_list("goal", flat=True))


def in_all(words: str) -> list[str]:
    return goals_of(Run.objects.filter(goal__icontains=words))


def test_hostile_words_find_what_reading_every_run_finds() -> None:
    make_runs(*HOSTILE, *HOSTILE)
    n_found = 0
    for goal in HOSTILE:
        for words in {goal, goal[:1], goal[:2], goal[-3:], goal.upper(), goal.lower()}:
            assert goals_of(Run.objects.with_words(words)) == in_all(words), repr(words)
            n_found += len(in_all(words))
    assert n_found > 4 * len(HOSTILE)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(goals=st.lists(SOME_TEXT, max_size=5), words=SOME_TEXT)
def test_any_words_find_what_reading_every_run_finds(goals: list[str], words: str) -> None:
    make_runs(*goals)
    assert goals_of(Run.objects.with_words(words)) == in_all(words)


def test_goals_come_change_and_go_with_their_runs() -> None:
    remove_guards()
    one, other, third = (make_run(goal=goal, steps=0) for goal in ("shared", "shared", "own"))
    assert kept() == ["own", "shared"]
    one.delete()
    Run.objects.filter(pk=third.pk).update(goal="changed")
    assert kept() == ["changed", "shared"]
    Run.objects.filter(pk=other.pk).update(goal="changed")
    assert kept() == ["changed"]
    Run.objects.all().delete()
    assert kept() == []


def test_what_was_lost_is_told_and_made_anew() -> None:
    make_runs("before")
    with connection.cursor() as cursor:
        for name in ("added", "changed"):
            cursor.execute(f"DROP TRIGGER runs_goaltext_{name}")
    make_runs("meanwhile")
    assert missing_goal_triggers() == ["runs_goaltext_added", "runs_goaltext_changed"]
    assert not Run.objects.with_words("meanwhile")
    install_goal_texts()
    assert missing_goal_triggers() == []
    assert len(Run.objects.with_words("meanwhile")) == 1
    make_runs("after")
    assert kept() == ["after", "before", "meanwhile"]


@pytest.mark.django_db(transaction=True)
def test_a_table_rebuilt_by_a_migration_and_vacuum_lose_no_goal() -> None:
    make_runs("kept", "kept too")
    remove_guards()  # as `migrate` does
    with connection.schema_editor() as editor:
        field = Run._meta.get_field("error_message")
        changed = field.clone()
        changed.set_attributes_from_name("error_message")
        changed.null = True
        for old, new in ((field, changed), (changed, field)):
            editor.alter_field(Run, old, new)
    assert len(missing_goal_triggers()) == 3, "the table was not rebuilt"
    make_runs("before the end of migrate")
    install_goal_texts()
    install_guards()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    for words in ("kept too", "before the end"):
        assert goals_of(Run.objects.with_words(words)) == in_all(words)
        assert in_all(words)
    assert missing_goal_triggers() == []


def test_the_palette_shows_the_newest_with_the_words() -> None:
    runs = [make_run(goal=f"open the shop {n}", steps=1) for n in range(8)]
    groups = found(make_user("engineer"), "OPEN the")
    shown = [entry.note for entry in groups[-1].entries]
    assert shown == [run.pk.hex[:8] for run in reversed(runs)][:6]
