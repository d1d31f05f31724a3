"""What a killed process leaves behind is swept up, and nothing else; calls ask for no memory."""

import fcntl
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from webagent.process.children import HeldFolder, _hold, end_with_parent, in_one_chunk, sweep

PREFIX = "held-"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def other() -> Iterator[tuple[int, Path]]:
    """Another process with a folder of its own, in which something lies."""
    reads, writes = os.pipe()
    if not (child := os.fork()):
        folder = HeldFolder(PREFIX).path
        Path(folder, "part").write_text("half a file")
        os.write(writes, folder.encode())
        signal.pause()
    os.close(writes)
    with open(reads, "rb", buffering=0) as pipe:
        folder = pipe.read(1000).decode()
    yield child, Path(folder)
    os.kill(child, signal.SIGKILL)


def test_the_folder_of_a_living_process_stays_and_that_of_a_killed_one_goes(
    other: tuple[int, Path],
) -> None:
    child, theirs = other
    mine = HeldFolder(PREFIX)
    sweep(PREFIX)
    assert (theirs / "part").exists()
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    next_one = HeldFolder(PREFIX)
    assert not theirs.exists()
    assert Path(mine.path).exists()
    for folder in (mine, next_one):
        folder.remove()
        assert not Path(folder.path).exists()


def test_a_folder_that_is_swept_up_before_it_is_held_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    def make(prefix: str) -> str:
        made.append(real(prefix=prefix))
        if len(made) == 1:
            sweep(PREFIX)  # as another process would
        return made[-1]

    real = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", make)
    folder = HeldFolder(PREFIX)
    assert made[1:] == [folder.path]
    assert Path(folder.path).exists()


def test_one_that_was_opened_before_it_was_swept_up_is_not_taken_for_held(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock_late(*given: int) -> None:
        gone.rmdir()
        real(*given)

    gone = place / f"{PREFIX}gone"
    gone.mkdir()
    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lock_late)
    assert _hold(str(gone)) is None


def test_what_is_no_such_folder_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").write_text("mine")
    sweep(PREFIX)
    assert {path.name for path in place.iterdir()} == {"elsewhere", "held-link", "held-file"}
    theirs = place / f"{PREFIX}of somebody else"
    theirs.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: theirs.stat().st_uid + 1)
    sweep(PREFIX)
    assert theirs.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
@pytest.mark.parametrize("is_early", [True, False])
def test_a_child_ends_with_its_parent_however_early_that_is_killed(is_early: bool):
    reads, writes = os.pipe()
    begin, may_begin = os.pipe()
    if not (parent := os.fork()):
        mine = os.getpid()
        if not os.fork():
            if is_early:
                os.write(writes, b"begun")
                os.read(begin, 1)
            end_with_parent(mine, signal.SIGKILL)
            os.write(writes, b"asked")
            time.sleep(10)
            os._exit(0)
        signal.pause()
    os.close(writes)
    with open(reads, "rb", buffering=0) as pipe:
        assert pipe.read(5) == (b"begun" if is_early else b"asked")
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        os.write(may_begin, b"!")
        assert pipe.read(5) == b"", "its end of the pipe is closed"
    os.close(begin)
    os.close(may_begin)


CALLS = 500
DEPTHS = 300
"""Frames of so many calls fill more than one chunk of CPython's."""


def _call(deeper: int) -> None:
    if deeper:
        _call(deeper - 1)


def _memory_asked_for(depth: int) -> int:
    """Pages that the system hands out while functions are called again and again at this depth."""
    if depth:
        return _memory_asked_for(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        _call(2)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_repeated_calls_need_no_memory_at_any_depth() -> None:
    most = in_one_chunk(lambda: max(_memory_asked_for(depth) for depth in range(DEPTHS)))
    assert most() < CALLS / 2


def test_it_gives_and_raises_what_the_function_does() -> None:
    assert in_one_chunk(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        in_one_chunk(divmod)(7, 0)
