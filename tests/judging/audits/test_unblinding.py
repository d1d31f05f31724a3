"""Whoever reads what evaluators say of single runs is remembered, however they read it."""

from __future__ import annotations

import pytest

from judging.models import Unblinding
from tests.judging import audited
from tests.judging.audits.pages import logged_in, open_page, pk

pytestmark = pytest.mark.django_db


def seen_by(page: str, mixed: audited.Audited, *args: object) -> int:
    """For how many runs it is remembered that the reader of the page saw them."""
    reader = audited.auditor()
    assert open_page(logged_in(reader), page, mixed.study.pk, *args).status_code == 200
    return Unblinding.objects.filter(user=reader, study=mixed.study).count()


def test_runs_of_a_cell_as_a_file(mixed: audited.Audited) -> None:
    assert seen_by("audit_cells_file", mixed, pk("first"), "fn-fp", "csv") == 3 + 1


@pytest.mark.parametrize("name", ["triangle", "tagged_errors"])
def test_tables_of_single_runs(mixed: audited.Audited, name: str) -> None:
    assert seen_by("audit_table", mixed, name, "csv") == 15


def test_tables_of_sums_open_no_run(mixed: audited.Audited) -> None:
    assert seen_by("audit_table", mixed, "matrices", "csv") == 0
