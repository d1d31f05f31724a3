"""Reading every page as one person, in the site and in its twin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from django.conf import settings
from django.test import Client

from runs.models import User
from tests.judging.studies.blind_world import World
from tests.judging.studies.crawling import log_in, respond, undone, whole_answer
from tests.judging.studies.label_states.hidden import turn_round
from tests.judging.studies.label_states.site import Site
from tests.judging.studies.url_cases import CASES, Visit
from tests.runs.api.asking import Caller

OF_JUDGING = (
    *("judging:home", "judging:study_list", "judging:study_detail", "judging:annotate"),
    *("judging:dispute_list", "judging:dispute_detail", "judging:overruled"),
    *("judging:run_judgements", "judging:audit_home", "judging:label_import_list"),
    *(
        "runs:run_list",
        "runs:run_detail",
        "runs:audit_log",
        "runs:audit_log_file",
        "runs:retention",
    ),
    *("api:list_studies", "api:list_verdicts", "api:read_judgements"),
)
"""Where labels, disputes and verdicts show first: read after every act."""
ALL = ("judging:", "runs:", "api:list_", "api:read_")
"""Every address that tells anything; `test_blinding_urls.py` visits those of accounts too."""


ASSIGNMENT = re.compile(rb'(name="assignment" value=")\d+|(?m:^(Content-Length: )\d+$)')
"""Each visit reserves a run; PostgreSQL counts on although nothing of the visit stays, and the
number after 9 is longer.
"""


class Reader:
    """One person with a session and a token, who opens every address that can be read."""

    def __init__(self, user: User) -> None:
        self._session = log_in(user)
        self._key = Caller(user).key

    def pages(self, world: World, addresses: tuple[str, ...]) -> dict[str, bytes]:
        """The answers, by what was visited; none of the visits leaves anything behind."""
        return {visit.path: self._answer(visit) for visit in _visits(world, addresses)}

    def _answer(self, visit: Visit) -> bytes:
        client, headers = Client(), {"Authorization": f"Bearer {self._key}"}
        if not visit.path.startswith("/api/"):
            client.cookies[settings.SESSION_COOKIE_NAME] = self._session
            headers = {}
        with undone():
            answer = whole_answer(respond(client, visit, headers))
        return ASSIGNMENT.sub(rb"\1\2", answer)


def differing_pages(
    site: Site, user: User, reader: Reader, addresses: tuple[str, ...]
) -> list[str]:
    """What tells the person something that must be hidden from them now."""
    world = site.filled_with()
    with undone():
        if not turn_round(user):
            return []
        turned = reader.pages(world, addresses)
    told = reader.pages(world, addresses)
    return [
        f"{path}: {_first_difference(told[path], turned[path])}"
        for path in told
        if told[path] != turned[path]
    ]


def _first_difference(one: bytes, other: bytes) -> str:
    lines = zip_longest(one.splitlines(), other.splitlines(), fillvalue=b"")
    return next(f"{a[:500]!r} or {b[:500]!r}" for a, b in lines if a != b)


def _visits(world: World, addresses: tuple[str, ...]) -> Iterator[Visit]:
    """Each address of these beginnings bare: every study, run and dispute is visited once."""
    for name, fill in CASES.items():
        if name.startswith(addresses):
            reads = (visit for visit in fill(world) if visit.data is None)
            bare = {visit.path: visit for visit in reads if "?" not in visit.path}
            yield from bare.values()
