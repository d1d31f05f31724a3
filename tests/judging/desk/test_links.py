"""What `docs/interface.md` says of who finds which page: at most two clicks from home."""

import re
from pathlib import Path

import pytest

from judging.studies.disputes.services import decide
from runs.models import User
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    label_next,
    make_dispute,
    make_study,
)
from tests.runs.factories import client_of, make_experiment, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages link to"),
    pytest.mark.slow,
]
DOCUMENT = Path(__file__).parents[3] / "docs" / "interface.md"
ROW = re.compile(r"^\| `(/[^`]*)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
ROLES = ("annotator", "adjudicator", "engineer")
LINK = re.compile(r'href="(/[^"?#]*)')
KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")


def documented() -> dict[str, set[str]]:
    """By address, with `<id>` for a key: the roles that it serves."""
    return {
        address: set(ROLES) if roles == "all" else set(roles.split(", "))
        for address, roles in ROW.findall(DOCUMENT.read_text())
    }


@pytest.fixture(scope="module")
def people(kept_rows: None) -> dict[str, User]:
    """One person of each role, on a site with something of everything."""
    study = make_study(runs=4, adjudicators=1, name="Garden")
    annotator = annotators_of(study)[0]
    dispute = make_dispute(study)
    judge = adjudicators_of(study)[0]
    decide(dispute=dispute, adjudicator=judge, verdict="failure", rationale="w")
    make_dispute(study)
    label_next(study, annotator)
    make_run(experiment=make_experiment("one"), pictures=False)
    return {"annotator": annotator, "adjudicator": judge, "engineer": make_user("engineer")}


class Visitor:
    """Opens each address once.

    Attributes:
        codes: what each address itself answered.
    """

    def __init__(self, user: User) -> None:
        self._client = client_of(user)
        self.codes: dict[str, int] = {}

    def links_of(self, address: str) -> set[str]:
        answer = self._client.get(address)
        self.codes[address] = answer.status_code
        if answer.status_code == 302:
            answer = self._client.get(answer["Location"], follow=True)
        return set(LINK.findall(answer.content.decode())) if answer.status_code == 200 else set()

    def code_of(self, address: str) -> int:
        if address not in self.codes:
            self.links_of(address)
        return self.codes[address]


@pytest.mark.parametrize("role", ROLES)
def test_each_page_is_at_most_two_clicks_away_for_whom_the_list_says(
    role: str, people: dict[str, User]
) -> None:
    visitor = Visitor(people[role])
    near = visitor.links_of("/")
    # The palette takes a click to open and one to follow.
    found = {"/"} | near | visitor.links_of("/palette/")
    for address in near - {"/", "/palette/"}:
        if not address.startswith(("/static/", "/logout")):
            found |= visitor.links_of(address)
    reached = {KEY.sub("<id>", address) for address in found}
    wanted = {address for address, roles in documented().items() if role in roles}
    assert len(wanted) >= 7
    assert wanted - reached == set()
    for address, roles in documented().items():
        if "<id>" in address:
            continue
        if role in roles:
            assert visitor.code_of(address) == 200, address
        elif roles == {"engineer"}:
            assert visitor.code_of(address) == 403, address
