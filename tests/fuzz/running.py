"""Feeding an importer damaged samples, and telling what it did wrong."""

import logging
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.importers import FoundError, Importer, damaged_sample

SECONDS = 30
"""So long one damaged sample may take; whoever takes longer hangs."""


class HangError(FoundError):
    """Nothing came back in time."""


@dataclass(slots=True)
class Tally:
    """What became of the examples. `found` has the last lines of each fault with its seeds."""

    examples: int = 0
    taken: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    found: Counter[str] = field(default_factory=Counter)
    seeds: dict[str, str] = field(default_factory=dict)


class _LastFault(logging.Handler):
    """Remembers what an importer caught and logged as unexpected."""

    trace = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.trace = "".join(traceback.format_exception(*record.exc_info))


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises HangError in what takes longer."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise HangError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fuzz(
    importer: Importer, seeds: Sequence[int], *, samples: Sequence[Path] | None = None
) -> Tally:
    """Read as many damaged samples as there are seeds."""
    tally, log = Tally(), _LastFault()
    engine = logging.getLogger("webagent.trajectory")
    engine.addHandler(log)
    propagated, engine.propagate = engine.propagate, False
    given = samples or importer.samples()
    started = time.monotonic()
    try:
        for seed in seeds:
            sample = given[seed % len(given)]
            at = time.monotonic()
            log.trace = ""
            try:
                with damaged_sample(sample, seed) as copy, within(SECONDS):
                    tally.taken += importer.read(copy)
            except Exception as error:  # noqa: BLE001 (that any comes is what is looked for)
                _note(tally, error, log.trace, f"{sample.name} seed {seed}")
            tally.examples += 1
            tally.slowest = max(tally.slowest, time.monotonic() - at)
    finally:
        engine.removeHandler(log)
        engine.propagate = propagated
    tally.seconds = time.monotonic() - started
    return tally


def _note(tally: Tally, error: Exception, trace: str, place: str) -> None:
    whole = trace or "".join(traceback.format_exception(error))
    ours = [line.strip() for line in whole.splitlines() if "/webagent/" in line or "/runs/" in line]
    last = whole.strip().splitlines()[-1][:200]
    key = f"{last} | {' < '.join(one.split('/')[-1] for one in reversed(ours[-3:]))}"
    tally.found[key] += 1
    tally.seeds.setdefault(key, place)
