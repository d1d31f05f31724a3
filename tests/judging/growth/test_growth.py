"""A page costs what it shows, whatever else the site holds.

Every address is visited on a site of 1,000 runs and on the same site of 20,000, and the database
does at most half as much more for it. What a page is about keeps its size; see `growing_world`.
Bounds of what is read at most are lowered, so that the small site is beyond them too. SQLite plans
without statistics (`ANALYZE`), as it does for everybody who uses the product.
"""

import logging
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from judging import extension
from judging.analysis.audits import population
from judging.analysis.audits.comparing import views as comparing
from judging.analysis.experiments import population as experiment_population
from judging.analysis.experiments import views as experiment_views
from judging.analysis.hint_effects import writing as hint_forms
from judging.desk import home
from judging.portability.label_imports import views as label_import_views
from judging.studies import tables as study_tables
from judging.studies import views as study_views
from judging.studies.disputes import tables as dispute_tables
from judging.studies.disputes import views as dispute_views
from runs.accounts import audit_log_pages as acts
from runs.catalogue.tasks import tables as task_tables
from runs.interface import keyset, paging
from runs.knowledge.web import forms as knowledge_forms
from runs.knowledge.web import pages as knowledge_pages
from runs.launching.policies import rerun_views
from runs.launching.policies import views as policy_pages
from runs.launching.reruns import pages as rerun_page
from runs.models import User, visibility
from runs.operations.health import infrastructure
from runs.queue import jobs
from runs.viewer.run_list import filters as run_filters
from runs.viewer.run_list import pages as run_pages
from runs.viewer.run_list import views as run_facets
from tests.judging.api.test_blinding import QUERIES
from tests.judging.growth.growing_world import GrowingWorld
from tests.judging.growth.offered import fields_of, menu_addresses, offered_queries
from tests.judging.growth.work_count import Work, counted_work
from tests.judging.studies.blind_world import World
from tests.judging.studies.crawling import log_in, respond
from tests.judging.studies.statements import replies_to, told_apart, undone
from tests.judging.studies.url_cases import CASES, Visit
from tests.runs.api.asking import Caller
from tests.runs.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(1800)]

FEW, TIMES = 1_000, 20
GROWTH = 1.5
VIEWERS = (
    ("engineer", "annotator", "adjudicator") if connection.vendor == "sqlite" else ("engineer",)
)
"""The engineer visits every address, the others `LISTS` and `JUDGED`."""
LISTS = (
    *("judging:home", "judging:study_list", "judging:study_create", "judging:dispute_list"),
    *("judging:batch_list", "judging:label_import_list", "judging:audit_home", "api:list_"),
    *("runs:run_list", "runs:run_count", "runs:run_facets", "runs:run_matching"),
    *("runs:run_detail", "runs:task_list", "runs:audit_log"),
    *("runs:experiment_list", "runs:rerun_list", "runs:hint_list", "runs:knowledge_list"),
    *("runs:import_list", "runs:infrastructure", "runs:space", "runs:policy_list", "runs:job_"),
)
"""Pages over the whole site; PostgreSQL is asked for no others."""
JUDGED = (
    *("judging:study_detail", "judging:annotate", "judging:dispute_detail", "judging:run_judge"),
    *("runs:run_", "api:read_run", "api:read_judgements"),
)
"""Pages about something that depend on what somebody still judges."""
ADDRESSES = os.environ.get("GROWTH_OF") or ("" if connection.vendor == "sqlite" else LISTS)
"""Addresses that are visited begin so, such as `runs:run_detail`."""
WORDS = "no index of words: tasks are searched one by one"
NAMES = "names of experiments and studies, of which there are few, are searched one by one"
SORTED = "all that matches is sorted: no index has both the filter and the order"
BY_TASK = "runs of a set or site are read task by task, and here tasks grow with the runs"
FEW_JOBS = "of imports of labels and of downloads there are few: late ones are looked for in all"
PLANNED = "the planner reads all of a small table rather than ask of each row"
GROWING = {
    "sqlite": {
        ("runs:infrastructure", ""): FEW_JOBS,
        ("runs:task_list", "q"): WORDS,
        ("api:list_tasks", "q"): WORDS,
        ("judging:palette", "q"): NAMES,
        ("judging:study_list", "q"): NAMES,
        ("judging:dispute_list", "state"): SORTED,
        ("runs:run_list", "task_set"): BY_TASK,
        ("runs:run_list", "site"): BY_TASK,
        ("runs:task_list", "site"): SORTED,
        ("runs:task_list", "patched"): SORTED,
    },
    "postgresql": {
        ("runs:task_list", "site"): SORTED,
        ("runs:run_matching", "q"): SORTED,
        ("api:list_runs", "q"): PLANNED,
        # With a filter or without, the same two statements grow.
        ("judging:dispute_list", ""): PLANNED,
        ("judging:dispute_list", "q"): PLANNED,
        ("judging:dispute_list", "state"): PLANNED,
        ("judging:dispute_list", "study"): PLANNED,
        ("judging:dispute_menu", "menu"): PLANNED,
        ("judging:study_list", "q"): NAMES,
        ("runs:knowledge_list", "run"): PLANNED,
    },
}
"""What still grows, by address and filter, and why. What grows no more must go from here."""
PLANNER = {
    "random_page_cost": "1.1",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""For PostgreSQL: what others read for it is not counted, and of tables as small as these it would
rather read all than follow an index."""
THOROUGH = "engineer"
"""Who makes every visit, and asks each page for all that it offers; the others make one of each."""
OF_LISTS = 3
"""Of the choices of a filter so many are visited on lists."""
ELSEWHERE = int(os.environ.get("GROWTH_ELSEWHERE", "0"))
"""And so many on pages about something: none in the suite, for their queries are typed in above."""
TRIED = 2
"""Of those that are alike so many are tried, until one is answered."""
BOUNDS = (
    (keyset, "LOOKED_AT", 60),
    (paging, "COUNTED", 20),
    (paging, "COUNTED_AT_ONCE", 60),
    (run_pages, "COUNTED_AT_ONCE", 60),
    (experiment_population, "COUNTED_AT_ONCE", 60),
    (jobs, "LOOKED_THROUGH", 20),
    (visibility, "NEWEST", 60),
    # Rather than look up so few, PostgreSQL, whose quicker ways are off, reads all of each agent.
    (run_facets, "COUNTED", 20 if connection.vendor == "sqlite" else 60),
    (run_facets, "MOST_CHOSEN", 60),
    (policy_pages, "MOST_COUNTED", 20),
    (infrastructure, "MOST_ATTEMPTS", 50),
    (experiment_views, "MOST_OFFERED", 40),
    (knowledge_forms, "MOST_OFFERED", 40),
    (acts, "DOWNLOADED", 100),
    (rerun_page, "MOST_LISTED", 60),
    (study_tables, "COUNTED", 20),
    (study_views, "PER_PAGE", 2),
    (home, "MOST_COUNTED", 40),
    (dispute_tables, "MOST_WAITING", 5),
    (dispute_tables, "LOOKED_THROUGH", 1),
    (dispute_tables, "PER_PAGE", 20),
    (dispute_views, "PER_PAGE", 20),
    (label_import_views, "LOOKED_THROUGH", 40),
    (extension, "MOST_STUDIES", 40),
    (rerun_views, "MOST_OFFERED", 40),
    (comparing, "MOST_OFFERED", 40),
    (population, "LOOKED_UP", 20),
    (hint_forms, "MOST_OFFERED", 40),
    (knowledge_pages, "LOOKED_AT", 100),
    (run_filters, "MAX_OPTIONS", 40),
    (task_tables, "COUNTED", 20),
    (task_tables, "MAX_OPTIONS", 15),
    (task_tables, "LOOKED_AT", 200),
)
IDS = re.compile(r"/(?:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f-]{27}|\d+)(?=/|$)")
ENDING = re.compile(r"\.\w+$")


@dataclass(frozen=True)
class Kind:
    """Visits that differ only in whose data they are about, and in the ending of a file."""

    viewer: str
    address: str
    asked: str
    query: str = ""

    def __str__(self) -> str:
        return f"{self.viewer}: {self.address} ({self.query or self.asked})"

    @property
    def filters(self) -> set[tuple[str, str]]:
        """The address with each name that its query gives, or with none."""
        fields = self.asked.partition("?")[2].split()
        return {(self.address, name) for name in fields or [""]}


@dataclass(frozen=True)
class Seen:
    """What a visit was answered with, and what the database did for it."""

    status: int
    work: Work
    page: str
    """The HTML; empty where it is none."""


class Viewer:
    """Somebody who visits addresses, by session, or by token where it is the API's."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self._pages, self._api = Client(), Caller(getattr(world, name)).client
        self._session = log_in(getattr(world, name))

    def visit(self, visit: Visit) -> Seen:
        """Nothing of the visit stays."""
        client = self._api if visit.path.startswith("/api/") else self._pages
        if client is self._pages:
            client.cookies.clear()
            client.cookies[settings.SESSION_COOKIE_NAME] = self._session
        headers = {"HX-Request": "true"} if "?" in visit.path else {}
        with undone(), counted_work() as work:
            response = respond(client, visit, headers)
            body = b"".join(bytes(part) for part in response)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        return Seen(response.status_code, work, body.decode() if is_page else "")

    def work_now(self, visit: Visit, before: Work, replied: bytes | None) -> Work:
        """What the visit takes now.

        Where the database replies to all its statements with the same rows as before, they are
        sent once more, but the page is not made: it would ask the same. Read to their ends they
        are at least the work of the page; only if that has grown is the page made.
        """
        with counted_work() as work:
            replies = replies_to(before.statements)
        if replies is not None and replies == replied:
            work = replace(work, statements=before.statements)
            if before.growth_to(work) <= GROWTH:
                return work
        return self.visit(visit).work


def test_the_count_tells_a_look_at_every_row_from_a_look_at_one() -> None:
    user = make_user()
    works = []
    for n in (10, 20_000):
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
    _have_indexes_read()
    site = GrowingWorld()
    viewers = {name: Viewer(site.world, name) for name in VIEWERS}
    site.grow_to(FEW)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    _have_words_indexed()
    few = _asked_once(_looked_at(site.world, viewers))
    replied = {kind: replies_to(work.statements) for kind, (_visit, work) in few.items()}
    site.multiply(TIMES)
    _have_words_indexed()
    grown: list[tuple[float, str]] = []
    known = set(GROWING[connection.vendor])
    found = set()
    for kind, (visit, before) in few.items():
        after = viewers[kind.viewer].work_now(visit, before, replied[kind])
        growth = before.growth_to(after)
        if growth > GROWTH:
            found |= kind.filters & known
            if not kind.filters & known:
                grown.append((growth, f"{growth:.1f} times: {kind}: {before}; then {after}"))
    assert not grown, "\n".join(line for _growth, line in sorted(grown, reverse=True))
    assert {known for known in known - found if known[0].startswith(ADDRESSES)} == set()


def _have_words_indexed() -> None:
    """Put into the indexes of words what PostgreSQL puts there in the background, at any time."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT gin_clean_pending_list(c.oid) FROM pg_class c"
                " JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'gin' AND c.relkind = 'i'"
            )


def _have_indexes_read() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name, value in PLANNER.items():
                cursor.execute(f"SET LOCAL {name} = {value}")


def _looked_at(
    world: World, viewers: dict[str, Viewer]
) -> Iterator[tuple[Kind, tuple[Visit, Work]]]:
    """One visit of each kind that was answered where any is, and its work."""
    for kind, visits in _kinds(world).items():
        viewer = viewers[kind.viewer]
        visit, seen = _answered(viewer, visits)
        yield kind, (visit, seen.work)
        sampled = OF_LISTS if kind.address.startswith(LISTS) else ELSEWHERE
        is_plain = seen.page and visit.data is None and "?" not in visit.path
        if kind.viewer == THOROUGH and sampled and is_plain:
            menus = [viewer.visit(Visit(each)).page for each in menu_addresses(seen.page)]
            for query in offered_queries(visit.path, "".join([seen.page, *menus]), sampled):
                asked = Visit(f"{visit.path}?{query}")
                of_query = Kind(kind.viewer, kind.address, _asked(asked), query)
                yield of_query, (asked, viewer.visit(asked).work)


def _asked_once(
    looked_at: Iterable[tuple[Kind, tuple[Visit, Work]]],
) -> dict[Kind, tuple[Visit, Work]]:
    """The visits without those that ask the database, word for word, what another one asks.

    Of lists all stay: the value that they filter by decides how much is read.
    """
    first: dict[object, Kind] = {}
    found = {}
    for kind, seen in looked_at:
        asked = (
            kind
            if kind.address.startswith(LISTS)
            else (kind.viewer, told_apart(seen[1].statements))
        )
        if first.setdefault(asked, kind) == kind:
            found[kind] = seen
    return found


def _answered(viewer: Viewer, visits: list[Visit]) -> tuple[Visit, Seen]:
    """The first of the visits that is answered, else the first; and its answer."""
    found = []
    for visit in visits[:TRIED]:
        seen = viewer.visit(visit)
        if seen.status in (200, 302):
            return visit, seen
        found.append((visit, seen))
    return found[0]


def _kinds(world: World) -> dict[Kind, list[Visit]]:
    """The visits of every address, alike ones together: all as one, the first as the others."""
    kinds: dict[Kind, list[Visit]] = {}
    for address, fill in CASES.items():
        if not address.startswith(ADDRESSES):
            continue
        alike: dict[str, list[Visit]] = {}
        for visit in fill(world):
            for each in _with_queries(address, visit):
                alike.setdefault(_asked(each), []).append(each)
        for viewer in VIEWERS:
            if viewer != THOROUGH and not address.startswith((*LISTS, *JUDGED)):
                continue
            for asked in list(alike)[: None if viewer == THOROUGH else 1]:
                kinds[Kind(viewer, address, asked)] = alike[asked]
    return kinds


def _with_queries(address: str, visit: Visit) -> Iterator[Visit]:
    yield visit
    queries: Iterable[str] = QUERIES.get(address.removeprefix("api:"), ())
    for query in queries:
        yield Visit(f"{visit.path}?{query}")


def _asked(visit: Visit) -> str:
    path, _, query = visit.path.partition("?")
    sent = "" if visit.data is None else f"POST {' '.join(visit.data)} "
    fields = " ".join(fields_of(parse_qsl(query)))
    return f"{sent}{ENDING.sub('', IDS.sub('/…', path))}?{fields}".rstrip("?")
