"""The runs behind the numbers, and the way through them."""

import re

import pytest
from django.urls import reverse

from judging.analysis.audits.population import Shown, items_in_cells, neighbours, read_cells
from judging.models import ReferenceVerdict
from runs.models import Run
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


def test_several_cells_by_one_address(mixed: audited.Audited) -> None:
    assert read_cells("tp-fp") == [Shown.TP, Shown.FP]
    for wrong in ("", "tp-", "tp-tp", "xx", "TP"):
        with pytest.raises(ValueError, match=r".*"):
            read_cells(wrong)


def test_neighbours_walk_the_cell_from_end_to_end(mixed: audited.Audited) -> None:
    items = items_in_cells(mixed.study, audited.evaluator("first"), [Shown.FN])
    first, second, third = (item.run_id for item in items)
    here = neighbours(items, second)
    assert here is not None
    assert (here.number, here.total, here.previous, here.next) == (2, 3, first, third)
    start, end = neighbours(items, first), neighbours(items, third)
    assert start is not None
    assert end is not None
    assert (start.previous, end.next) == (None, None)
    assert neighbours(items, mixed.items[0].run_id) is None


def test_list_links_to_the_run_with_its_way_through_the_cell(mixed: audited.Audited) -> None:
    judge = audited.evaluator("first")
    client = client_of(audited.auditor())
    page = open_page(client, "audit_cells", mixed.study.pk, judge.pk, "fn").content.decode()
    for item in items_in_cells(mixed.study, judge, [Shown.FN]):
        address = f"/runs/{item.run_id}/?study={mixed.study.pk}&amp;audit={judge.pk}&amp;cell=fn"
        assert address in page
    assert page.count("data-run=") == 3
    assert "<title>FN: missed successes" in page


def test_runs_left_out_say_why(mixed: audited.Audited) -> None:
    client = client_of(make_user("engineer"))
    people = [(audited.person(name), word) for name, word in (("p", "success"), ("q", "failure"))]
    mixed.add(None, people)
    ReferenceVerdict.objects.filter(verdict="not_executable").update(rationale="The site was down.")
    for group, words in {
        "infeasible": ["no such product"],
        "not_executable": ["The site was down."],
        "unsettled": [">Open<", ">Disputed<"],
    }.items():
        page = open_page(client, "audit_left_out", mixed.study.pk, group).content.decode()
        assert page.count("<tr data-run>") == len(words)
        for each in words:
            assert each in page


def test_an_empty_cell_says_why(mixed: audited.Audited) -> None:
    client = client_of(make_user("engineer"))
    study, judge = audited.study("All right"), audited.evaluator("first")
    audited.judged(study, judge, ["tp", "tp", "tn"])
    pages = [
        open_page(client, "audit_cells", study.study.pk, judge.pk, cell).content.decode()
        for cell in ("fn", "fp")
    ]
    assert "Misses 0 of 2 successes" in pages[0]
    assert "Passes 0 of 1 failure" in pages[1]
    silent = audited.evaluator("silent")
    page = open_page(client, "audit_cells", study.study.pk, silent.pk, "fn").content.decode()
    assert "No verdict on any run" in page
    assert "Not evaluated yet" in page
    assert reverse("judging:audit_evaluate", args=[study.study.pk]) in page


def test_a_cell_can_be_run_again_as_a_whole(mixed: audited.Audited) -> None:
    judge = audited.evaluator("first")
    client = client_of(make_user("engineer"))
    page = open_page(client, "audit_cells", mixed.study.pk, judge.pk, "fn").content.decode()
    runs = re.findall('name="run" value="([^"]+)"', page)
    items = items_in_cells(mixed.study, judge, [Shown.FN])
    assert runs == [str(item.run_id) for item in items]
    assert "Rerun 3 runs" in page
    assert client.post(reverse("runs:run_rerun_selected"), {"run": runs}).status_code == 200
    reader = client_of(audited.auditor())
    page = open_page(reader, "audit_cells", mixed.study.pk, judge.pk, "fn").content.decode()
    assert 'name="run"' not in page


@pytest.mark.parametrize("cells", ["xx", "tp-tp", "tp--fn"])
def test_unknown_cell_is_not_found(mixed: audited.Audited, cells: str) -> None:
    client = client_of(audited.auditor())
    judge = audited.evaluator("first")
    assert open_page(client, "audit_cells", mixed.study.pk, judge.pk, cells).status_code == 404


def test_htmx_gets_the_table_alone(mixed: audited.Audited) -> None:
    client = client_of(audited.auditor())
    arguments = ("audit_cells", mixed.study.pk, audited.evaluator("first").pk, "tp")
    page = open_page(client, *arguments, **{"HX-Request": "true"})
    assert page.content.strip().startswith(b'<div id="cell-table"')


def test_left_out_runs_are_listed_with_their_reason(mixed: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_left_out", mixed.study.pk, "infeasible").content.decode()
    assert "no such product" in page
    assert page.count("data-run") == 1
    assert open_page(client, "audit_left_out", mixed.study.pk, "counted").status_code == 404


def test_run_table_of_a_cell_sorts_by_what_is_shown(mixed: audited.Audited) -> None:
    client = client_of(audited.auditor())
    judge = audited.evaluator("first")
    address = reverse("judging:audit_cells", args=[mixed.study.pk, judge.pk, "tp-fn"])
    page = client.get(f"{address}?sort=-position").content.decode()
    runs = re.findall(r'data-run="([^"]+)"', page)
    expected = items_in_cells(mixed.study, judge, [Shown.TP, Shown.FN]).reverse()
    assert runs == [str(item.run_id) for item in expected]
    assert Run.objects.filter(pk=runs[0]).exists()


def test_a_run_has_one_number_on_all_pages_of_its_study(world: audited.Audited) -> None:
    reader = client_of(audited.person("manager", "judging.view_audit", "judging.view_study"))
    study = [world.study.pk]
    pages = (
        reader.get(reverse("judging:study_detail", args=study)),
        open_page(reader, "audit_triangle", *study),
        open_page(reader, "audit_cells", *study, pk("strict"), "tp-fn-tn-fp-none"),
    )
    number = re.compile(r'<td[^>]*class="[^"]*\bdesk\b[^"]*"[^>]*>\s*([1-9]\d*)\s*</td>')
    for page in pages:
        found = [int(each) for each in number.findall(page.content.decode())]
        assert sorted(found)[:6] == [1, 2, 3, 4, 5, 6], page.request["PATH_INFO"]


def test_an_error_shows_what_was_expected_beside_what_was_given() -> None:
    world = audited.study()
    judge = audited.evaluator("strict")
    checks = [
        {"name": "url_match", "verdict": "passed", "expected": "/cart"},
        {"name": "exact_match", "verdict": "failed", "expected": "1 December"},
    ]
    run = make_run(final_answer="on <b>1 December</b>", task=audited.task("december"))
    world.add("success", of=run)
    audited.evaluation(run, judge, "failed", details={"checks": checks})
    page = open_page(
        client_of(audited.auditor()), "audit_cells", world.study.pk, judge.pk, "fn"
    ).content.decode()
    row = page[page.index(f'data-run="{run.pk}"') :]
    words = " ".join(re.sub(r"<[^>]+>", " ", row[: row.index("</tr>")]).split())
    assert words.endswith("1 December on &lt;b&gt;1 December&lt;/b&gt; exact_match —")
    last = run.steps.order_by("-index").first()
    assert last is not None
    assert last.screenshot is not None
    assert reverse("runs:run_blob", args=[run.pk, last.screenshot.thumbnail]) in row
