"""Milestones as stored: set, kept, imported, exported."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.catalogue.milestones.definitions import (
    MilestoneFileError,
    definitions_of,
    digest_of_task,
    milestone_file,
    read_file,
    resolved,
    written_file,
)
from runs.catalogue.milestones.services import (
    MilestonesChangedError,
    UnknownTasksError,
    import_milestones,
    inherit_milestones,
    set_milestones,
)
from runs.models import Milestone, Task, TaskSet
from runs.models.hooks import milestones_changed
from tests.runs.factories import make_task
from webagent.milestones.checks import TextCheck, UrlCheck
from webagent.milestones.findings import Definition, Rule

pytestmark = pytest.mark.django_db

CART = Definition(
    name="The cart is open", weight=2, rule=Rule(reached_when=UrlCheck(pattern="__SHOPPING__/c*"))
)
PAID = Definition(
    name="The order is paid",
    is_ordered=True,
    rule=Rule(reached_when=TextCheck(text="Thank you"), lost_when=TextCheck(text="declined")),
)
SAID = Definition(name="The number was told")


def test_they_come_back_as_they_were_set():
    task = make_task()
    assert set_milestones(task=task, milestones=[CART, PAID, SAID])
    assert definitions_of(task) == (CART, PAID, SAID)
    assert not set_milestones(task=task, milestones=[CART, PAID, SAID])


def test_a_name_stays_the_same_milestone_and_another_makes_another():
    task = make_task()
    set_milestones(task=task, milestones=[CART, PAID])
    cart, paid = task.milestones.in_force()
    heavier = CART.model_copy(update={"weight": 5.0})
    set_milestones(task=task, milestones=[SAID, heavier])
    said, again = task.milestones.in_force()
    assert (again.pk, again.weight, again.position, said.position) == (cart.pk, 5.0, 2, 1)
    assert Milestone.objects.get(pk=paid.pk).removed_at is not None
    set_milestones(task=task, milestones=[PAID])
    assert task.milestones.in_force().get().pk == paid.pk


def test_who_looked_at_others_changes_nothing():
    task = make_task()
    seen = digest_of_task(task)
    set_milestones(task=task, milestones=[CART])
    with pytest.raises(MilestonesChangedError):
        set_milestones(task=task, milestones=[PAID], expected=seen)
    assert definitions_of(task) == (CART,)
    # What is there already overwrites nothing: such as the same form sent twice.
    assert not set_milestones(task=task, milestones=[CART], expected=seen)


def test_two_of_one_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        set_milestones(task=make_task(), milestones=[CART, CART])


def test_news_of_a_change_goes_up_once_it_is_stored(django_capture_on_commit_callbacks):
    heard: list[int] = []

    def hear(sender: object, task_id: int, **_: object) -> None:
        heard.append(task_id)

    milestones_changed.connect(hear)
    try:
        task = make_task()
        with django_capture_on_commit_callbacks(execute=True):
            set_milestones(task=task, milestones=[CART])
        with django_capture_on_commit_callbacks(execute=True):
            set_milestones(task=task, milestones=[CART])
    finally:
        milestones_changed.disconnect(hear)
    assert heard == [task.pk]


def test_placeholders_of_sites_are_filled_for_looking_alone():
    (cart,) = resolved([CART], {"shopping": "http://shop.test"})
    assert cart.rule is not None
    assert cart.rule.reached_when == UrlCheck(pattern="http://shop.test/c*")


def _milestones(*milestones: dict[str, Any]) -> dict[str, Any]:
    return {"tasks": [{"task": "7", "milestones": [*milestones]}]}


class TestFiles:
    def test_what_goes_out_comes_in_elsewhere(self):
        one, other, bare = make_task("1"), make_task("2"), make_task("3")
        set_milestones(task=one, milestones=[CART, PAID])
        set_milestones(task=other, milestones=[SAID])
        tasks = Task.objects.prefetch_related("milestones").order_by("pk")
        text = written_file(milestone_file("webarena", "raw", tasks))
        for task in (one, other):
            set_milestones(task=task, milestones=[])
        set_milestones(task=bare, milestones=[CART])
        stored = import_milestones(file=read_file(text.encode()), tasks=list(tasks))
        assert (stored.changed, stored.same) == (2, 0)
        assert definitions_of(one) == (CART, PAID)
        assert definitions_of(other) == (SAID,)
        assert definitions_of(bare) == (CART,)  # the file says nothing of it

    def test_a_task_that_is_not_there_stops_the_whole(self):
        one = make_task("1")
        set_milestones(task=one, milestones=[SAID])
        file = milestone_file("webarena", "raw", Task.objects.all())
        with pytest.raises(UnknownTasksError, match="1"):
            import_milestones(file=file, tasks=[make_task("2")])

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"format": "other"}, "format: Must be 'crosscheck-milestones'."),
            (_milestones({"name": ""}), "task 1 “7”, milestone 1, name: Required."),
            (
                _milestones({"name": "a"}, {"name": "The cart is open", "weight": 0}),
                "task 1 “7”, milestone 2 “The cart is open”, weight: Must be above 0.",
            ),
            (
                _milestones({"name": "a", "wieght": 2}),
                "task 1 “7”, milestone 1 “a”, wieght: Unknown field.",
            ),
            (
                _milestones({"name": "a", "rule": {"reached_when": {"kind": "regex"}}}),
                "task 1 “7”, milestone 1 “a”, rule.reached_when: Unknown check “regex”",
            ),
            (_milestones({"name": "a"}, {"name": "a"}), "task 1 “7”: “a” appears twice."),
            ({"tasks": [{"task": "7", "milestones": []}] * 2}, "tasks: “7” appears twice."),
        ],
    )
    def test_what_is_wrong_is_named_with_its_place(self, change: dict[str, Any], words: str):
        good = {
            "format": "crosscheck-milestones",
            "format_version": 1,
            "task_set": {"name": "webarena", "version": "raw"},
            "tasks": [],
        }
        assert read_file(json.dumps(good).encode()).tasks == ()
        with pytest.raises(MilestoneFileError) as caught:
            read_file(json.dumps(good | change).encode())
        assert str(caught.value).startswith(words)


def test_a_patched_version_inherits_them():
    original = make_task("7")
    set_milestones(task=original, milestones=[CART, PAID])
    made = TaskSet.objects.create(name="webarena", version="mine-1", parent=original.task_set)
    version = make_task("7", task_set=made, original=original)
    inherit_milestones([version])
    assert definitions_of(version) == (CART, PAID)
    set_milestones(task=original, milestones=[SAID])
    assert definitions_of(version) == (CART, PAID)


class TestCommands:
    def test_out_and_in_again(self, tmp_path: Path):
        task = make_task("7")
        set_milestones(task=task, milestones=[CART, SAID])
        file = tmp_path / "milestones.json"
        named = ("--set", "webarena", "--version", "raw")
        call_command("export_milestones", *named, "--output", str(file))
        printed = io.StringIO()
        call_command("export_milestones", *named, stdout=printed)
        assert printed.getvalue() == file.read_text()
        set_milestones(task=task, milestones=[])
        said = io.StringIO()
        call_command("import_milestones", str(file), stdout=said)
        assert definitions_of(task) == (CART, SAID)
        assert "other milestones now: 1" in said.getvalue()

    def test_what_cannot_be_is_said_in_a_line(self, tmp_path: Path):
        file = tmp_path / "milestones.json"
        with pytest.raises(CommandError, match="cannot be read"):
            call_command("import_milestones", str(file))
        file.write_text("{}")
        with pytest.raises(CommandError, match="task_set"):
            call_command("import_milestones", str(file))
        with pytest.raises(CommandError, match="no task set a b"):
            call_command("export_milestones", "--set", "a", "--version", "b")
