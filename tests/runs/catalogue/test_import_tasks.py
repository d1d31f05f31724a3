"""`manage.py import_tasks`: which files it knows, what it stores, and what it refuses."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.catalogue.management.commands import import_tasks
from runs.catalogue.tasks.rows import note_split, task_record
from runs.models import Task, TaskSet
from tests.runs.factories import make_run, make_task

pytestmark = pytest.mark.django_db


def raw(task_id: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "sites": ["shopping"],
        "start_url": "__SHOPPING__/a |AND| __SHOPPING__/b",
        "intent": f"Find thing {task_id}",
        "intent_template": "Find thing {{n}}",
        "intent_template_id": 7,
        "instantiation_dict": {"n": task_id},
        "require_login": True,
        "eval": {
            "eval_types": ["string_match", "url_match"],
            "reference_answers": {"exact_match": "yes"},
            "reference_url": "__SHOPPING__/x",
            "program_html": [],
        },
        **fields,
    }


def verified(task_id: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "sites": ["gitlab", "reddit"],
        "start_urls": ["__GITLAB__"],
        "intent": "Get it",
        "intent_template": "Get {{it}}",
        "intent_template_id": 8,
        "instantiation_dict": {},
        "eval": [
            {"evaluator": "AgentResponseEvaluator", "expected": {"retrieved_data": [1]}},
            {"evaluator": "NetworkEventEvaluator", "expected": {}},
        ],
        "revision": 2,
        **fields,
    }


def run_import(folder: Path, content: Any, *options: str) -> str:
    path = folder / "tasks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    out = io.StringIO()
    call_command("import_tasks", str(path), *options, stdout=out)
    return out.getvalue()


def test_webarena_tasks_keep_everything(tmp_path):
    said = run_import(tmp_path, [raw(3), raw(12)])
    assert "2 tasks. New: 2." in said
    assert "2  shopping" in said
    assert "2  string_match+url_match" in said
    task = Task.objects.get(external_id="3")
    assert str(task.task_set) == "webarena raw"
    assert task.goal == "Find thing 3"
    assert task.start_urls == ["__SHOPPING__/a", "__SHOPPING__/b"]
    assert task.spec == raw(3)["eval"]
    assert (task.template, task.evaluation_kind) == ("7", "string_match+url_match")
    extra = task_record(task).extra
    assert extra is not None
    assert extra["instantiation_dict"] == {"n": 3}


def test_verified_tasks_are_told_from_their_content(tmp_path):
    run_import(tmp_path, [verified(5)], "--set", "verified", "--version", "1.2.3")
    task = Task.objects.get()
    assert str(task.task_set) == "verified 1.2.3"
    assert task.spec == {"evaluators": verified()["eval"]}
    assert task.evaluation_kind == "AgentResponseEvaluator+NetworkEventEvaluator"
    assert task.sites == ["gitlab", "reddit"]


def test_again_changes_nothing(tmp_path):
    tasks = [raw(n) for n in range(5)]
    run_import(tmp_path, tasks)
    before = list(Task.objects.values())
    assert "New: 0. " in run_import(tmp_path, [*tasks, raw(9)][:5])
    assert list(Task.objects.values()) == before


def test_more_tasks_may_follow(tmp_path):
    run_import(tmp_path, [raw(1)])
    assert "New: 1. " in run_import(tmp_path, [raw(1), raw(2)])


def test_a_split_that_was_noted_stays(tmp_path):
    """Whether the file came before or comes after, and as often as it comes."""
    early = make_task("webarena.1", goal="Find thing 1")
    note_split(early, "dev")
    run_import(tmp_path, [raw(1), raw(2)])
    late = Task.objects.get(external_id="2")
    note_split(late, "test")
    assert "New: 0. " in run_import(tmp_path, [raw(1), raw(2)])
    early.refresh_from_db()
    assert (
        early.record["extra"] | {"split": "dev", "instantiation_dict": {"n": 1}}
        == (early.record["extra"])
    )
    with pytest.raises(ValueError, match="is of the split test already, not of dev"):
        note_split(late, "dev")
    with pytest.raises(CommandError, match="task 2: extra differs"):
        run_import(tmp_path, [raw(1), raw(2, split="dev")])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"intent": "Find another"}, "goal"),
        ({"sites": ["map"]}, "sites"),
        ({"start_url": "__SHOPPING__"}, "start_urls"),
        ({"intent_template": "x"}, "intent_template"),
        ({"eval": {"eval_types": []}}, "spec"),
        ({"require_login": False}, "extra"),
    ],
)
def test_another_content_is_refused_by_task_and_field(tmp_path, changes, field):
    run_import(tmp_path, [raw(1), raw(2)])
    with pytest.raises(CommandError, match=f"task 2: {field} differs"):
        run_import(tmp_path, [raw(1), raw(2, **changes), raw(3)])
    assert not Task.objects.filter(external_id="3").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no JSON: Expecting value"),
        ("{}", "is no JSON array"),
        ("[]", "holds no task"),
        ("[1]", "item 1: is no JSON object"),
        ('[{"task_id": 1}]', "no task of a known kind"),
        ([raw(1), raw(1)], "stands there twice"),
        ([raw(-1)], "task -1 .*task_id"),
        ([raw("1")], "task_id"),  # type: ignore[arg-type]
        ([raw(1, intent="")], "task 1 .*intent"),
        ([raw(1, intent=None)], "task 1 .*intent"),
        ([raw(1, sites="shopping")], "task 1 .*sites"),
        ([verified(1, start_urls=[1])], "task 1 .*start_urls"),
        ([raw(1, intent="a\x00b")], "cannot be stored"),
        ('[{"task_id": 1, "x": "\\ud800"}]', "cannot be stored"),
        ('[{"task_id": 1, "x": NaN}]', "NaN"),
        (json.dumps([raw(1)])[:-20], "is no JSON"),
        (json.dumps([raw(1)]) + "x", "Extra data"),
        ("[" + "[" * 100_000, "nested too deeply"),
        ("\xff", "is no JSON"),
    ],
)
def test_bad_files_are_refused_and_nothing_is_stored(tmp_path, content, words):
    with pytest.raises(CommandError, match=words):
        run_import(tmp_path, content)
    assert not TaskSet.objects.exists()


def test_a_bad_task_after_good_ones_leaves_nothing(tmp_path):
    with pytest.raises(CommandError, match="task 700 "):
        run_import(tmp_path, [*(raw(n) for n in range(700)), raw(700, sites=3)])
    assert not Task.objects.exists()


def test_a_file_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(import_tasks, "LARGEST_FILE", 50)
    with pytest.raises(CommandError, match="larger than 50 bytes"):
        run_import(tmp_path, [raw(1)])


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        call_command("import_tasks", str(tmp_path / "none.json"))


def test_tasks_that_came_with_runs_are_filled_in(tmp_path, settings):
    settings.SITE_HOSTS = {"shopping": "http://h:7770"}
    task_set = TaskSet.objects.create(name="webarena", version="0.14.3")
    task = make_task("webarena.4", goal="Find thing 4\n\n(Note: …)", task_set=task_set)
    run = make_run(task=task, pictures=False)
    said = run_import(tmp_path, [raw(4), raw(5)])
    assert "1 tasks of webarena 0.14.3 came with runs" in said
    said = run_import(tmp_path, [raw(4), raw(5)], "--version", "0.14.3")
    assert "New: 1. Filled in, known from runs alone before: 1." in said
    run.task.refresh_from_db()
    assert run.task.external_id == "webarena.4"
    assert run.task.spec == raw(4)["eval"]
    assert "came with runs" not in said


def test_a_run_on_another_goal_is_no_stub(tmp_path):
    task_set = TaskSet.objects.create(name="webarena", version="raw")
    make_task("4", goal="Something else", task_set=task_set)
    with pytest.raises(CommandError, match="task 4: goal differs"):
        run_import(tmp_path, [raw(4)])


def test_queries_do_not_grow_with_tasks(tmp_path, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        run_import(tmp_path, [raw(n) for n in range(400)])


@pytest.mark.parametrize(
    ("record", "split"),
    [
        ({}, ""),
        ({"extra": None}, ""),
        ({"extra": ["split"]}, ""),
        ({"extra": {"split": None}}, ""),
        ({"extra": {"split": 2}}, "2"),
        ({"extra": {"split": "dev <1>"}}, "dev <1>"),
    ],
)
def test_a_tasks_split_is_that_of_its_record(record, split):
    task = make_task(record={"extra": {"split": "before"}})
    Task.objects.filter(pk=task.pk).update(record=record)
    assert Task.objects.get().split == split
