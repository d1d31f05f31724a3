"""A driver started beforehand is used once, and only if it is well."""

import os
import signal
import time

import pytest

from tests.webagent.processes import command, descendants
from webagent.environment.browsergym_browsers import driver_answers, stop_playwright
from webagent.environment.browsergym_environment import SpareDriver

pytestmark = pytest.mark.browser


def drivers() -> set[int]:
    return {pid for pid in descendants() if "run-driver" in command(pid)}


def test_a_driver_is_started_beforehand_taken_once_and_replaced_if_it_died():
    spare, before = SpareDriver(), drivers()
    spare.prepare()
    spare.prepare()
    first = spare.take()
    assert first.call(driver_answers, 60)
    assert len(drivers() - before) == 1
    # Nothing was prepared since: whoever takes this one starts a driver himself.
    second = spare.take()
    assert not second.call(driver_answers, 60)

    spare.prepare()
    deadline = time.monotonic() + 60
    while len(mine := drivers() - before) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    first.call(stop_playwright, 60)
    (killed,) = drivers() & mine
    os.kill(killed, signal.SIGKILL)
    third = spare.take()
    assert not third.call(driver_answers, 60)
    for thread in (first, second, third):
        assert thread.stop(5)
    assert drivers() == before
