"""Levels of tasks, as groups tell them and as lists of runs are chosen by them."""

from collections import defaultdict

import pytest

from judging.analysis.experiments.selection import FILTERS, level_of
from runs.models import Run, Task
from tests.judging.analysis import audited


@pytest.mark.django_db
def test_runs_are_listed_by_the_level_that_their_task_is_counted_under() -> None:
    told: dict[str, list[tuple[str, dict[str, object]]]] = {
        "": [("plain", {}), ("none", {"level": None, "difficulty": ""}), ("ends-l2", {})],
        "2": [("number", {"level": 2}), ("text", {"level": "2"})],
        "2.5": [("decimal", {"level": 2.5})],
        "hard": [
            ("workarena.a-l2", {"difficulty": "hard"}),
            ("b", {"level": "", "difficulty": "hard"}),
        ],
        "easy": [("both", {"level": "easy", "difficulty": "hard"})],
        "L1": [("workarena.b", {}), ("workarena.c", {"level": None})],
        "L2": [("workarena.d-l2", {})],
        "L3": [("workarena.e-l3", {"difficulty": None})],
    }
    for tasks in told.values():
        for name, extra in tasks:
            audited.run(audited.task(name, record={"extra": extra}))
    counted: defaultdict[str, set[str]] = defaultdict(set)
    for name, level in Task.objects.values_list("external_id", level_of("")):
        counted[level].add(name)
    assert counted == {level: {name for name, _extra in tasks} for level, tasks in told.items()}
    condition = FILTERS["level"].condition
    assert condition is not None
    for level, names in counted.items():
        listed = Run.objects.filter(condition(level))
        assert set(listed.values_list("task__external_id", flat=True)) == names
