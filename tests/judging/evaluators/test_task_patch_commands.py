"""Commands that propose and audit task patches, and what they say of the patch that ships."""

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.catalogue.patches.files import SHIPPED, patch_path, patch_text, read_patch
from runs.models import Task, TaskRevision
from tests.runs.factories import make_task
from tests.webarena_tasks import TASK_FILE

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests commands over few tasks")]


def spec(**answers: Any) -> dict[str, Any]:
    return {"eval_types": ["string_match"], "reference_answers": answers}


def make_tasks() -> None:
    make_task("1", goal="Which customer is it?", spec=spec(must_include=["Jane Smith"]))
    make_task("2", goal="How many are there", spec=spec(must_include=["351"]))
    make_task("3", goal="What is its id?", spec=spec(must_include=["WS08"]))


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def propose(out: Path, *more: str) -> str:
    return run("propose_task_patch", "webarena", "raw", "--to", "r-1", "--out", str(out), *more)


def test_proposed_audited_applied_and_taken_back(tmp_path):
    make_tasks()
    file = tmp_path / "p.json"
    assert f"{file}: 2 of 3 tasks" in propose(file)
    patch = read_patch(file)
    assert [(entry.task, entry.category) for entry in patch.entries] == [
        ("1", "output_format"),
        ("2", "output_format"),
    ]
    assert '"Smith, Jane" (last name first)' in patch.entries[0].why
    assert patch_text(patch) == file.read_text(), "written as it is read"
    assert "No wrong outcome passes" in run("audit_task_patch", str(file))
    run("apply_task_patch", str(file))
    made = Task.objects.get(task_set__version="r-1", external_id="2")
    assert made.goal == "How many are there? Answer with the number alone, 0 if there is none."
    assert made.spec == spec(must_include=["351"])
    with pytest.raises(CommandError, match="nothing was found"):
        run("propose_task_patch", "webarena", "r-1", "--to", "r-2")
    run("apply_task_patch", str(file), "--reverse")
    assert TaskRevision.objects.count() == 0


def test_tasks_are_left_out_where_wanted_infeasible_or_repaired(tmp_path):
    make_tasks()
    Task.objects.filter(external_id="2").update(infeasible_reason="gone")
    make_task("4", goal="Which user is it?", spec=spec(must_include=["Ann Lee"]))
    task = Task.objects.get(external_id="4")
    TaskRevision.objects.create(task=task, category="ambiguity", why="Clarified by hand.")
    propose(tmp_path / "p.json")
    assert [entry.task for entry in read_patch(tmp_path / "p.json").entries] == ["1"]
    with pytest.raises(CommandError, match="nothing was found"):
        propose(tmp_path / "q.json", "--except", "7, 1")


def test_a_bad_patch_is_refused_entry_by_entry(tmp_path):
    make_tasks()
    propose(tmp_path / "p.json")
    told = json.loads((tmp_path / "p.json").read_text())
    path = "/spec/reference_answers/must_include"
    told["entries"][0]["changes"] = [
        {"op": "replace", "path": path, "from": ["Jane Smith"], "to": []}
    ]
    told["entries"][1]["changes"][0]["text"] = " It is 351."
    told["entries"].append(told["entries"][0] | {"task": "9"})
    told["entries"].append(told["entries"][0] | {"task": "3"})
    (tmp_path / "p.json").write_text(json.dumps(told))
    with pytest.raises(CommandError) as refused:
        run("audit_task_patch", str(tmp_path / "p.json"))
    said = str(refused.value)
    assert "1: webarena-strict: the answer '' passes" in said
    assert "2: the instruction now says '351', which is the answer" in said
    assert "9: the set holds no such task" in said
    assert "3: /spec/reference_answers/must_include: holds another value" in said


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(CommandError, match="there is no task set webarena raw"):
        propose(tmp_path / "p.json")
    with pytest.raises(CommandError, match="there is no task set webarena raw"):
        run("audit_task_patch", "webarena-1")
    with pytest.raises(CommandError, match="No such file"):
        run("audit_task_patch", "nothing")
    make_tasks()
    with pytest.raises(CommandError, match="another version"):
        run("propose_task_patch", "webarena", "raw", "--to", "raw")


def test_without_a_file_the_patch_is_printed():
    make_tasks()
    assert json.loads(run("propose_task_patch", "webarena", "raw", "--to", "r-1"))["entries"]


# The second patch that ships


def test_the_second_patch_repairs_other_tasks_and_touches_no_specification():
    first, second = (read_patch(SHIPPED / f"webarena-{number}.json") for number in (1, 2))
    assert second.head.from_version == first.head.to_version
    tasks = [entry.task for entry in (*first.entries, *second.entries)]
    assert len(tasks) == len(set(tasks)) >= 300
    assert not {"3", "6", "64", "129", "142", "330"} & set(tasks)  # disputed, or with ties
    counts = Counter(str(entry.category) for entry in second.entries)
    assert counts == {"output_format": 174, "contradiction": 10, "ambiguity": 7}
    for entry in second.entries:
        assert {change.path for change in entry.changes} == {"/goal"}
        stated = [change for change in entry.changes if change.op == "append"]
        others = [change for change in entry.changes if change.op == "substitute"]
        assert bool(others) == (entry.category != "output_format")
        assert bool(stated) == (entry.category == "output_format") or entry.task in ("314", "722")
        for change in stated:
            assert change.text.lstrip(".? (")[0].isupper()
            assert change.text.rstrip(")").endswith(".")


def test_shipped_patches_are_found_by_name_and_others_by_path(tmp_path):
    assert patch_path("webarena-2") == SHIPPED / "webarena-2.json"
    assert patch_path(str(tmp_path / "webarena-2")) == tmp_path / "webarena-2"
    assert patch_path("none") == Path("none")


@pytest.mark.slow
def test_both_shipped_patches_pass_their_audit_on_all_tasks_of_the_benchmark():
    run("import_tasks", str(TASK_FILE), "--set", "webarena", "--version", "raw")
    assert Task.objects.count() == 812
    for name, entries in (("webarena-1", 185), ("webarena-2", 191)):
        said = run("audit_task_patch", name)
        assert f"{entries} entries" in said
        assert "No wrong outcome passes" in said
        run("apply_task_patch", name)
