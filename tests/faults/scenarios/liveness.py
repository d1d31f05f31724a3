"""Any process of a served site is killed or frozen, and what is queued is carried out."""

import random
import time
from collections.abc import Callable
from contextlib import ExitStack

from tests.faults.findings import Findings
from tests.faults.liveness import Liveness
from tests.faults.queued_work import judges_answer
from tests.faults.scenarios import Place, Scenario


def kill_any(liveness: Liveness) -> None:
    """One process, or two of them at the same moment; every tenth time the supervisor first."""
    time.sleep(random.uniform(0, 3))
    others = sorted(liveness.processes().keys() - {liveness.supervisor})
    victims = random.sample(others, random.choice((1, 1, 2)))
    if random.random() < 0.1:
        victims.insert(0, liveness.supervisor)
    liveness.kill(*victims)


def freeze_any(liveness: Liveness) -> None:
    """One process that does work, for good."""
    time.sleep(random.uniform(0, 3))
    named = liveness.processes()
    liveness.freeze(random.choice([pid for pid, name in named.items() if name in WATCHED]))


WATCHED = ("default-1", "default-2", "browser-1", "browser-2", "judge-1", "sweep")


def served(cause: Callable[[Liveness], None]) -> Callable[[Place, int, Findings], None]:
    """Cause the fault so often on a served site."""

    def carry_out(place: Place, times: int, findings: Findings) -> None:
        with ExitStack() as stack:
            redis = stack.enter_context(place.redis())
            site = stack.enter_context(place.site(redis))
            stack.enter_context(judges_answer(site))
            liveness = stack.enter_context(Liveness(site, findings))
            while findings.times < times:
                cause(liveness)
            liveness.come_to_rest()
        findings.check()

    return carry_out


LIVENESS = (
    Scenario(
        "any process killed",
        1,
        "kill -9 of any process of `serve`, the supervisor included, sometimes two at a time, while"
        " runs, imports and judges are at work",
        100,
        served(kill_any),
    ),
    Scenario(
        "any process frozen",
        5,
        "SIGSTOP, for good, of any process that does work",
        20,
        served(freeze_any),
    ),
)
"""Whatever is queued is taken, or the site says that it is not."""
