"""Milestones on the task page: written, moved, refused, brought in, hidden from who judges."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.catalogue.milestones.definitions import definitions_of, digest_of_task
from runs.catalogue.milestones.services import set_milestones
from runs.models import Milestone, Task, TaskSet, User
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_run, make_task
from webagent.milestones.checks import ActionCheck, ElementCheck, TextCheck, UrlCheck
from webagent.milestones.findings import Definition, Rule

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
CART = Definition(name="zq-cart", rule=Rule(reached_when=UrlCheck(pattern="*/zq-cart")))
PAID = Definition(
    name="paid",
    weight=2.5,
    is_ordered=True,
    rule=Rule(reached_when=TextCheck(text="Thanks"), lost_when=ActionCheck(action="go_back")),
)
FILLED = Definition(
    name="filled", rule=Rule(reached_when=ElementCheck(name="Name", state="value", value="Ann"))
)


def sent(*rows: dict[str, Any], task: Task, initial: int = 0) -> dict[str, Any]:
    """The form as a browser posts it."""
    data: dict[str, Any] = {
        "m-TOTAL_FORMS": len(rows),
        "m-INITIAL_FORMS": initial,
        "expected": digest_of_task(task),
    }
    for number, row in enumerate(rows):
        values = {"weight": "1", **row}
        data |= {f"m-{number}-{name}": value for name, value in values.items()}
    return data


def test_what_is_written_is_stored_in_the_order_of_its_places(engineer: User):
    task = make_task()
    data = sent(
        {"name": "b", "ORDER": 2, "weight": "0.5"},
        {
            "name": "a",
            "ORDER": 1,
            "is_ordered": "on",
            "reached_kind": "element",
            "reached_element": "Name",
            "reached_state": "value",
            "reached_value": "Ann",
            "lost_kind": "action",
            "lost_action": "go_back",
        },
        {"name": "gone", "ORDER": 3, "DELETE": "on"},
        {"ORDER": 4},
        task=task,
    )
    response = client_of(engineer).post(f"/tasks/{task.pk}/milestones/", data)
    assert response.status_code == 302
    assert definitions_of(task) == (
        Definition(
            name="a",
            is_ordered=True,
            rule=Rule(
                reached_when=ElementCheck(name="Name", state="value", value="Ann"),
                lost_when=ActionCheck(action="go_back"),
            ),
        ),
        Definition(name="b", weight=0.5),
    )
    assert set(task.milestones.values_list("added_by", "origin")) == {(engineer.pk, "written")}


@pytest.mark.slow
def test_a_form_shown_and_sent_back_changes_nothing(engineer: User):
    task = make_task()
    set_milestones(task=task, milestones=[CART, PAID, FILLED])
    response = client_of(engineer).get(f"/tasks/{task.pk}/milestones/")
    data = sent(task=task, initial=3) | {"m-TOTAL_FORMS": 3}
    for form in response.context["rows"].forms:
        for bound in form:
            value = bound.value()
            if value not in (None, "", False):
                data[bound.html_name] = "on" if value is True else value
    client_of(engineer).post(f"/tasks/{task.pk}/milestones/", data)
    assert definitions_of(task) == (CART, PAID, FILLED)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"name": "", "weight": "2"}, "name"),
        ({"name": "a", "weight": "0"}, "weight"),
        ({"name": "a", "weight": "nan"}, "weight"),
        ({"name": "a", "reached_kind": "url"}, "reached_pattern"),
        ({"name": "a", "reached_kind": "text", "reached_words": "**"}, "reached_words"),
        ({"name": "a", "reached_kind": "element"}, "reached_role"),
        ({"name": "a", "lost_kind": "url", "lost_pattern": "*x"}, "reached_kind"),
        (
            {"name": "a", "reached_kind": "url", "reached_pattern": "*x", "lost_kind": "reported"},
            "lost_report",
        ),
    ],
)
@pytest.mark.slow
def test_errors_stand_at_their_field(engineer: User, row: dict[str, str], field: str):
    task = make_task()
    response = client_of(engineer).post(f"/tasks/{task.pk}/milestones/", sent(row, task=task))
    assert response.status_code == 422
    assert list(response.context["rows"].forms[0].errors) == [field]
    assert not Milestone.objects.exists()


def test_a_name_stands_once(engineer: User):
    task = make_task()
    rows = sent({"name": "a", "ORDER": 2}, {"name": "a", "ORDER": 1}, task=task)
    response = client_of(engineer).post(f"/tasks/{task.pk}/milestones/", rows)
    first, second = response.context["rows"].forms
    assert (list(first.errors), list(second.errors)) == (["name"], [])


def test_what_somebody_else_changed_is_not_overwritten_unseen(engineer: User):
    task = make_task()
    data = sent({"name": "mine"}, task=task)
    set_milestones(task=task, milestones=[CART])
    response = client_of(engineer).post(f"/tasks/{task.pk}/milestones/", data)
    assert response.status_code == 422
    assert definitions_of(task) == (CART,)
    again = data | {"expected": response.context["expected"]}
    client_of(engineer).post(f"/tasks/{task.pk}/milestones/", again)
    assert definitions_of(task) == (Definition(name="mine"),)


@pytest.mark.parametrize(
    ("of", "import_"), [("{0.pk}", "import/"), ("sets/{0.task_set_id}", "")], ids=["task", "set"]
)
def test_a_file_goes_into_another_version_of_its_set(engineer: User, of: str, import_: str):
    later = TaskSet.objects.create(name="webarena", version="0.14.3")
    task, other = make_task("7"), make_task("webarena.7", task_set=later)
    set_milestones(task=task, milestones=[CART, PAID])
    client = client_of(engineer)
    file = client.get(f"/tasks/{of.format(task)}/milestones.json").content
    assert json.loads(file)["tasks"][0]["task"] == "7"
    path = f"/tasks/{of.format(other)}/milestones/{import_}"
    response = client.post(path, {"file": SimpleUploadedFile("m.json", file)})
    assert response.status_code == 302
    assert definitions_of(other) == (CART, PAID)
    assert set(other.milestones.values_list("origin", flat=True)) == {"imported"}


@pytest.mark.slow
def test_a_file_that_does_not_fit_says_so_at_its_field(engineer: User):
    task, other = make_task("7"), make_task("8")
    set_milestones(task=task, milestones=[CART])
    client = client_of(engineer)
    file = client.get(f"/tasks/{task.pk}/milestones.json").content
    foreign = file.replace(b'"name": "webarena"', b'"name": "miniwob"')
    for content, words in (
        (file, "m.json: The file does not name task 8."),
        (b"{", "m.json: Invalid JSON"),
        (foreign, "The file is for the task set miniwob"),
    ):
        response = client.post(
            f"/tasks/{other.pk}/milestones/import/", {"file": SimpleUploadedFile("m.json", content)}
        )
        assert response.status_code == 422
        assert words in str(response.context["file_form"].errors["file"])


def test_the_file_of_a_set_comes_back_whole_or_not_at_all(engineer: User):
    one, other = make_task("1"), make_task("2")
    set_milestones(task=one, milestones=[CART])
    set_milestones(task=other, milestones=[PAID])
    client = client_of(engineer)
    path = f"/tasks/sets/{one.task_set_id}/milestones"
    file = client.get(f"{path}.json").content
    set_milestones(task=one, milestones=[])
    changed = client.post(f"{path}/", {"file": SimpleUploadedFile("m.json", file)}, follow=True)
    assert "1" in str(next(iter(changed.context["messages"])))
    assert definitions_of(one) == (CART,)
    unknown = file.replace(b'"task": "2"', b'"task": "3"')
    set_milestones(task=one, milestones=[])
    refused = client.post(f"{path}/", {"file": SimpleUploadedFile("m.json", unknown)})
    assert refused.status_code == 422
    assert definitions_of(one) == ()


class TestWhoMay:
    def test_the_task_page_shows_them_in_words(self, engineer: User):
        task = make_task()
        set_milestones(task=task, milestones=[PAID])
        page = client_of(engineer).get(f"/tasks/{task.pk}/").content.decode()
        assert "the page contains: Thanks" in page
        assert "Lost again when: the agent does: go_back" in page

    def test_who_judges_a_run_of_the_task_sees_and_changes_none(self, engineer: User):
        task = make_task("1")
        set_milestones(task=task, milestones=[CART])
        make_study(runs=[make_run(task=task, pictures=False)], annotators=[engineer])
        client = client_of(engineer)
        assert "zq-cart" not in client.get(f"/tasks/{task.pk}/").content.decode()
        for path in (f"/tasks/{task.pk}/milestones/", f"/tasks/{task.pk}/milestones.json"):
            assert client.get(path).status_code == 404
        post = client.post(f"/tasks/{task.pk}/milestones/", sent({"name": "a"}, task=task))
        assert post.status_code == 404
        path = f"/tasks/sets/{task.task_set_id}/milestones"
        assert "zq-cart" not in client.get(f"{path}.json").content.decode()
        assert client.get(f"{path}/").context["counts"]["milestones"] == 0
