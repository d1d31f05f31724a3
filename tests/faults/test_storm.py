"""The smallest storm; `python -m tests.faults` makes the large ones."""

import pytest
from django.db import connection

from tests.faults import nemeses
from tests.faults.findings import Findings
from tests.faults.history import Answer
from tests.faults.storm import Storm
from tests.runs.live_workers import Site, wait_until

pytestmark = pytest.mark.worker


@pytest.mark.fault(3, "a web process is killed, and connections are cut, while two people label")
def test_what_was_acknowledged_is_there_once(site: Site, findings: Findings) -> None:
    storm = Storm(site, findings)
    with storm.at_work(labellers=2):
        wait_until(lambda: storm.history.count(Answer.DONE) >= 2, what="two labels")
        storm.web.kill_child()
        done = storm.history.count(Answer.DONE)
        storm.recover(lambda: storm.history.count(Answer.DONE) > done + 1)
        if connection.vendor == "postgresql":
            findings.times += nemeses.cut_connections(storm)
    assert findings.acknowledged >= 4
    # Whoever was killed is there until the system has taken it apart.
    wait_until(lambda: not nemeses.processes_left(storm), 10, "the end of all processes")
    findings.check()
