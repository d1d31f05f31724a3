"""Header and rows of a table and the menus of its filters as HTML, each column read once.

django-tables2 gives columns and order. Its own rows ask every column anew in every row: two thirds
of the time that a list took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from html import escape
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from django import template
from django.core.exceptions import ObjectDoesNotExist
from django.forms.utils import flatatt
from django.http import QueryDict
from django.template.defaultfilters import capfirst
from django.utils.formats import localize
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from runs.interface.filters import MENU
from runs.interface.keyset import ADDRESS_NAMES

if TYPE_CHECKING:
    import django_tables2
    from django_tables2.columns import BoundColumn

    from runs.interface.filters import AddressFilter, Option

register = template.Library()
Write = Callable[[Any], str]
_CHOSEN = ' aria-current="true"'
_COUNT = '<span class="muted num push">{}</span>'


@register.simple_tag(takes_context=True)
def table_header(context: template.Context, table: django_tables2.Table) -> SafeString:
    """The cells of the table's header; a column that sorts leads to the first page in its order."""
    query = context["request"].GET.copy()
    for name in (table.prefixed_page_field, *ADDRESS_NAMES):
        query.pop(name, None)
    cells = "".join(_header(table, column, query) for column in table.columns)
    return mark_safe(cells)  # noqa: S308 (of parts that are escaped)


def _header(table: django_tables2.Table, column: BoundColumn, query: QueryDict) -> str:
    keeps_case = getattr(column.column, "keeps_case", False)
    words = _written(column.header if keeps_case else capfirst(column.header))
    start = f'<th scope="col" {column.attrs["th"].as_html()}'
    if not column.orderable:
        return f"{start}>{words}</th>\n"
    alias, order = column.order_by_alias, "none"
    if column.is_ordered:
        order = "descending" if alias.is_descending else "ascending"
    query[table.prefixed_order_by_field] = alias.next
    address = escape(f"?{query.urlencode()}")
    asks = f' hx-get="{address}"' if getattr(table, "is_partial", False) else ""
    return f'{start} aria-sort="{order}"><a href="{address}"{asks}>{words}</a></th>\n'


@register.simple_tag
def table_rows(table: django_tables2.Table) -> SafeString:
    """All rows of the table's page.

    What a column says of its `td` holds for each row; `render` may take `value`, `record`,
    `table`, `column` and `bound_column`: without `record`, it is asked once for each value. Of
    `Meta.row_attrs`, each is a text or takes the record.
    """
    cells = [_cell_writer(table, column) for column in table.columns]

    def drawn(record: Any) -> str:
        return (
            f"<tr{_row_attrs(table, record)}>{''.join([write(record) for write in cells])}</tr>\n"
        )

    rows = "".join(drawn(row.record) for row in table.paginated_rows)
    return mark_safe(rows)  # noqa: S308 (of parts that are escaped)


def _row_attrs(table: django_tables2.Table, record: Any) -> str:
    return _flat(
        {
            name: value(record) if callable(value) else value
            for name, value in table.row_attrs.items()
        }
    )


def _flat(attrs: Mapping[str, Any]) -> str:
    given = {name: value for name, value in attrs.items() if value is not None}
    if any(isinstance(value, bool) for value in given.values()):
        return flatatt(given)
    return "".join([f' {name}="{escape(str(value))}"' for name, value in sorted(given.items())])


def _cell_writer(table: django_tables2.Table, column: BoundColumn) -> Write:
    """Writes a column's cell of a record."""
    start = f"<td{_flat(column.attrs['td'])}>"
    render = column.render
    names = _parameters(getattr(render, "__func__", render))
    given = {"table": table, "column": column.column, "bound_column": column}
    given = {name: given[name] for name in names if name in given}
    takes_value, takes_record = "value" in names, "record" in names
    empty, default = column.column.empty_values, _written(column.default)

    def write(value: Any, record: Any) -> str:
        if value in empty:
            return f"{start}{default}</td>"
        if takes_value:
            given["value"] = value
        if takes_record:
            given["record"] = record
        return f"{start}{_written(render(**given))}</td>"

    read = _reader(str(column.accessor))
    if takes_record:
        return lambda record: write(read(record), record)
    return _once_a_value(read, write)


def _once_a_value(read: Callable[[Any], Any], write: Callable[[Any, Any], str]) -> Write:
    """Writes what follows from the value alone once a page: fifty runs have few outcomes.

    Text that is safe and text that is not are two values, though they are equal.
    """
    known: dict[tuple[type, Any], str] = {}

    def write_once(record: Any) -> str:
        value = read(record)
        key = value.__class__, value
        try:
            return known[key]
        except KeyError:
            known[key] = written = write(value, record)
            return written
        except TypeError:  # a list, say
            return write(value, record)

    return write_once


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(signature(function).parameters)


def _reader(accessor: str) -> Callable[[Any], Any]:
    """Reads `task__site` of a record; None where something on the way is not there.

    A record is a row of `values_list(named=True)`, which holds it by this name, or an object.
    """
    flat, get = attrgetter(accessor), attrgetter(accessor.replace("__", "."))

    def read(record: Any) -> Any:
        if isinstance(record, tuple):
            return flat(record)
        try:
            return get(record)
        except (AttributeError, ObjectDoesNotExist):
            return None

    return read


@register.simple_tag
def filter_menus(filters: AddressFilter, address: str) -> SafeString:
    """A menu for each filter that offers something, which is asked for what once it is opened.

    Args:
        address: answers with `menu_items` of the filter that `MENU` names.
    """
    joined = "&" if "?" in address else "?"
    words = gettext("Loading …")
    start, rest = f"{address}{joined}{MENU}=", filters.bare_address and f"&{filters.bare_address}"
    menus = [
        _menu(name, label, escape(start + name + rest), words) for name, label in filters.menus
    ]
    return mark_safe("".join(menus))  # noqa: S308 (of parts that are escaped)


def _menu(name: str, label: str, address: str, words: str) -> str:
    return (
        f'<details class="dropdown start" data-menu id="filter-{name}">'
        f'<summary class="button small quiet">{escape(capfirst(label))}</summary>'
        f'<div class="sheet" role="group" aria-label="{escape(label)}" aria-live="polite">'
        f'<span class="muted" hx-get="{address}" hx-trigger="toggle from:closest details"'
        f' hx-swap="outerHTML" hx-target="this" hx-push-url="false">{words}</span>'
        "</div></details>\n"
    )


F = TypeVar("F", bound="AddressFilter")


def menu_of(
    query: QueryDict,
    filter_of: Callable[[QueryDict], F],
    counts_of: Callable[[F, str], Callable[[str], str]],
) -> SafeString:
    """The choices of the filter that the query names, counted beside the other filters."""
    query = query.copy()
    name = query.pop(MENU, [""])[-1]
    options = filter_of(query).options(name)
    query.pop(name, None)
    return menu_items(name, options, counts_of(filter_of(query), name))


def menu_items(
    name: str, options: Iterable[Option], count_of: Callable[[str], str] = lambda _value: ""
) -> SafeString:
    """What a menu offers, with how many rows each choice finds where that is known."""
    items = [
        f'<a class="item" id="filter-{name}-{number}" href="?{query}" hx-get="?{query}"'
        f"{_CHOSEN if option.is_chosen else ''}>{escape(option.words)}"
        f"{_COUNT.format(escape(count)) if count else ''}</a>"
        for number, option in enumerate(options, 1)
        for query, count in ((escape(option.query), count_of(option.value)),)
    ]
    nothing = gettext("Nothing to choose.")
    found = "".join(items) or f'<span class="muted">{nothing}</span>'
    return mark_safe(found)  # noqa: S308 (of parts that are escaped)


def _written(content: Any) -> str:
    if hasattr(content, "__html__"):
        return str(content.__html__())
    if type(content) is int:
        return _number(content, get_language())
    return escape(content if isinstance(content, str) else str(localize(content)))


@lru_cache(maxsize=10_000)
def _number(value: int, language: str | None) -> str:
    """Lists are full of small numbers."""
    return escape(str(localize(value)))
