"""Several processes that work at the same moment."""

import multiprocessing
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

from django.db import connection

Pieces = Sequence[Callable[[], object]]
FORKED = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Spent:
    """Of all together: seconds from the first beginning to the last end, and of each piece."""

    seconds: float
    lengths: list[float]

    @property
    def rate(self) -> float:
        """Pieces a second."""
        return len(self.lengths) / self.seconds


def at_once(work: Sequence[Pieces]) -> Spent:
    """Each list of pieces done in a process of its own, one piece after the other.

    Raises:
        RuntimeError: one of them failed, for the reason that it tells.
    """
    connection.close()  # no two processes share one
    told: Any = FORKED.Queue()
    start = FORKED.Barrier(len(work))
    processes = [FORKED.Process(target=_work, args=(pieces, start, told)) for pieces in work]
    for process in processes:
        process.start()
    answers = [told.get() for _ in processes]
    for process in processes:
        process.join()
    if failed := [answer for answer in answers if isinstance(answer, str)]:
        raise RuntimeError(failed[0])
    seconds = max(end for _, end, _ in answers) - min(begin for begin, _, _ in answers)
    return Spent(seconds, [each for _, _, lengths in answers for each in lengths])


def _work(pieces: Pieces, start: Barrier, told: Any) -> None:
    try:
        connection.ensure_connection()
        start.wait()
        lengths = []
        begin = at = time.monotonic()
        for piece in pieces:
            piece()
            lengths.append(time.monotonic() - at)
            at = time.monotonic()
        told.put((begin, at, lengths))
    except Exception:  # noqa: BLE001 - whatever it was, somebody waits for an answer
        start.abort()
        told.put(traceback.format_exc())
    finally:
        connection.close()
