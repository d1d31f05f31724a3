"""The tasks table, a task's page and a task set's page: what they show, and to whom."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.models import Task, TaskRevision, TaskSet, User
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_run, make_task, make_user
from webagent import measures

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
URL = "/tasks/"
HTMX = {"HX-Request": "true"}
SPEC: dict[str, Any] = {
    "eval_types": ["string_match", "url_match", "program_html"],
    "reference_answers": {"exact_match": "zq-reference", "fuzzy_match": "N/A"},
    "string_note": "zq-note",
    "reference_url": "__REDDIT__/zq-url |OR| __REDDIT__/other",
    "program_html": [
        {"url": "last", "locator": "zq-locator", "required_contents": {"must_include": ["zq-page"]}}
    ],
}


def page(user: User, path: str = URL) -> str:
    response = client_of(user).get(path)
    assert response.status_code == 200
    return response.content.decode()


def listed(user: User, query: str = "") -> list[str]:
    """Goals of the rows, in order."""
    return re.findall(r'class="row-link" href="[^"]+" hx-disable>([^<]*)<', page(user, URL + query))


def make_patched(**fields: Any) -> Task:
    """A task in a patched version beside its original, with everything that must stay hidden."""
    original = make_task("7", goal="Find it", spec=SPEC, evaluation_kind="string_match+url_match")
    made, _ = TaskSet.objects.get_or_create(
        name="webarena", version="mine-1", defaults={"parent": original.task_set}
    )
    task = make_task(
        "7",
        task_set=made,
        goal="Find it at once",
        original=original,
        evaluation_kind="string_match+url_match",
        template="42",
        intent_template="Find {{it}}",
        **{"spec": {**SPEC, "reference_url": "zq-new-url"}, **fields},
    )
    TaskRevision.objects.create(
        task=task,
        category="reference",
        why="zq-why",
        changes=[{"op": "replace", "path": "/spec/reference_url", "from": "x", "to": "y"}],
    )
    return task


def queries(user: User, path: str) -> int:
    client = client_of(user)
    client.get(path)
    with CaptureQueriesContext(connection) as caught:
        assert client.get(path).status_code == 200
    return len(caught)


# The table


def test_tasks_are_listed_as_people_count_them(engineer):
    for name in ("10", "9", "100"):
        make_task(name, goal=f"goal {name}")
    assert listed(engineer) == ["goal 9", "goal 10", "goal 100"]


def test_tasks_are_sorted_by_id_through_all_sets(engineer):
    other = TaskSet.objects.create(name="other", version="1")
    for name in ("10", "9"):
        make_task(name, goal=f"goal {name}")
    make_task("8", task_set=other, goal="goal 8")
    assert listed(engineer, "?sort=external_id") == ["goal 8", "goal 9", "goal 10"]
    assert listed(engineer, "?sort=-external_id") == ["goal 10", "goal 9", "goal 8"]


def counts(user: User, menu: str, query: str = "") -> dict[str, str]:
    """What the menu of a filter says each choice finds, by its words."""
    shown = page(user, f"{URL}menu/?menu={menu}{query}")
    return dict(re.findall(r'<a class="item"[^>]*>([^<]+)(?:<span class="[^"]*">([^<]*))?', shown))


@pytest.mark.slow
def test_a_menu_says_how_many_tasks_each_choice_finds(engineer):
    make_patched()
    make_task("3", "map", goal="plain", evaluation_kind="program_html", infeasible_reason="no")
    assert counts(engineer, "site") == {"map": "1", "shopping": "2"}
    assert counts(engineer, "site", "&q=once&site=map") == {"map": "0", "shopping": "1"}
    assert counts(engineer, "kind")["program_html"] == "1"
    assert counts(engineer, "infeasible") == {"yes": "1", "no": "2"}
    assert counts(engineer, "patched")["yes"] == "1"
    assert counts(engineer, "patched")["no"] == "2"


def test_what_is_sealed_is_counted_nowhere(engineer):
    task = make_patched(infeasible_reason="zq-infeasible")
    make_study(runs=[make_run(task=task, pictures=False)], annotators=[engineer])
    for menu in ("infeasible", "patched", "kind"):
        assert set(counts(engineer, menu).values()) <= {"0"}
    assert counts(engineer, "site") == {"shopping": "2"}


def test_the_preview_shows_what_is_expected(engineer):
    task = make_patched()
    shown = page(engineer, f"{URL}{task.pk}/preview/")
    assert "Find it at once" in shown
    assert "zq-reference" in shown
    outsider = client_of(make_user("annotator"))
    assert outsider.get(f"{URL}{task.pk}/preview/").status_code == 403


def test_a_task_is_found_by_part_of_its_name_and_by_its_whole_number(engineer):
    for name, goal in (("miniwob.login-user", "Log in"), ("7", "Seven"), ("17", "More")):
        make_task(name, goal=goal)
    assert listed(engineer, "?q=login-user") == ["Log in"]
    assert listed(engineer, "?q=7") == ["Seven"]


def test_htmx_gets_the_table_alone(engineer):
    make_task()
    fragment = client_of(engineer).get(URL, headers=HTMX).content.decode()
    assert fragment.strip().startswith('<div id="task-table"')


def test_empty_says_which_command_brings_tasks(engineer):
    assert "manage.py import_tasks FILE" in page(engineer)
    make_task()
    assert "Nothing matches these filters" in page(engineer, f"{URL}?q=nothing")


@pytest.mark.parametrize(
    ("query", "goals"),
    [
        ("site=map", ["plain"]),
        ("site=map&site=shopping", ["plain", "Find it", "Find it at once"]),
        ("q=AT+ONCE", ["Find it at once"]),
        ("q=7", ["Find it", "Find it at once"]),
        ("kind=program_html", ["plain"]),
        ("template=42", ["Find it at once"]),
        ("patched=yes", ["Find it at once"]),
        ("patched=reference", ["Find it at once"]),
        ("patched=ambiguity", []),
        ("patched=no", ["plain", "Find it"]),
        ("patched=no&patched=reference", ["plain", "Find it", "Find it at once"]),
        ("infeasible=yes", ["plain"]),
        ("infeasible=no", ["Find it", "Find it at once"]),
        ("task_set=0", []),
        ("task_set=x", []),
    ],
)
@pytest.mark.slow
def test_filters(engineer, query, goals):
    task = make_patched()
    make_task(
        "3", "map", goal="plain", evaluation_kind="program_html", infeasible_reason="cannot be done"
    )
    assert sorted(listed(engineer, f"?{query}")) == sorted(goals)
    assert listed(engineer, f"?task_set={task.task_set_id}") == ["Find it at once"]


@pytest.mark.slow
def test_a_task_that_goes_to_two_sites_is_found_and_counted_at_both(engineer):
    task = make_task("7", "gitlab", goal="both", sites=["gitlab", "reddit"])
    make_task("8", "gitlab", goal="one", sites=["gitlab"])
    assert listed(engineer, "?site=reddit") == ["both"]
    assert listed(engineer, "?site=gitlab") == ["both", "one"]
    assert "gitlab, reddit" in page(engineer)
    shown = page(engineer, f"/tasks/sets/{task.task_set_id}/")
    counts = dict(re.findall(r"site=(\w+)\">.*?(\d+)<", shown, re.S))
    assert counts == {"gitlab": "2", "reddit": "1"}


@pytest.mark.slow
def test_query_count_does_not_grow_with_tasks_and_runs(engineer):
    def more(count: int) -> None:
        for _ in range(count):
            make_run(pictures=False, steps=0)

    more(2)
    few = queries(engineer, URL)
    more(20)
    assert queries(engineer, URL) == few


# One task


def test_a_task_shows_what_is_expected(engineer, settings):
    settings.SITE_HOSTS = {"gitlab": "http://h:8023"}
    task = make_task(
        "7", goal="Find <b>it</b>", spec=SPEC, start_urls=["__GITLAB__/a", "__REDDIT__/b"]
    )
    shown = page(engineer, f"/tasks/{task.pk}/")
    assert "Find &lt;b&gt;it&lt;/b&gt;" in shown
    for words in ("zq-reference", "zq-note", "zq-url", "zq-locator", "zq-page"):
        assert words in shown
    assert "http://h:8023/a" in shown
    assert "Not set in SITE_HOSTS: reddit" in shown


def test_a_task_that_came_with_a_run_says_how_to_complete_it(engineer):
    shown = page(engineer, f"/tasks/{make_task('webarena.7').pk}/")
    assert "manage.py import_tasks FILE --set webarena --version raw" in shown


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        "x",
        {"eval_types": "x"},
        {"eval_types": ["string_match", "url_match", "program_html", 3]},
        {"eval_types": ["program_html"], "program_html": [3, {"required_contents": 3}, {}]},
        {"eval_types": ["string_match"], "reference_answers": {"exact_match": {"a": [1]}}},
        {"evaluators": [{"evaluator": "AgentResponseEvaluator"}]},
    ],
)
def test_odd_specifications_are_shown_as_they_are(engineer, spec):
    page(engineer, f"/tasks/{make_task(spec=spec).pk}/")


def test_what_was_too_long_to_compare_is_said(engineer, monkeypatch):
    task = make_patched()
    assert "Too long to compare" not in page(engineer, f"/tasks/{task.pk}/")
    monkeypatch.setattr(measures, "MOST_PAIRS", 1)
    assert "Too long to compare in full" in page(engineer, f"/tasks/{task.pk}/")


def test_a_patched_task_shows_both_versions_side_by_side(engineer):
    task = make_patched()
    shown = page(engineer, f"/tasks/{task.pk}/")
    assert "zq-why" in shown
    assert "reference corrected" in shown
    assert "<del>" in shown
    assert "zq-new-url" in shown or "<ins>" in shown
    assert f"/tasks/{task.original_id}/" in shown
    before = page(engineer, f"/tasks/{task.original_id}/")
    assert "A patch changed this task in webarena mine-1" in before


@pytest.mark.slow
def test_the_runs_of_all_versions_are_listed_page_by_page(engineer):
    task = make_patched()
    assert task.original is not None
    runs = [make_run(task=task.original, pictures=False, steps=0) for _ in range(51)]
    other = make_run(pictures=False, steps=0)
    first, second = (page(engineer, f"/tasks/{task.pk}/?page={number}") for number in (1, 2))
    assert str(runs[-1].pk) in first
    assert str(runs[0].pk) not in first
    assert str(runs[0].pk) in second
    assert str(other.pk) not in first + second


@pytest.mark.slow
def test_query_count_does_not_grow_with_runs(engineer):
    task = make_patched()
    make_run(task=task, pictures=False, steps=0)
    few = queries(engineer, f"/tasks/{task.pk}/")
    for _ in range(10):
        make_run(task=task, pictures=False, steps=0)
    assert queries(engineer, f"/tasks/{task.pk}/") == few


# One set


def test_a_set_shows_what_its_patch_changed_by_category(engineer):
    task = make_patched()
    TaskSet.objects.filter(pk=task.task_set_id).update(
        patch={"name": "my patch", "version": "3", "author": "me", "licence": "CC0", "about": "all"}
    )
    shown = page(engineer, f"/tasks/sets/{task.task_set_id}/")
    for words in ("my patch, version 3", "me, CC0", "zq-why", "reference corrected", "<del>"):
        assert words in shown
    assert f"?task_set={task.task_set_id}&amp;patched=reference" in shown


def test_the_counts_of_a_set_lead_to_the_tasks_that_were_counted(engineer):
    """A bare + in an address is a blank."""
    task = make_task(goal="Find it", evaluation_kind="string_match+url_match", site="a&b")
    links = re.findall(
        r'href="/tasks/(\?[^"]+)"', page(engineer, f"/tasks/sets/{task.task_set_id}/")
    )
    counted = [link for link in links if "kind=" in link or "site=" in link]
    assert len(counted) == 2
    for link in counted:
        assert listed(engineer, link.replace("&amp;", "&")) == ["Find it"]


def test_a_set_without_patch_says_how_to_make_the_next_version(engineer):
    task = make_task()
    shown = page(engineer, f"/tasks/sets/{task.task_set_id}/")
    assert "manage.py apply_task_patch webarena-1</code>" in shown


@pytest.mark.slow
def test_query_count_does_not_grow_with_patched_tasks(engineer):
    task = make_patched()
    few = queries(engineer, f"/tasks/sets/{task.task_set_id}/")
    for number in range(10):
        original = make_task(str(100 + number), spec=SPEC)
        other = make_task(str(100 + number), task_set=task.task_set, original=original, spec=SPEC)
        TaskRevision.objects.create(task=other, category="ambiguity", why="unclear", changes=[])
    assert queries(engineer, f"/tasks/sets/{task.task_set_id}/") == few


# Blinding


def every_page(user: User, task: Task) -> str:
    """All that the pages say of the task, under every filter and order."""
    queries = [
        "",
        *(f"?kind={kind}" for kind in ("string_match", "string_match+url_match")),
        *(f"?patched={word}" for word in ("yes", "no", "reference", "infeasible")),
        "?infeasible=yes",
        "?infeasible=no",
        "?q=zq",
    ]
    keys = [task.pk, task.original_id]
    sets = [task.task_set_id, task.original.task_set_id if task.original else 0]
    return "".join(
        [
            *(page(user, URL + query) for query in queries),
            *(page(user, f"/tasks/{key}/") for key in keys),
            *(page(user, f"/tasks/{key}/preview/") for key in keys),
            *(page(user, f"/tasks/sets/{key}/") for key in sets),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_on_patched", [False, True])
def test_an_engineer_who_annotates_does_not_see_what_is_expected(engineer, is_on_patched):
    task = make_patched(infeasible_reason="zq-infeasible")
    assert task.original is not None
    run = make_run(task=task if is_on_patched else task.original, pictures=False)
    study = make_study(runs=[run], annotators=[engineer, make_user("annotator")])
    shown = every_page(engineer, task)
    assert "zq-" not in shown.replace("?q=zq", "").replace('value="zq"', "")
    assert "Find it at once" in shown
    assert not listed(engineer, "?patched=yes")
    assert not listed(engineer, "?infeasible=yes")
    assert not listed(engineer, "?infeasible=no")
    assert not listed(engineer, "?kind=string_match%2Burl_match")
    others = every_page(make_user("engineer"), task)
    for words in ("zq-reference", "zq-why", "zq-infeasible"):
        assert words in others
    study.is_open = False
    study.save()
    assert "zq-reference" in every_page(engineer, task)


def test_other_versions_of_the_benchmark_are_sealed_by_the_tasks_id(engineer):
    """A run imported under BrowserGym's name seals the task of the file, and the audited one."""
    stub = make_task(
        "webarena.7", task_set=TaskSet.objects.create(name="webarena", version="0.14.3")
    )
    audited = make_task(
        "7", task_set=TaskSet.objects.create(name="webarena-verified", version="1"), spec=SPEC
    )
    other = make_task("8", spec=SPEC)
    make_study(runs=[make_run(task=stub, pictures=False)], annotators=[engineer])
    assert "zq-reference" not in page(engineer, f"/tasks/{audited.pk}/")
    assert "zq-reference" in page(engineer, f"/tasks/{other.pk}/")
    assert "you judge runs of them" not in page(engineer, f"/tasks/sets/{other.task_set_id}/")


def test_what_waits_for_the_reader_is_looked_up_once_for_the_table(engineer):
    make_study(runs=2, annotators=[engineer])
    client = client_of(engineer)
    with CaptureQueriesContext(connection) as caught:
        assert client.get(URL).status_code == 200
    asked = [query["sql"] for query in caught if "judging_studyitem" in query["sql"]]
    assert len(asked) == 1
