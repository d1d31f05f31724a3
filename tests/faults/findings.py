"""What one test notes while it breaks something, and the record that is made of it."""

from __future__ import annotations

import math
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tests.faults.fault_reports import Broker, Database, FaultRecord
from tests.faults.history import Afterwards, Answer, History, Kind, Problem, Rules, problems

ROOT = Path(__file__).parents[2]
LOST = {"lost", "stale", "missing blob", "not ended"}
DOUBLED = {"doubled", "twice first"}


@dataclass
class Findings:
    """Counts of one test. Without any word it says that the fault was caused once."""

    times: int = 1
    acknowledged: int = 0
    kept: int = 0
    lost: int = 0
    doubled: int = 0
    left_over: int = 0
    more: Counter[str] = field(default_factory=Counter)
    recoveries_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def compare(self, history: History, after: Afterwards, rules: Rules | None = None) -> None:
        """Count what the history promised and what is there."""
        found = problems(history, after, rules)
        done = {
            (call.key, "" if call.kind is Kind.SET else call.value)
            for call in history.calls
            if call.answer is Answer.DONE
        }
        lost = sum(problem.what in LOST for problem in found)
        self.acknowledged += len(done)
        self.lost += lost
        self.kept += max(0, len(done) - lost)
        self.doubled += sum(problem.what in DOUBLED for problem in found)
        self.complain(found)

    def complain(self, found: Iterable[Problem | str]) -> None:
        self.problems += [str(problem)[:500] for problem in found]

    def check(self) -> None:
        """Fails with the first problems, if there are any."""
        assert self.problems == [], self.problems[:10]

    def merge(self, other: Findings) -> None:
        """Add what another case of the same test found."""
        self.times += other.times
        for name in ("acknowledged", "kept", "lost", "doubled", "left_over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.more += other.more
        self.recoveries_s += other.recoveries_s
        self.problems += other.problems


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@cache
def version() -> str:
    """The commit of this tree, with `+` where files differ from it; `unknown` outside of git."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def ground(uses_database: bool = True) -> tuple[Database, Broker]:
    """The database and the broker of this process, as its environment names them."""
    if not uses_database:
        return Database.NONE, Broker.NONE
    database = Database.POSTGRESQL if os.environ.get("DATABASE_URL") else Database.SQLITE
    return database, Broker.REDIS if os.environ.get("REDIS_URL") else Broker.FILES


def record(
    *,
    failure: int,
    test: str,
    injected: str,
    findings: Findings,
    held: bool,
    seconds: float,
    uses_database: bool = True,
) -> FaultRecord:
    """What is written of a test that has ended now."""
    database, broker = ground(uses_database)
    return FaultRecord(
        failure=failure,
        test=test[:200],
        injected=injected[:500],
        database=database,
        broker=broker,
        times=findings.times,
        acknowledged=findings.acknowledged,
        kept=findings.kept,
        lost=findings.lost,
        doubled=findings.doubled,
        left_over=findings.left_over,
        more=dict(findings.more),
        recovery_p50_s=percentile(findings.recoveries_s, 0.5),
        recovery_p95_s=percentile(findings.recoveries_s, 0.95),
        seconds=round(seconds, 2),
        problems=tuple(findings.problems[:50]),
        held=held and not findings.problems,
        at=datetime.now(UTC),
        version=version(),
    )
