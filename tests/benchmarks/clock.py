"""Medians and ratios."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from django.db import connection

from webagent.process.children import in_one_chunk


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """Median length of the work, after one go that does not count."""
    work()
    lengths = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        lengths.append(time.perf_counter() - start)
    return median(lengths)


def work_side_by_side(*works: Callable[[], object], times: int = 5) -> list[float]:
    """The least that each takes of processors, here and in PostgreSQL's process for us.

    What else the machine does lengthens that far less than it lengthens the time that passes.
    """
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(times + 1):
        for work, taken in zip(works, spent, strict=True):
            taken.append(_processor_seconds_of(work))
    return [min(taken[1:]) for taken in spent]


@in_one_chunk
def _processor_seconds_of(work: Callable[[], object]) -> float:
    """As the web server and commands do it: see `in_one_chunk`."""
    start = processor_seconds()
    work()
    return processor_seconds() - start


def processor_seconds() -> float:
    """Of this process and of the database's process that answers it, where it runs here."""
    server = 0.0
    if connection.vendor == "postgresql" and (process := _server_process()):
        stat = Path(f"/proc/{process}/schedstat")
        server = int(stat.read_text().split()[0]) / 1e9 if stat.exists() else 0.0
    return time.process_time() + server


def _server_process() -> int:
    connection.ensure_connection()
    process: int = connection.connection.info.backend_pid
    return process


def tell(
    what: str, ours: float, bare: float, unit: str = "s", *, goal: float | None = None
) -> None:
    """One line: ours, the bare work, and how many times longer ours takes than that."""
    line = f"{what}: {ours:.4g} {unit}, bare {bare:.4g} {unit}, ratio {ours / bare:.1f}"
    if goal is not None:
        line += f" (goal {goal:g}: {'reached' if ours <= goal * bare else 'missed'})"
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
