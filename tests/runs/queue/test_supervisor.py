"""Several processes as one."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import pytest

from runs.operations.processes import supervisor
from runs.operations.processes.supervisor import GIVE_UP_AFTER, Alive, SupervisedPart, Supervisor

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No waiting, and our own signal handlers afterwards.

    The supervisor collects garbage: what other tests left open must not be found in these.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(supervisor, "TICK_S", 0.02)
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


def sleeping(*words: str) -> Callable[[Alive], None]:
    """Says these, and sleeps."""

    def work(_alive: Alive) -> None:
        for word in words:
            print(word)  # noqa: T201 (what a part says)
        time.sleep(300)

    return work


def ending(code: int, *words: str) -> Callable[[Alive], None]:
    """Says these, and ends."""

    def work(_alive: Alive) -> None:
        for word in words:
            print(word)  # noqa: T201 (what a part says)
        sys.exit(code)

    return work


def deaf(_alive: Alive) -> None:
    """Does not listen to TERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf")  # noqa: T201 (what a part says)
    time.sleep(300)


def run(
    *parts: SupervisedPart, stop_when: str = "never", stop_limit_s: float = 30
) -> tuple[int, list[str]]:
    """Exit code, and what was said; TERM comes as soon as a line has these words."""
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if stop_when in line:
            os.kill(os.getpid(), signal.SIGTERM)

    return Supervisor(parts, say=say, stop_limit_s=stop_limit_s).run(), said


def test_lines_of_all_parts_come_with_their_names_and_it_stops_at_term():
    first, second = (
        SupervisedPart("one", sleeping("hello", "world")),
        SupervisedPart("two", sleeping("up", "world")),
    )
    code, said = run(first, second, stop_when="two | world")
    assert code == 0
    assert {"two | up", "two | world"} <= set(said)
    assert not first.is_running
    assert not second.is_running


def test_a_part_that_ends_is_started_again():
    code, said = run(SupervisedPart("part", ending(3, "up")), stop_when="ended (3)")
    assert code == 0
    assert said.count("part | up") >= 1


def test_a_part_that_cannot_run_is_given_up_and_the_others_are_stopped():
    other = SupervisedPart("other", sleeping())
    code, said = run(SupervisedPart("part", ending(2)), other)
    assert code == 1
    assert sum("ended (2)" in line for line in said) == GIVE_UP_AFTER
    assert said[-1] == f"part ended {GIVE_UP_AFTER} times in a row; giving up"
    assert not other.is_running


def test_a_part_that_is_killed_is_started_again_however_often():
    def killed(_alive: Alive) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 2 * GIVE_UP_AFTER:
            os.kill(os.getpid(), signal.SIGTERM)

    assert Supervisor([SupervisedPart("part", killed)], say=say).run() == 0
    assert set(said) == {f"part ended ({-signal.SIGKILL}); it is started again"}


def test_a_part_that_gives_no_sign_of_life_is_killed_and_started_again():
    code, said = run(
        SupervisedPart("part", sleeping("up"), silent_after_s=0.2), stop_when="ended (-9)"
    )
    assert code == 0
    assert "part gives no sign of life; it is killed" in said


def test_a_part_that_gives_signs_of_life_is_left_alone():
    def lively(alive: Alive) -> None:
        for _ in range(30):
            alive()
            time.sleep(0.05)
        print("through")  # noqa: T201 (what a part says)
        time.sleep(300)

    code, said = run(SupervisedPart("part", lively, silent_after_s=1.0), stop_when="through")
    assert (code, said) == (0, ["part | through"])


def test_what_does_not_listen_to_term_is_killed():
    part = SupervisedPart("part", deaf)
    code, _said = run(part, stop_when="deaf", stop_limit_s=0.5)
    assert code == 0
    assert part.process is not None
    assert part.process.exitcode == -signal.SIGKILL


def test_a_second_signal_does_not_wait():
    part = SupervisedPart("part", deaf)
    again = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))

    def say(line: str) -> None:
        if "deaf" in line:
            os.kill(os.getpid(), signal.SIGTERM)
            again.start()

    assert Supervisor([part], say=say).run() == 0
    again.join()
    assert part.process is not None
    assert part.process.exitcode == -signal.SIGKILL


def test_children_of_a_part_go_with_it():
    def parent(_alive: Alive) -> None:
        child = subprocess.Popen(["sleep", "300"])
        print("child", child.pid)  # noqa: T201 (what a part says)
        time.sleep(300)

    _code, said = run(SupervisedPart("part", parent), stop_when="child")
    pid = int(next(line for line in said if "child" in line).split()[-1])
    deadline = time.monotonic() + 30
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """Whether it runs; a dead process that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return not state.stdout.startswith(b"Z")
