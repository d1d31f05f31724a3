"""Processes of dead owners are found by the mark that they inherited, and only those."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from webagent.environment import browser as leftovers
from webagent.environment.browser import (
    OWNER_VARIABLE,
    end_leftovers,
    end_own_browsers,
    mark_browsers,
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ROOT = Path(__file__).parents[3]
# The grandchild clears its environment, as Chromium's children overwrite theirs.
OWNER = """
import os, signal, subprocess, sys
from webagent.environment import browser as leftovers
leftovers.OWNER_VARIABLE = sys.argv[2]
leftovers.mark_browsers()
child = subprocess.Popen(["sh", "-c", "env -i sleep 300 & echo $!; wait"], stdout=subprocess.PIPE)
print(child.pid, int(child.stdout.readline()), flush=True)
if sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.readline()
child.kill()
"""


OURS = f"CROSSCHECK_BROWSER_OWNER_IN_TESTS_{os.getpid()}"
"""A mark of our own: workers elsewhere on this machine end what is left under theirs."""


@pytest.fixture
def unmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own mark does not outlast the test."""
    monkeypatch.setattr(leftovers, "OWNER_VARIABLE", OURS)
    monkeypatch.setenv(OWNER_VARIABLE, "")
    monkeypatch.setenv(OURS, "")


def owner(fate: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that marked its browsers, and these."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, fate, OURS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, [int(pid) for pid in process.stdout.readline().split()]


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def are_ended(pids: Sequence[int], limit_s: float = 30) -> None:
    """The kernel takes a moment to end what it was told to, and a busy one longer."""
    deadline = time.monotonic() + limit_s
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, pids))


@pytest.mark.fault(7, "kill -9 of the owner of a browser")
def test_what_a_killed_owner_left_is_ended_with_all_below_it(unmarked):
    dead, left = owner("die")
    dead.communicate()
    assert len(left) == 2
    assert end_leftovers() >= 2
    are_ended(left)


@pytest.mark.fault(7, "the owner of a browser is a zombie")
def test_a_dead_owner_that_nobody_has_reaped_counts_as_dead(unmarked):
    zombie, left = owner("die")
    are_ended([zombie.pid])
    end_leftovers()
    are_ended(left)
    zombie.communicate()


def test_what_a_living_owner_uses_stays(unmarked):
    living, used = owner("live")
    end_leftovers()
    assert all(map(is_alive, used))
    living.communicate("\n")
    for pid in used:
        if is_alive(pid):
            os.kill(pid, 9)


def test_one_can_end_ones_own(unmarked):
    before = subprocess.Popen(["sleep", "300"])
    mark_browsers()
    after = subprocess.Popen(["sleep", "300"])
    try:
        assert end_own_browsers() == 1
        assert after.wait(60) == -9
        assert before.poll() is None
    finally:
        before.kill()
        before.wait()
