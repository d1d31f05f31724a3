"""What a page offers to be asked for: its own address, sorted, filtered and turned to other pages.

Read from its links and forms, so that a new column or filter is found by itself.
"""

import re
from collections.abc import Iterable
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode

SORT = "sort"
DAY = "2025-01-05"
MENU = re.compile(r'hx-get="([^"]+[?;]menu=[^"]+)"')
WORD = "zqzq"
"""Nobody writes it; long enough for an index of trigrams."""


def menu_addresses(page: str) -> list[str]:
    """Where the page's menus are asked for their choices."""
    return [unescape(address) for address in MENU.findall(page)]


def offered_queries(path: str, page: str, sampled: int) -> list[str]:
    """Queries of the page's own address, a few for each filter and one for each column.

    Args:
        path: the page's address, without a query.
        page: its HTML, with that of its menus.
        sampled: of the values of one filter so many are taken, spread over its choices.
    """
    reader = _Reader(path)
    reader.feed(page)
    by_field: dict[tuple[str, ...], list[str]] = {}
    for asked in dict.fromkeys(reader.asked):
        by_field.setdefault(fields_of(asked), []).append(urlencode(asked))
    return [query for all_ in by_field.values() for query in all_[:: -(-len(all_) // sampled)]]


def fields_of(asked: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What is filtered by, and by which column it is sorted."""
    return tuple(name + value * (name == SORT) for name, value in asked)


class _Reader(HTMLParser):
    """Collects queries of one address, each as its names with their values."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self._path = path
        self.asked: list[tuple[tuple[str, str], ...]] = []
        self._is_asking = False
        """Whether it is inside a form that leads to the address."""
        self._field = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a":
            path, _, query = given.get("href", "").partition("?")
            self._ask(parse_qsl(query) if path in ("", self._path) else [])
        elif tag == "form":
            leads_here = given.get("action", self._path) == self._path
            self._is_asking = leads_here and given.get("method", "get") == "get"
        elif tag == "select":
            self._field = given.get("name", "")
        elif self._is_asking and tag == "option":
            self._ask([(self._field, given.get("value", ""))])
        elif self._is_asking and tag == "input":
            self._ask([(given.get("name", ""), _entered(given))])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_asking = False

    def _ask(self, query: list[tuple[str, str]]) -> None:
        if query and all(name and value for name, value in query):
            self.asked.append(tuple(query))


def _entered(field: dict[str, str]) -> str:
    """What somebody enters into the field; nothing where only they would know."""
    kind = field.get("type", "text")
    entered: dict[str, str] = {"search": WORD, "date": DAY}
    return entered.get(kind, field.get("value", "") if kind in ("checkbox", "radio") else "")
