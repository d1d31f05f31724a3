"""A page costs what it shows, whatever else the site holds.

Every address is visited on a site of 1,000 runs and on the same site of 20,000, and the database
does at most half as much more for it. What a page is about keeps its size; see `growing_world`.
Bounds of what is read at most are lowered, so that the small site is beyond them too.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from judging.analysis import rerun_facts
from judging.analysis.experiments import compare_views as experiment_compare
from judging.analysis.hint_effects import forms as hint_forms
from judging.portability.label_imports import views as label_import_views
from judging.studies.disputes import views as dispute_views
from runs.accounts import audit_log_pages as acts
from runs.catalogue.tasks import tables as task_filters
from runs.interface import paging
from runs.knowledge.web import forms as knowledge_forms
from runs.knowledge.web import pages as knowledge_pages
from runs.launching.policies import rerun_views
from runs.launching.policies import views as policy_pages
from runs.launching.reruns import views as rerun_page
from runs.models import User
from runs.operations.health import infrastructure
from runs.viewer.run_list import filters as run_filters
from tests.judging.api.test_blinding import QUERIES
from tests.judging.growth.growing_world import GrowingWorld
from tests.judging.growth.work_count import Work, counted_work
from tests.judging.studies.blind_world import World
from tests.judging.studies.crawling import log_in, respond, undone
from tests.judging.studies.url_cases import CASES, Visit
from tests.runs.api.asking import Caller
from tests.runs.factories import make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite counts its instructions"),
]

FEW, MANY = 1_000, 20_000
GROWTH = 1.5
VIEWERS = ("engineer", "annotator", "adjudicator")
ONLY = os.environ.get("GROWTH_OF", "")
"""Addresses that are visited begin with this name, such as `runs:run_detail`; empty: all."""
VISITS = 1
"""Of one address so many are made that differ in more than ids and endings."""
TRIED = 2
"""Of those that are alike so many are tried, until one is answered."""
BOUNDS = (
    (paging, "COUNTED", 60),
    (paging, "COUNTED_AT_ONCE", 60),
    (policy_pages, "MOST_COUNTED", 20),
    (infrastructure, "MOST_ATTEMPTS", 50),
    (experiment_compare, "MOST_OFFERED", 40),
    (knowledge_forms, "MOST_OFFERED", 40),
    (acts, "DOWNLOADED", 100),
    (rerun_page, "MOST_LISTED", 60),
    (dispute_views, "MOST_WAITING", 5),
    (label_import_views, "LOOKED_THROUGH", 40),
    (rerun_facts, "MOST_STUDIES", 40),
    (rerun_views, "MOST_OFFERED", 40),
    (hint_forms, "MOST_OFFERED", 40),
    (knowledge_pages, "LOOKED_AT", 100),
    (run_filters, "MAX_OPTIONS", 40),
    (task_filters, "MAX_OPTIONS", 15),
    (task_filters, "LOOKED_AT", 200),
)
IDS = re.compile(r"/(?:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f-]{27}|\d+)(?=/|$)")
IDS_ASKED = re.compile(r"=(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d+)(?=&|$)")
ENDING = re.compile(r"\.\w+$")


@dataclass(frozen=True)
class Kind:
    """Visits that differ only in whose data they are about, and in the ending of a file."""

    viewer: str
    address: str
    asked: str

    def __str__(self) -> str:
        return f"{self.viewer}: {self.address} ({self.asked})"


class Viewer:
    """Somebody who visits addresses, by session, or by token where it is the API's."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self._pages, self._api = Client(), Caller(getattr(world, name)).client
        self._session = log_in(getattr(world, name))

    def visit(self, visit: Visit) -> tuple[int, Work]:
        """The status of the answer, and what the database did for it; nothing stays."""
        client = self._api if visit.path.startswith("/api/") else self._pages
        if client is self._pages:
            client.cookies.clear()
            client.cookies[settings.SESSION_COOKIE_NAME] = self._session
        headers = {"HX-Request": "true"} if "?" in visit.path else {}
        with undone(), counted_work() as work:
            response = respond(client, visit, headers)
            b"".join(bytes(part) for part in response)
        return response.status_code, work


def test_the_count_tells_a_look_at_every_row_from_a_look_at_one() -> None:
    user = make_user()
    works = []
    for n in (10, 1_000):
        User.objects.bulk_create(User(username=f"of {n}: {number}") for number in range(n))
        with counted_work() as of_all:
            assert not User.objects.filter(last_name="nobody").exists()
        with counted_work() as of_one:
            assert User.objects.filter(pk=user.pk).exists()
        works.append((of_all, of_one))
    (few_all, few_one), (many_all, many_one) = works
    assert few_all.growth_to(many_all) > 10
    assert few_one.growth_to(many_one) == 1


def test_no_page_grows_with_the_rest_of_the_site(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="django.request")
    for module, bound, value in BOUNDS:
        monkeypatch.setattr(module, bound, value)
    site = GrowingWorld()
    site.grow_to(FEW)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    viewers = {name: Viewer(site.world, name) for name in VIEWERS}
    few = {
        kind: _answered(viewers[kind.viewer], visits) for kind, visits in _kinds(site.world).items()
    }
    site.grow_to(MANY)
    grown: list[tuple[float, str]] = []
    for kind, (visit, before) in few.items():
        _status, after = viewers[kind.viewer].visit(visit)
        growth = before.growth_to(after)
        if growth > GROWTH:
            grown.append((growth, f"{growth:.1f} times: {kind}: {before}; then {after}"))
    assert not grown, "\n".join(line for _growth, line in sorted(grown, reverse=True))


def _answered(viewer: Viewer, visits: list[Visit]) -> tuple[Visit, Work]:
    """The first of the visits that is answered, else the first; and its work."""
    found = []
    for visit in visits[:TRIED]:
        status, work = viewer.visit(visit)
        if status in (200, 302):
            return visit, work
        found.append((visit, work))
    return found[0]


def _kinds(world: World) -> dict[Kind, list[Visit]]:
    """The visits of every address, alike ones together."""
    kinds: dict[Kind, list[Visit]] = {}
    for address, fill in CASES.items():
        if not address.startswith(ONLY):
            continue
        alike: dict[str, list[Visit]] = {}
        for visit in fill(world):
            for each in _with_queries(address, visit):
                alike.setdefault(_asked(each), []).append(each)
        for asked in list(alike)[:VISITS]:
            kinds |= {Kind(viewer, address, asked): alike[asked] for viewer in VIEWERS}
    return kinds


def _with_queries(address: str, visit: Visit) -> Iterator[Visit]:
    yield visit
    queries: Iterable[str] = QUERIES.get(address.removeprefix("api:"), ())
    for query in queries:
        yield Visit(f"{visit.path}?{query}")


def _asked(visit: Visit) -> str:
    path, _, query = visit.path.partition("?")
    sent = "" if visit.data is None else f"POST {' '.join(visit.data)} "
    return f"{sent}{ENDING.sub('', IDS.sub('/…', path))}?{IDS_ASKED.sub('=…', query)}".rstrip("?")
