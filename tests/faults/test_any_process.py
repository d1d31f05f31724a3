"""Whatever process of the site is killed: what is queued afterwards is carried out."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.findings import Findings
from tests.faults.liveness import Liveness
from tests.faults.queued_work import judges_answer
from tests.runs.live_workers import Site, live_site

pytestmark = pytest.mark.worker


@pytest.fixture
def site(tests_database, django_db_blocker, tmp_path: Path) -> Iterator[Site]:
    directory = tmp_path / "data"
    directory.mkdir()
    with django_db_blocker.unblock(), live_site(directory) as site, judges_answer(site):
        yield site


KINDS = ("web", "default", "sweep", "browser", "judge")


@pytest.mark.sqlite_only("what starts them again is alike on both; freeze tries it on PostgreSQL")
@pytest.mark.fault(1, "kill -9 of a process of each kind, while it is idle, and the supervisor")
def test_work_goes_on_whichever_process_is_killed(site: Site, findings: Findings) -> None:
    with Liveness(site, findings) as liveness:
        for kind in random.sample(KINDS, len(KINDS)):
            named = liveness.processes()
            liveness.kill(
                random.choice([pid for pid, name in named.items() if name.startswith(kind)])
            )
        liveness.kill(liveness.supervisor)
        liveness.come_to_rest()
    findings.check()


@pytest.mark.fault(5, "the only process that takes runs is stopped, or hears no message any more")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("freeze", marks=pytest.mark.postgresql_only("slow, and alike on both")),
        pytest.param("deafen", marks=pytest.mark.sqlite_only("planted in the broker of files")),
    ],
)
def test_a_process_that_stands_still_is_seen_and_replaced(
    fault: str, site: Site, findings: Findings
) -> None:
    site.environment["BROWSERS"] = "1"
    with Liveness(site, findings) as liveness:
        (browser,) = [pid for pid, name in liveness.processes().items() if name == "browser-1"]
        {"freeze": liveness.freeze, "deafen": liveness.deafen}[fault](browser)
        assert browser not in liveness.processes()
        liveness.come_to_rest()
    findings.check()
