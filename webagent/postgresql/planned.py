"""Statements that PostgreSQL reads and plans once a connection, asked with little ado."""

from __future__ import annotations

from typing import Any, Self

from psycopg import Cursor, OperationalError
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.pq.abc import PGresult


class PlannedCursor(Cursor[Any]):
    """Asks one statement again and again, with other values each time.

    What it once found out is kept: where values stand in the statement, how they are written and
    its rows read. It asks by the blocking calls of libpq, which let other threads go on; psycopg's
    own way can wait for many connections at once, and takes twice as long for a row by its key.
    """

    def __init__(self, connection: Any, number: int) -> None:
        super().__init__(connection)
        self._tx = Transformer(self)
        self._asked: Any = None
        self._name = f"planned_{number}"
        self._names: dict[tuple[int, ...], bytes] = {}
        """Of its plans: one for each sort of values, for one that may be NULL is of another."""

    def execute(self, query: Any, params: Any = None, **_: Any) -> Self:
        """Ask. The statement is to be the same each time."""
        if self._asked is None:
            self._asked = self._convert_query(query, params)
        else:
            self._asked.dump(params)
        self._begin()
        name = self._names.get(self._asked.types) or self._plan()
        self._query = self._asked
        self._take(self._pgconn.exec_prepared(name, self._asked.params, self._asked.formats))
        return self

    def forget(self) -> None:
        """Have PostgreSQL forget the plans, and end."""
        for name in self._names.values():
            self._take(self._pgconn.exec_(b"DEALLOCATE " + name))
        self.close()

    def _begin(self) -> None:
        """A transaction, where one is wanted and none has begun."""
        idle = TransactionStatus.IDLE
        if not self._conn.autocommit and self._pgconn.transaction_status == idle:
            self._take(self._pgconn.exec_(self._conn._get_tx_start_command()))

    def _plan(self) -> bytes:
        types = self._asked.types
        name = f"{self._name}_{len(self._names)}".encode()
        self._take(self._pgconn.prepare(name, self._asked.query, types))
        self._names[types] = name
        return name

    def _take(self, result: PGresult) -> None:
        if self._pgconn.status != ConnStatus.OK:
            raise OperationalError(result.error_message.decode(errors="replace"))
        self._check_results([result])
        self._set_results([result])
