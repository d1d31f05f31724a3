"""Reading every page as one person, in the site and in its twin."""

from collections.abc import Iterator
from functools import partial

from django.conf import settings
from django.http.response import HttpResponseBase
from django.test import Client

from runs.models import User
from tests.judging.studies.blind_world import World
from tests.judging.studies.crawling import Answer, answer_to, changed, log_in, respond
from tests.judging.studies.label_states.hidden import turn_round
from tests.judging.studies.label_states.site import Site
from tests.judging.studies.statements import undone
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


class Reader:
    """One person with a session and a token, who opens every address that can be read."""

    def __init__(self, user: User) -> None:
        self._session = log_in(user)
        self._key = Caller(user).key

    def pages(self, world: World, addresses: tuple[str, ...]) -> dict[str, Answer]:
        """The answers, by what was visited; none of the visits leaves anything behind."""
        return {
            visit.path: answer_to(partial(self._ask, visit))[1]
            for visit in _visits(world, addresses)
        }

    def _ask(self, visit: Visit) -> HttpResponseBase:
        client, headers = Client(), {"Authorization": f"Bearer {self._key}"}
        if not visit.path.startswith("/api/"):
            client.cookies[settings.SESSION_COOKIE_NAME] = self._session
            headers = {}
        return respond(client, visit, headers)


def differing_pages(
    site: Site, user: User, reader: Reader, addresses: tuple[str, ...]
) -> dict[str, str]:
    """What tells the person something that must be hidden from them now, and how."""
    world = site.filled_with()
    with undone():
        if not turn_round(user):
            return {}
        turned = reader.pages(world, addresses)
    return changed(turned)


def _visits(world: World, addresses: tuple[str, ...]) -> Iterator[Visit]:
    """Each address of these beginnings bare: every study, run and dispute is visited once."""
    for name, fill in CASES.items():
        if name.startswith(addresses):
            reads = (visit for visit in fill(world) if visit.data is None)
            bare = {visit.path: visit for visit in reads if "?" not in visit.path}
            yield from bare.values()
