"""Faults that are caused many times over, on a site of their own, by `python -m tests.faults`.

A scenario is a `Scenario` in a module of this package, named in `every.SCENARIOS`. It gets a
`Place` (a folder, and what database and broker to use), how often to cause the fault, and the
`Findings` to note what it saw. It may raise AssertionError: the promise is broken then.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.fault_reports import Database
from tests.faults.findings import Findings
from tests.faults.services import PostgreSQL, Redis
from tests.runs.live_workers import Site, live_site


@dataclass(frozen=True)
class Place:
    """Where a scenario is carried out."""

    folder: Path
    database: Database

    @contextmanager
    def site(
        self, redis: Redis | None = None, postgresql: PostgreSQL | None = None
    ) -> Iterator[Site]:
        """A fresh site there; the process's own queries go to its database meanwhile."""
        directory = self.folder / "data"
        directory.mkdir(parents=True)
        with live_site(
            directory, redis.url if redis else None, postgresql.url if postgresql else None
        ) as site:
            yield site

    @contextmanager
    def redis(self) -> Iterator[Redis | None]:
        """A Redis to break, where there is one."""
        if self.database is not Database.POSTGRESQL:
            yield None
            return
        server = Redis()
        server.start()
        try:
            yield server
        finally:
            server.kill()

    @contextmanager
    def postgresql(self) -> Iterator[PostgreSQL]:
        """A PostgreSQL to break."""
        server = PostgreSQL(self.folder / "postgresql")
        server.create()
        server.start()
        with ExitStack() as stack:
            stack.callback(server.stop_immediately)
            yield server


@dataclass(frozen=True)
class Scenario:
    """One kind of fault, and how often a campaign causes it on each database."""

    name: str
    failure: int
    """Its number in `tests.faults.failures_withstood`."""
    injects: str
    times: int
    carry_out: Callable[[Place, int, Findings], None]
    databases: tuple[Database, ...] = (Database.SQLITE, Database.POSTGRESQL)
