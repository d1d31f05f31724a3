"""The web server is restarted behind its proxy while people use it."""

import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from tests.faults import proxy
from tests.faults.findings import Findings
from tests.faults.scenarios import Place, Scenario
from tests.faults.scenarios.deploys import WEB_LIMIT_S, RolledWeb
from tests.faults.storm import Storm
from tests.faults.traffic import Traffic
from tests.runs.live_workers import wait_until

PEOPLE = 4
FAILED = ("5xx", "refused", "broken off")


class ServedWeb(RolledWeb):
    """gunicorn as the image starts it, alone on its port."""

    more = ()

    def reload(self) -> None:
        """SIGHUP: other processes take over from those that are there."""
        assert self.process is not None
        former = set(self.children())
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not former & set(self.children()), what="the end of the former")

    def replace(self) -> None:
        """SIGTERM, and another one as soon as it has ended, as a container is replaced."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WEB_LIMIT_S) == 0, "the web server did not end in order"
        self.start()


def restart(
    place: Place, times: int, findings: Findings, *, how: Callable[[ServedWeb], None]
) -> None:
    """Restart it so often; every request must be answered, and not by an error."""
    with ExitStack() as stack:
        redis = stack.enter_context(place.redis())
        site = stack.enter_context(place.site(redis))
        storm = Storm(site, findings, redis)
        web = storm.web = ServedWeb(site, storm.web.port)
        front = stack.enter_context(proxy.proxied(web.port, place.folder))
        storm.traffic = Traffic(front, storm.history)
        findings.times = 0
        with storm.at_work(labellers=PEOPLE, uploaders=2):
            while findings.times < times:
                time.sleep(random.uniform(1, 3))
                restarted_at = time.monotonic()
                how(web)
                storm.recover(partial(_done_since, storm, time.monotonic()), since=restarted_at)
                findings.times += 1
            for kind in FAILED:
                if number := storm.traffic.replies[kind]:
                    findings.complain([f"{number} requests were {kind}"])
    findings.check()


def _done_since(storm: Storm, moment: float) -> bool:
    return storm.traffic.last_done > moment


RELOADED = Scenario(
    "web server reloaded",
    17,
    "SIGHUP to the web server behind its proxy while people label and upload",
    10,
    partial(restart, how=ServedWeb.reload),
)
REPLACED = Scenario(
    "web server replaced",
    17,
    "SIGTERM to the web server behind its proxy while people label and upload, and another"
    " one once it has ended",
    10,
    partial(restart, how=ServedWeb.replace),
)
RESTARTS = (
    *((RELOADED,) if proxy.CADDY else ()),
    *((REPLACED,) if proxy.version() >= proxy.SENDS_FORMS_AGAIN else ()),
)
"""With Caddy alone, for there is nothing to put in its place."""
