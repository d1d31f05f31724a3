"""Rows drawn column by column read as django-tables2 would draw them."""

from types import SimpleNamespace
from typing import Any

import django_tables2 as tables
import pytest
from django.core.paginator import EmptyPage
from django.template import Context, Template
from django.utils.html import format_html
from django.utils.translation import gettext_lazy
from pytest_django import DjangoAssertNumQueries

from runs.interface.filters import Option
from runs.interface.paging import TablePaginator
from runs.interface.table_rows import menu_items, table_rows
from runs.models import Task
from tests.runs.factories import make_task

HOSTILE = '<script>alert("1")</script>\'&'
LIBRARYS_OWN = Template(
    "{% for row in table.paginated_rows %}<tr {{ row.attrs.as_html }}>"
    "{% for column, cell in row.items %}"
    "<td {{ column.attrs.td.as_html }}>{{ cell }}</td>{% endfor %}"
    "</tr>\n{% endfor %}"
)


# The library has no types; a class of it is Any.
class Table(tables.Table):  # type: ignore[misc]
    name = tables.Column(attrs={"td": {"class": "wide", "data-label": gettext_lazy("name")}})
    number = tables.Column(accessor="within__number")
    absent = tables.Column(accessor="within__absent__further", default="none")
    drawn = tables.Column(accessor="name", empty_values=())
    both = tables.Column(accessor="within__number")

    class Meta:
        row_attrs = {"data-name": lambda record: record.name, "class": lambda record: None}

    def render_drawn(self, record: Any) -> str:
        return format_html("<b>{}</b>", record.name)

    def render_both(self, value: Any, record: Any, table: Any) -> str:
        return f"{value}{record.name}{len(table.data)}"


def as_the_library_draws(table: tables.Table) -> str:
    drawn: str = LIBRARYS_OWN.render(Context({"table": table}))
    for left_out in (' class="even"', ' class="odd"'):
        drawn = drawn.replace(left_out, "")
    return drawn.replace("<td >", "<td>")


@pytest.mark.parametrize("name", ["plain", HOSTILE, "", None, 'a" onclick="b'])
def test_rows_are_those_of_the_library(name: str | None) -> None:
    rows = [SimpleNamespace(name=name, within=SimpleNamespace(number=n)) for n in (0, 12345, None)]
    drawn = table_rows(Table(rows))
    assert str(drawn) == as_the_library_draws(Table(rows))
    assert "<script>" not in drawn


def test_a_menu_escapes_what_it_offers_and_marks_what_is_chosen() -> None:
    options = [
        Option("1", HOSTILE, is_chosen=True, query="a=1&b=2"),
        Option("2", "b", is_chosen=False, query=""),
    ]
    menu = menu_items("site", options, lambda value: HOSTILE if value == "2" else "")
    assert "<script>" not in menu
    assert menu.count('aria-current="true"') == 1
    assert 'href="?a=1&amp;b=2" hx-get="?a=1&amp;b=2"' in menu


class Sites(tables.Table):  # type: ignore[misc]
    site = tables.Column()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("per_page", "number", "shown", "queries"),
    [(4, 1, "abc", 1), (3, 1, "abc", 1), (2, 1, "ab", 2), (2, 2, "c", 2)],
)
def test_rows_are_counted_only_where_the_first_page_does_not_hold_them(
    per_page: int,
    number: int,
    shown: str,
    queries: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for site in "abc":
        make_task(site, site=site)
    table = Sites(Task.objects.order_by("site"))
    with django_assert_num_queries(queries):
        table.paginate(TablePaginator, per_page=per_page, page=number)
        assert "".join(row.record.site for row in table.paginated_rows) == shown
        assert table.paginator.count == 3
        assert table.page.has_next() == (number * per_page < 3)


@pytest.mark.django_db
def test_a_table_without_rows_has_one_page_and_no_other() -> None:
    table = Sites(Task.objects.all())
    table.paginate(TablePaginator, per_page=2)
    assert (len(table.paginated_rows), table.page.has_other_pages()) == (0, False)
    with pytest.raises(EmptyPage):
        table.paginate(TablePaginator, per_page=2, page=2)
