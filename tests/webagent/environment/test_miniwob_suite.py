"""Which tasks of MiniWoB++ are measured."""

import pytest

from webagent.environment.miniwob import task_names
from webagent.environment.miniwob_suite import (
    EXCLUDED,
    MANY_STEP,
    ONE_STEP,
    OUTSIDE,
    Exclusion,
    StepsNeeded,
    UnknownSuiteTask,
    exclusion_of,
    short_name,
    steps_of,
    suite_tasks,
)


def test_every_task_is_in_one_place_and_the_sources_numbers_come_out() -> None:
    excluded = [name for names in EXCLUDED.values() for name in names]
    outside = [name for names in OUTSIDE.values() for name in names]
    every = [*ONE_STEP, *MANY_STEP, *excluded, *outside]
    assert len(every) == len(set(every))
    assert (len(ONE_STEP) + len(MANY_STEP), len(excluded)) == (74, 30)
    not_here = {"chase-circle", "moving-items", "simon-says"}
    assert set(every) == {short_name(name) for name in task_names()} | not_here


def test_groups_leave_out_what_the_source_leaves_out() -> None:
    run, left_out = suite_tasks(["all"], task_names())
    assert (len(run), len(left_out)) == (74, 30)
    assert "miniwob.use-slider" in left_out
    run, left_out = suite_tasks(["all"], task_names(), with_excluded=True)
    assert (len(run), len(left_out)) == (101, 3)  # three are not in the package at all
    run, left_out = suite_tasks(
        ["one-step", "click-test", "miniwob.click-tab-2", "click-menu-2"], task_names()
    )
    assert run == (*(f"miniwob.{name}" for name in ONE_STEP), "miniwob.click-tab-2")
    assert left_out == ("miniwob.click-menu-2",)
    with pytest.raises(UnknownSuiteTask, match="click-nothing"):
        suite_tasks(["click-nothing"], task_names())


def test_a_task_knows_its_kind_and_why_it_is_left_out() -> None:
    assert steps_of("miniwob.click-test") is steps_of("click-test") is StepsNeeded.ONE
    assert steps_of("terminal") is StepsNeeded.MANY
    assert steps_of("use-slider") is None
    assert exclusion_of("miniwob.use-slider") is Exclusion.BOXES
    assert exclusion_of("phone-book") is Exclusion.LATER
    assert exclusion_of("click-test") is None
