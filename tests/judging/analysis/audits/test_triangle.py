"""The triangle against what was put into it, filtered, sorted and walked."""

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.analysis.audits.query import read_selection, selected_items
from judging.analysis.audits.verdict_sources import sources_of
from judging.analysis.audits.verdicts import verdicts_on
from judging.models import Unblinding
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


def places(world: audited.Audited, query: str) -> list[int]:
    """Which of the world's runs are selected, in order."""
    sources = sources_of(world.study)
    selection = read_selection(QueryDict(query), sources)
    items = selected_items(selection, sources)
    return [world.items.index(item) for item in items]


def test_disagreement_by_hand(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    selection = read_selection(QueryDict("sort=position"), sources)
    found = [item.disagreement for item in selected_items(selection, sources)]
    # p of success and f of failure: 3/1, 2/2, 4/0, 1/3, 0/4, 0/1
    assert found == pytest.approx([6 / 12, 8 / 12, 0, 6 / 12, 0, 0])
    assert places(world, "") == [1, 0, 3, 2, 4, 5]
    assert places(world, "sort=disagreement") == [2, 4, 5, 0, 3, 1]


def test_disagreement_is_of_the_evaluators_shown(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    selection = read_selection(QueryDict(f"sort=position&show={pk('judge')}"), sources)
    found = [item.disagreement for item in selected_items(selection, sources)]
    assert found == pytest.approx([0, 4 / 6, 0, 4 / 6, 0, 0])


def test_filters_by_hand(world: audited.Audited) -> None:
    strict, judge = pk("strict"), pk("judge")
    person = sources_of(world.study).annotators[1].key
    expected = {
        f"cell={strict}_fn": [0, 1],
        f"cell={strict}_fn-tp": [0, 1, 2],
        f"cell={strict}_none": [5],
        f"cell={judge}_none": [5],
        f"cell={judge}_fp": [3],
        f"cell={strict}_fn&cell={judge}_tp": [0, 1],
        f"cell={judge}.equivalence_fn&cell={judge}.inclusion_tp": [1],
        f"cell={judge}.inclusion_none": [0, 2, 5],
        f"cell={person}_fn": [1],
        f"differ={strict}~{judge}": [0, 1, 3],
        f"differ={strict}~{person}": [0],
        "differ=any": [0, 1, 3],
        "differ=people": [1, 5],
        "site=map": [4, 5],
        "template=1": [1, 3, 5],
        "kind=string_match": [0, 2, 4],
        f"kind=string_match&cell={strict}_fn": [0],
    }
    assert {query: sorted(places(world, query)) for query in expected} == expected


@pytest.mark.parametrize(
    "query",
    ["cell=0_fn", "cell=x", "cell=1_xx", "differ=1~2~3", "differ=x", "differ=u0~1", "site=%00"],
)
def test_an_address_that_means_nothing_is_not_found(world: audited.Audited, query: str) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_triangle", args=[world.study.pk])
    answer = client.get(f"{address}?{query}")
    assert answer.status_code == 404
    given = query.replace("%00", "\N{REPLACEMENT CHARACTER}")
    assert f"<p>{given}: " in answer.content.decode()


def test_a_selection_is_its_address(world: audited.Audited) -> None:
    strict, judge = pk("strict"), pk("judge")
    sources = sources_of(world.study)
    query = (
        f"cell={strict}_fn-fp&cell={judge}.inclusion_tp&differ={strict}~{judge}"
        f"&site=shop&kind=url_match&show={judge}&sort=-task"
    )
    selection = read_selection(QueryDict(query), sources)
    assert read_selection(QueryDict(selection.query), sources) == selection
    assert "site" not in selection.without("site").query
    assert "differ" not in selection.without("differ").query
    assert f"{strict}_fn" not in selection.without(selection.cells[0]).query


def test_what_everybody_said(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    judge = pk("judge")
    assert [source.key for source in sources.all][2:] == [
        str(pk("strict")),
        f"{judge}.equivalence",
        f"{judge}.inclusion",
        str(judge),
    ]
    shown = sources.columns(sources.evaluators)
    found = verdicts_on(world.items, sources, shown)
    second = found[world.items[1].pk]
    assert list(second.labels.items()) == [("ann", "success"), ("bob", "failure")]
    assert [(second.by(source).verdict, second.by(source).cell) for source in shown] == [
        ("failed", "fn"),
        ("failed", "fn"),
        ("passed", "tp"),
        ("passed", "tp"),
    ]
    last = found[world.items[5].pk]
    assert [last.by(source).reason for source in shown] == [
        "needs a judge",
        "",
        "",
        "not evaluated yet",
    ]


def rows_of(page: str) -> list[str]:
    return re.findall(r"<tr data-run=.*?</tr>", page, re.DOTALL)


def test_page_shows_a_row_a_run_in_words(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_triangle", world.study.pk).content.decode()
    rows = rows_of(page)
    assert len(rows) == 6
    words = " ".join(re.sub(r"<[^>]+>", " ", rows[0]).split())
    assert words == "2 Goal of t1 66.7 % success failure success FN FN passed passed"
    assert "no verdict" in rows[5]
    assert "not asked" in rows[1]
    assert "ann" in page
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


def test_htmx_gets_the_table_alone(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_triangle", world.study.pk, **{"HX-Request": "true"})
    assert page.content.strip().startswith(b'<div id="triangle"')


def walk_of(client: Any, address: str) -> tuple[str, str, str]:
    """The position on the way, and the addresses of the runs before and after."""
    parts = urlsplit(address)
    pane = client.get(f"{parts.path}judgements/?{parts.query}").content.decode()
    position = re.search(r"(\d+ of \d+)", pane)
    links = {rel: re.search(rf'rel="{rel}"[^>]*href="([^"]+)"', pane) for rel in ("prev", "next")}
    previous, following = (
        found[1].replace("&amp;", "&") if (found := links[rel]) else "" for rel in ("prev", "next")
    )
    return position[1] if position else "", previous, following


@pytest.mark.parametrize(
    "query", ["", "sort=task", "sort=-position", "differ=any", "kind=url_match"]
)
def test_walking_keeps_the_selection_and_its_order(world: audited.Audited, query: str) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_triangle", args=[world.study.pk])
    page = client.get(f"{address}?{query}").content.decode()
    here = re.search(r'class="row-link" href="([^"]+)"', page)
    assert here
    walked = []
    link = here[1].replace("&amp;", "&")
    while link:
        assert parse_qs(urlsplit(link).query, keep_blank_values=True)["triangle"] == [query]
        walked.append(urlsplit(link).path)
        place, previous, link = walk_of(client, link)
        assert place == f"{len(walked)} of {len(rows_of(page))}"
        assert bool(previous) == (len(walked) > 1)
    runs = [str(world.items[place].run_id) for place in places(world, query)]
    assert walked == [f"/runs/{run}/" for run in runs]


def test_a_wrong_verdict_opens_its_evaluator_and_its_cause(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    strict = pk("strict")
    page = client.get(
        reverse("judging:audit_triangle", args=[world.study.pk]) + f"?cell={strict}_fn"
    ).content.decode()
    row = rows_of(page)[0]
    link = re.findall(r'href="([^"]+)"', row)[0].replace("&amp;", "&")
    query = parse_qs(urlsplit(link).query)
    assert (query["audit"], query["cell"]) == ([str(strict)], ["fn"])
    parts = urlsplit(link)
    pane = client.get(f"{parts.path}judgements/?{parts.query}").content.decode()
    assert "1 of 2" in pane
    assert re.search(r'<details class="evaluator"[^>]*\bopen\b', pane)


def test_queries_do_not_grow_with_the_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    counted = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            open_page(client, "audit_triangle", world.study.pk)
        counted.append(len(queries))
        audited.judged(world, audited.evaluator("strict"), ["tp", "fn"] * 6)
    # The first view also records who saw the runs, and logs that it did.
    assert counted[1] <= counted[0] < 25


def test_who_saw_the_labels_is_recorded_once(world: audited.Audited) -> None:
    reader = audited.auditor()
    for _ in range(2):
        open_page(client_of(reader), "audit_triangle", world.study.pk)
    assert Unblinding.objects.filter(user=reader).count() == 6


def test_many_annotators_share_two_columns() -> None:
    world = audited.study("Many")
    people = [audited.person(name) for name in ("ann", "bob", "cat")]
    for first, second in ((0, 1), (1, 2), (2, 0)):
        world.add("success", [(people[first], "success"), (people[second], "success")])
    page = open_page(client_of(audited.auditor()), "audit_triangle", world.study.pk)
    rows = [
        " ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows_of(page.content.decode())
    ]
    # Each run's labels by when they came, which is the same moment here, then by name.
    assert rows[0].endswith("0.0 % success ann success bob success")
    assert rows[2].endswith("0.0 % success ann success cat success")


def test_hostile_names_and_goals_are_escaped() -> None:
    world = audited.study("Hostile")
    hostile = '<img src=x onerror="alert(1)">'
    run = audited.run(goal=hostile)
    world.add("success", of=run)
    audited.evaluation(run, audited.evaluator(hostile), "failed", reason=hostile)
    page = open_page(client_of(audited.auditor()), "audit_triangle", world.study.pk)
    assert "<img src=x" not in page.content.decode()


def test_file_holds_what_the_page_shows(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    strict = pk("strict")
    address = reverse("judging:audit_triangle_file", args=[world.study.pk, "json"])
    rows = json.loads(client.get(f"{address}?cell={strict}_fn").content)["rows"]
    assert [row["number"] for row in rows] == [2, 1]
    assert rows[0][f"{strict}_strict_cell"] == "fn"
    assert (rows[0]["label_ann"], rows[0]["label_bob"]) == ("success", "failure")
    assert rows[0]["disagreement"] == pytest.approx(8 / 12)
    assert client.get(address.replace("json", "xlsx")).status_code == 404


def test_nothing_to_show_says_why(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_triangle", args=[world.study.pk])
    page = client.get(f"{address}?site=nowhere").content.decode()
    assert "Nothing matches these filters" in page
    empty = audited.study("Empty")
    page = open_page(client, "audit_triangle", empty.study.pk).content.decode()
    assert "No run has a reference verdict yet" in page
