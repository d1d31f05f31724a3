"""Several programs as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from runs import supervisor
from runs.supervisor import GIVE_UP_AFTER, Part, Supervisor

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No waiting, and our own signal handlers afterwards."""
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(supervisor, "TICK_S", 0.02)
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


def python(code: str, name: str = "part") -> Part:
    return Part(name, [sys.executable, "-u", "-c", code])


def run(*parts: Part, stop_when: str = "never") -> tuple[int, list[str]]:
    """Exit code, and what was said; TERM comes as soon as a line has these words."""
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if stop_when in line:
            os.kill(os.getpid(), signal.SIGTERM)

    return Supervisor(parts, say=say, look=lambda: None).run(), said


def test_lines_of_all_parts_come_with_their_names_and_it_stops_at_term():
    forever = "import time; print('hello'); print('world'); time.sleep(300)"
    first, second = python(forever, "one"), python(f"print('up'); {forever}", "two")
    code, said = run(first, second, stop_when="two | world")
    assert code == 0
    assert {"one | hello", "two | up", "two | hello", "two | world"} <= set(said)
    assert not first.is_running
    assert not second.is_running


def test_a_part_that_ends_is_started_again():
    code, said = run(python("print('up'); raise SystemExit(3)"), stop_when="ended (3)")
    assert code == 0
    assert said.count("part | up") >= 1


def test_a_part_that_cannot_run_is_given_up_and_the_others_are_stopped():
    other = python("import time; time.sleep(300)", "other")
    code, said = run(python("raise SystemExit(2)"), other)
    assert code == 1
    assert sum("ended (2)" in line for line in said) == GIVE_UP_AFTER
    assert said[-1] == f"part ended {GIVE_UP_AFTER} times in a row; giving up"
    assert not other.is_running


def test_what_does_not_listen_to_term_is_killed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "STOP_LIMIT_S", 0.5)
    deaf = python(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('deaf'); time.sleep(300)"
    )
    code, _said = run(deaf, stop_when="deaf")
    assert code == 0
    assert deaf.process is not None
    assert deaf.process.returncode == -signal.SIGKILL


def test_a_second_signal_does_not_wait():
    deaf = python(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('deaf'); time.sleep(300)"
    )
    again = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    again.start()
    code, _said = run(deaf, stop_when="deaf")
    again.join()
    assert code == 0
    assert deaf.process is not None
    assert deaf.process.returncode == -signal.SIGKILL


def test_children_of_a_part_go_with_it():
    parent = python(
        "import subprocess, time; child = subprocess.Popen(['sleep', '300']); "
        "print('child', child.pid); time.sleep(300)"
    )
    _code, said = run(parent, stop_when="child")
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
