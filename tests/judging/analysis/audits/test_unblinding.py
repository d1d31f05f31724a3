"""Whoever reads what evaluators say of single runs is remembered, however they read it."""

import pytest

from judging.models import Unblinding
from judging.studies import access
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only(
        "figures, alike on both; test_paper.py and test_what_if.py run on PostgreSQL"
    ),
    pytest.mark.slow,
]


def seen_by(page: str, mixed: audited.Audited, *args: object) -> int:
    """For how many runs it is remembered that the reader of the page saw them."""
    reader = audited.auditor()
    assert open_page(client_of(reader), page, mixed.study.pk, *args).status_code == 200
    return Unblinding.objects.filter(user=reader, study=mixed.study).count()


def test_runs_of_a_cell_as_a_file(mixed: audited.Audited) -> None:
    assert seen_by("audit_cells_file", mixed, pk("first"), "fn-fp", "csv") == 3 + 1


@pytest.mark.parametrize("name", ["triangle", "tagged_errors"])
def test_tables_of_single_runs(mixed: audited.Audited, name: str) -> None:
    assert seen_by("audit_table", mixed, name, "csv") == 15


def test_tables_of_sums_open_no_run(mixed: audited.Audited) -> None:
    assert seen_by("audit_table", mixed, "matrices", "csv") == 0


def test_runs_that_are_left_out_for_what_people_said_of_them(mixed: audited.Audited) -> None:
    assert seen_by("audit_left_out", mixed, "not_executable") == 1


def test_runs_that_are_left_out_for_other_reasons_open_nothing(mixed: audited.Audited) -> None:
    assert seen_by("audit_left_out", mixed, "unsettled") == 0


def test_the_form_for_one_error(world: audited.Audited) -> None:
    tagger = audited.person("tagger", "judging.view_audit", "judging.add_causetag")
    run_id = world.items[0].run_id
    form = open_page(client_of(tagger), "cause_tag", world.study.pk, pk("strict"), run_id)
    assert form.status_code == 200
    assert [seen.item for seen in Unblinding.objects.filter(user=tagger)] == [world.items[0]]


def test_many_runs_are_remembered_in_parts(
    mixed: audited.Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "CHUNK", 4)
    reader = audited.auditor()
    for _ in range(2):
        access.record_unblindings(user=reader, items=mixed.items, reason="all of them")
    assert Unblinding.objects.filter(user=reader).count() == len(mixed.items)
