"""Task patches: their files, what they change, and how that is taken back."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from runs.catalogue.patches.changes import (
    Change,
    ChangeError,
    apply_changes,
    content_bytes,
    take_back_changes,
    text_guard,
)
from runs.catalogue.patches.files import PatchFileError, TaskPatch, parse_patch, read_patch
from runs.catalogue.patches.services import TaskPatchError, apply_patch, take_back_patch
from runs.catalogue.tasks.rows import task_content, task_record
from runs.models import Task, TaskRevision, TaskSet
from tests.runs.factories import delete_run, make_run, make_task
from tests.webarena_tasks import TASK_FILE, webarena_tasks
from webagent.trajectory.records import TextPart

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SHIPPED = ROOT / "runs" / "catalogue" / "patches" / "webarena-1.json"
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])

CONTENT: dict[str, Any] = {
    "goal": "Find the order",
    "sites": ["gitlab", "reddit"],
    "start_urls": ["__GITLAB__"],
    "spec": {"reference_answers": {"must_include": ["6", "a/b~c"]}, "a/b": {"c~d": 1}},
    "reference": None,
    "infeasible_reason": "",
}


def changes(*given: dict[str, Any]) -> tuple[Change, ...]:
    return CHANGES.validate_python(given)


def append(path: str, text: str, before: str) -> dict[str, Any]:
    return {"op": "append", "path": path, "guard": text_guard(before), "text": text}


def substitute(path: str, old: str, new: str, before: str) -> dict[str, Any]:
    guard = text_guard(before)
    return {"op": "substitute", "path": path, "guard": guard, "from": old, "to": new}


def replace(path: str, old: Any, new: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "from": old, "to": new}


def entry(task: str = "1", **fields: Any) -> dict[str, Any]:
    return {
        "task": task,
        "category": "output_format",
        "why": "The form of the answer is not stated.",
        "changes": [append("/goal", " Answer yes or no.", f"goal {task}")],
        **fields,
    }


def patch_of(*entries: dict[str, Any], **head: Any) -> TaskPatch:
    whole = {
        "format": "crosscheck-task-patch",
        "format_version": 1,
        "head": {
            "name": "mine",
            "version": "1",
            "task_set": "webarena",
            "from_version": "raw",
            "to_version": "mine-1",
            "author": "me",
            "licence": "CC0-1.0",
            **head,
        },
        "entries": entries or [entry()],
    }
    return parse_patch(json.dumps(whole).encode(), "patch.json")


def make_tasks(count: int = 3) -> None:
    for number in range(count):
        make_task(str(number), goal=f"goal {number}", spec={"eval_types": ["string_match"], "n": 1})


# Changes of one content


def test_all_kinds_of_changes_and_back():
    made = changes(
        append("/goal", " alone", "Find the order"),
        substitute("/goal", "order", "order's id", "Find the order alone"),
        replace("/sites", ["gitlab", "reddit"], ["reddit", "gitlab"]),
        replace("/spec/reference_answers/must_include/0", "6", "7"),
        append("/spec/reference_answers/must_include/1", "!", "a/b~c"),
        replace("/spec/a~1b/c~0d", 1, {"x": [True, None]}),
        replace("/infeasible_reason", "", "gone"),
    )
    changed = apply_changes(CONTENT, made)
    assert changed["goal"] == "Find the order's id alone"
    assert changed["sites"] == ["reddit", "gitlab"]
    assert changed["spec"] == {
        "reference_answers": {"must_include": ["7", "a/b~c!"]},
        "a/b": {"c~d": {"x": [True, None]}},
    }
    assert content_bytes(take_back_changes(changed, made)) == content_bytes(CONTENT)
    assert CONTENT["goal"] == "Find the order"


TEXTS = st.text(alphabet="ab |OR", max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS


@st.composite
def contents_and_changes(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """Any content with any changes that fit it, one after the other."""
    content = {
        "goal": draw(TEXTS),
        "sites": draw(st.lists(TEXTS, max_size=3)),
        "start_urls": [],
        "spec": draw(st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), st.lists(LEAVES))),
        "reference": draw(LEAVES),
        "infeasible_reason": "",
    }
    made: list[dict[str, Any]] = []
    now = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from([_appended, _substituted, _replaced]))(draw, now)
        if change is not None:
            made.append(change)
    assume(made)
    return content, changes(*made)


def _appended(draw: st.DrawFn, now: dict[str, Any]) -> dict[str, Any] | None:
    text = draw(st.text(alphabet="ab |OR", min_size=1, max_size=6))
    change = append("/goal", text, now["goal"])
    now["goal"] += text
    return change


def _substituted(draw: st.DrawFn, now: dict[str, Any]) -> dict[str, Any] | None:
    goal: str = now["goal"]
    ends = sorted(draw(st.tuples(*[st.integers(0, len(goal))] * 2)))
    old, new = goal[ends[0] : ends[1]], draw(TEXTS)
    if not old or goal.count(old) != 1 or old == new:
        return None
    now["goal"] = goal.replace(old, new)
    return substitute("/goal", old, new, goal)


def _replaced(draw: st.DrawFn, now: dict[str, Any]) -> dict[str, Any] | None:
    names = ["reference", "sites", *(f"spec/{key}" for key in now["spec"])]
    name = draw(st.sampled_from(names))
    new = draw(st.lists(LEAVES, max_size=3) if name != "reference" else LEAVES)
    holder, key = (now["spec"], name[5:]) if name.startswith("spec/") else (now, name)
    old = holder[key]
    if json.dumps(old) == json.dumps(new):
        return None
    holder[key] = new
    top, _, rest = name.partition("/")
    escaped = rest.replace("~", "~0").replace("/", "~1")
    return replace(f"/{top}" + (f"/{escaped}" if rest else ""), old, new)


@pytest.mark.slow
@given(contents_and_changes())
def test_changes_can_always_be_taken_back(drawn: tuple[dict[str, Any], Sequence[Change]]) -> None:
    content, made = drawn
    before = content_bytes(content)
    changed = apply_changes(content, made)
    assert content_bytes(content) == before
    assert content_bytes(take_back_changes(changed, made)) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (append("/goal", " x", "another"), "another text"),
        (append("/sites", " x", "x"), "holds no text"),
        (substitute("/goal", "order", "x", "another"), "another text"),
        (substitute("/goal", "zebra", "x", "Find the order"), "must stand there once"),
        (substitute("/goal", "d", "x", "Find the order"), "must stand there once"),
        (substitute("/goal", "order", "order", "Find the order"), "be changed"),
        (replace("/goal", "another", "x"), "another value"),
        (replace("/goal", "Find the order", "Find the order"), "is the old one"),
        (replace("/spec/a~1b/c~0d", True, 2), "another value"),
        (replace("/spec/none", 1, 2), "nothing at this place"),
        (replace("/sites/2", 1, 2), "nothing at this place"),
        (replace("/sites/00", 1, 2), "nothing at this place"),
        (replace("/sites/-1", "reddit", 2), "nothing at this place"),
        (replace("/goal/0", "F", "x"), "nothing at this place"),
    ],
)
def test_another_content_is_refused(change, words):
    with pytest.raises(ChangeError, match=words):
        apply_changes(CONTENT, changes(change))


def test_what_a_patch_did_not_make_is_not_taken_back():
    made = changes(append("/goal", " alone", "Find the order"))
    with pytest.raises(ChangeError, match="another text"):
        take_back_changes({**CONTENT, "goal": "Find another order alone"}, made)


# Files


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"category": "wrong"}, r"entry 1 \(task 1\): category"),
        ({"why": "short"}, "why"),
        ({"why": "  " * 20}, "why"),
        ({"changes": []}, "changes"),
        ({"changes": [{"op": "delete", "path": "/goal"}]}, "op"),
        ({"changes": [replace("/record", 1, 2)]}, "path"),
        ({"changes": [replace("goal", 1, 2)]}, "path"),
        ({"changes": [append("/goal", "", "x")]}, "text"),
        ({"changes": [{**append("/goal", "x", "x"), "guard": "12"}]}, "guard"),
        ({"changes": [{**append("/goal", "x", "x"), "extra": 1}]}, "extra"),
        ({"category": "infeasible"}, "infeasible"),
        ({"changes": [replace("/infeasible_reason", "", "gone")]}, "infeasible"),
        ({"task": ""}, "task"),
    ],
)
def test_bad_entries_are_named_with_field_and_reason(changed, words):
    with pytest.raises(PatchFileError, match=words):
        patch_of(entry(**changed))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"x": "\\u0000"}', "cannot be stored"),
        (b"[]", "should be a valid dictionary"),
        (b"{}", "format: Field required"),
    ],
)
def test_what_is_no_patch_is_refused(content, words):
    with pytest.raises(PatchFileError, match=words):
        parse_patch(content, "x.json")


def test_a_task_has_one_entry_and_the_versions_differ():
    with pytest.raises(PatchFileError, match="more than one entry for task 1"):
        patch_of(entry(), entry())
    with pytest.raises(PatchFileError, match="to_version must differ"):
        patch_of(to_version="raw")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(PatchFileError, match="No such file"):
        read_patch(tmp_path / "none.json")


# Task sets


@pytest.mark.django_db
def test_the_next_version_holds_all_tasks_linked_to_the_old_ones():
    make_tasks()
    report = apply_patch(patch=patch_of())
    assert (report.tasks, report.patched, dict(report.by_category)) == (3, 1, {"output_format": 1})
    made = TaskSet.objects.get(version="mine-1")
    assert str(made.parent) == "webarena raw"
    assert made.patch["author"] == "me"
    patched = made.tasks.get(external_id="1")
    assert patched.goal == "goal 1 Answer yes or no."
    assert patched.original is not None
    assert patched.original.goal == "goal 1"
    assert patched.revision.why == "The form of the answer is not stated."
    assert patched.evaluation_kind == "string_match"
    record = task_record(patched)
    assert (record.task_set.version, record.goal[0]) == (
        "mine-1",
        TextPart(text="goal 1 Answer yes or no."),
    )
    unchanged = made.tasks.get(external_id="2")
    assert unchanged.original is not None
    assert task_content(unchanged) == task_content(unchanged.original)
    assert not TaskRevision.objects.filter(task=unchanged).exists()


@pytest.mark.django_db
def test_again_does_nothing_and_another_patch_is_refused():
    make_tasks()
    apply_patch(patch=patch_of())
    assert not apply_patch(patch=patch_of()).is_new
    assert Task.objects.count() == 6
    with pytest.raises(TaskPatchError, match="exists already"):
        apply_patch(patch=patch_of(entry(why="For quite another reason.")))


@pytest.mark.django_db
def test_a_patch_for_other_tasks_changes_nothing():
    make_tasks()
    other = entry("2", changes=[append("/goal", " x", "goal 1")])
    with pytest.raises(TaskPatchError, match="task 2: /goal: holds another text"):
        apply_patch(patch=patch_of(entry(), other))
    with pytest.raises(TaskPatchError, match="holds no task 9"):
        apply_patch(patch=patch_of(entry("9")))
    with pytest.raises(TaskPatchError, match="there is no task set webarena nowhere"):
        apply_patch(patch=patch_of(), from_version="nowhere")
    spoiled = entry(changes=[replace("/sites", [], "shopping")])
    with pytest.raises(TaskPatchError, match="would no longer fit"):
        apply_patch(patch=patch_of(spoiled))
    assert TaskSet.objects.count() == 1
    assert Task.objects.count() == 3


@pytest.mark.django_db
def test_missing_tasks_may_be_skipped_and_a_dry_run_keeps_nothing():
    make_tasks()
    patch = patch_of(entry(), entry("9"))
    report = apply_patch(patch=patch, skip_missing=True, is_dry_run=True)
    assert (report.patched, report.left_out) == (1, ["9"])
    assert TaskSet.objects.count() == 1
    apply_patch(patch=patch, skip_missing=True)
    assert TaskSet.objects.count() == 2


@pytest.mark.django_db
def test_tasks_known_by_browsergyms_names_are_found():
    make_task("webarena.1", goal="goal 1")
    assert apply_patch(patch=patch_of()).patched == 1


@pytest.mark.django_db
def test_taking_back_leaves_the_set_as_it_was():
    make_tasks()
    before = list(Task.objects.values())
    apply_patch(patch=patch_of())
    assert take_back_patch(patch=patch_of(), is_dry_run=True).patched == 1
    assert TaskSet.objects.count() == 2
    take_back_patch(patch=patch_of())
    assert list(Task.objects.values()) == before
    assert TaskSet.objects.count() == 1
    with pytest.raises(TaskPatchError, match="there is no task set"):
        take_back_patch(patch=patch_of())


@pytest.mark.django_db
def test_what_is_in_use_or_altered_is_not_taken_back():
    make_tasks()
    apply_patch(patch=patch_of())
    patched = Task.objects.get(task_set__version="mine-1", external_id="1")
    with pytest.raises(TaskPatchError, match="was not made by this patch"):
        take_back_patch(patch=patch_of(entry(why="For quite another reason.")))
    run = make_run(task=patched, pictures=False)
    with pytest.raises(TaskPatchError, match="is used by 1 run"):
        take_back_patch(patch=patch_of())
    delete_run(run)
    next_one = patch_of(
        entry(changes=[append("/goal", "!", patched.goal)]),
        from_version="mine-1",
        to_version="mine-2",
    )
    apply_patch(patch=next_one)
    with pytest.raises(TaskPatchError, match="take that back first"):
        take_back_patch(patch=patch_of())
    take_back_patch(patch=next_one)
    Task.objects.filter(versions=patched).update(infeasible_reason="changed since")
    with pytest.raises(TaskPatchError, match="does not restore"):
        take_back_patch(patch=patch_of())


@pytest.mark.slow
@pytest.mark.django_db
def test_queries_do_not_grow_with_tasks(django_assert_max_num_queries):
    make_tasks(300)
    with django_assert_max_num_queries(30):
        apply_patch(patch=patch_of())


@pytest.mark.django_db
def test_newest_versions(django_assert_num_queries):
    make_tasks(12)
    lone = make_task("1", task_set=TaskSet.objects.create(name="other", version="1"))
    apply_patch(patch=patch_of())
    first = Task.objects.get(task_set__version="mine-1", external_id="1")
    apply_patch(
        patch=patch_of(
            entry(changes=[append("/goal", "!", first.goal)]),
            from_version="mine-1",
            to_version="mine-2",
        )
    )
    raw = Task.objects.filter(task_set__version="raw")
    asked = [*raw.values_list("pk", flat=True), first.pk, lone.pk]
    with django_assert_num_queries(3):
        newest = Task.objects.newest_versions(asked)
    assert newest[lone.pk] == lone
    assert newest[first.pk].task_set_id == newest[raw[0].pk].task_set_id
    assert newest[raw.get(external_id="1").pk].goal == "goal 1 Answer yes or no.!"
    assert {newest[task.pk].external_id for task in raw} == {str(n) for n in range(12)}
    assert Task.objects.newest_versions([]) == {}


@pytest.mark.django_db
def test_a_task_is_infeasible_if_a_patch_found_it_so():
    make_tasks()
    gone = entry(category="infeasible", changes=[replace("/infeasible_reason", "", "gone")])
    apply_patch(patch=patch_of())
    apply_patch(patch=patch_of(gone, from_version="mine-1", to_version="mine-2"))
    infeasible = Task.objects.filter(Task.objects.is_infeasible("pk"))
    assert {(task.external_id, task.task_set.version) for task in infeasible} == {
        ("1", "raw"),
        ("1", "mine-1"),
        ("1", "mine-2"),
    }


# Our own patch for WebArena


def test_the_shipped_patch_names_a_reason_of_its_own_for_every_task():
    entries = read_patch(SHIPPED).entries
    assert len(entries) == len({one.task for one in entries}) == 185
    assert len({one.why for one in entries}) == len(entries)
    assert {one.task for one in entries} < set(webarena_tasks())


def test_the_shipped_patch_marks_what_cannot_be_done():
    infeasible = [one.task for one in read_patch(SHIPPED).entries if one.category == "infeasible"]
    assert infeasible == ["2", "5", "184", "425"]


def test_the_shipped_patch_does_not_give_answers_away():
    """A form that is stated must not say which answer is right: zero, for one."""
    tasks = webarena_tasks()
    for one in read_patch(SHIPPED).entries:
        answers = tasks[one.task]["eval"]["reference_answers"] or {}
        references = answers.get("must_include", [answers.get("exact_match", "")])
        stated = " ".join(change.text for change in one.changes if change.op == "append")
        for reference in references:
            if len(reference) > 1 and tasks[one.task]["eval"]["eval_types"] == ["string_match"]:
                assert reference.lower() not in stated.lower() or reference == "Yes", one.task
        if references == ["0"]:
            same = [
                other
                for other in read_patch(SHIPPED).entries
                if any(
                    change.op == "append" and change.text.lstrip(".? ") in stated
                    for change in other.changes
                )
            ]
            kept = [tasks[other.task]["eval"]["reference_answers"] for other in same]
            assert any(each != {"must_include": ["0"]} for each in kept), one.task


def test_the_shipped_patch_adds_whole_sentences():
    tasks = webarena_tasks()
    for one in read_patch(SHIPPED).entries:
        for change in one.changes:
            if change.op == "append" and change.path == "/goal":
                ending, _, added = change.text.partition(" ")
                before = f"{tasks[one.task]['intent']}{ending}".rstrip(" \"')")
                assert before[-1] in ".?!" or added.startswith("("), one.task


@pytest.mark.django_db
@pytest.mark.slow
def test_the_shipped_patch_fits_and_is_taken_back(tmp_path):
    out = io.StringIO()
    call_command("import_tasks", str(TASK_FILE), stdout=out)
    before = [content_bytes(task_content(task)) for task in Task.objects.order_by("pk")]
    call_command("apply_task_patch", "webarena-1", stdout=out)
    assert "webarena repaired-1 made (185 of 812 tasks patched)" in out.getvalue()
    for revision in TaskRevision.objects.select_related("task__original"):
        restored = take_back_changes(
            task_content(revision.task), CHANGES.validate_python(revision.changes)
        )
        assert revision.task.original is not None
        assert content_bytes(restored) == content_bytes(task_content(revision.task.original))
    call_command("apply_task_patch", str(SHIPPED), "--reverse", stdout=out)
    assert [content_bytes(task_content(task)) for task in Task.objects.order_by("pk")] == before


@pytest.mark.django_db
def test_the_command_tells_what_is_wrong(tmp_path):
    with pytest.raises(CommandError, match="import it first"):
        call_command("apply_task_patch", "webarena-1")
    with pytest.raises(CommandError, match="No such file"):
        call_command("apply_task_patch", "nothing")
    file = tmp_path / "p.json"
    file.write_text("{")
    with pytest.raises(CommandError, match="is not JSON"):
        call_command("apply_task_patch", str(file))
