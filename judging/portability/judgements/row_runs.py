"""Which run a row of a table speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from judging.portability.judgements.row_fields import CONTENT_HASH, NUMBERS, RUN, RUN_ID
from judging.portability.judgements.row_records import RowError
from runs.models import Run

LARGE = ("record", "evidence", "final_answer", "task__record", "task__reference")
"""What rows have no need of, and can be long."""
NO_RUN = "there is no such run here"
OWN = ", or it is one that you are to judge yourself"
OWN_TASK = "you are to judge a run of this task yourself; name the run by run_id"


class RunsNamed:
    """The runs that rows name, found for many rows at once.

    Args:
        hidden: runs on which whoever sent the rows is blind. None is found, and no answer
            depends on what one of them is, or on who acted in it.
    """

    def __init__(self, hidden: Collection[UUID] = ()) -> None:
        self._hidden = hidden
        self._by_id: dict[UUID, Run] = {}
        self._by_hash: dict[str, Run] = {}

    def meet(self, rows: Iterable[dict[str, Any]]) -> list[UUID]:
        """Look up the runs that these rows name by id or hash; of earlier rows none is kept."""
        rows = list(rows)
        ids = {key for values in rows if (key := _key(values.get(RUN_ID)))}
        hashes = {str(values[CONTENT_HASH]).strip() for values in rows if CONTENT_HASH in values}
        found = [*_runs().filter(pk__among=ids)] if ids else []
        self._by_id = {run.pk: run for run in found}
        found = [*_runs().filter(content_hash__in=hashes).order_by("-pk")] if hashes else []
        self._by_hash = {run.content_hash: run for run in found if run.content_hash}
        return [run.pk for run in (*self._by_id.values(), *self._by_hash.values())]

    def of(self, values: dict[str, Any]) -> Run:
        """The one run that the row speaks of; one of those that were met.

        Raises:
            RowError: there is none, or more than one.
        """
        named = [name for name in (CONTENT_HASH, RUN_ID) if name in values]
        for name in named:
            run = self._named(name, values[name])
            if run and run.pk not in self._hidden:
                return run
        if named:
            raise RowError(named[-1], NO_RUN + (OWN if self._hidden else ""))
        return self._fitting(values)

    def _named(self, name: str, value: Any) -> Run | None:
        if name == CONTENT_HASH:
            return self._by_hash.get(str(value).strip())
        key = _key(value)
        return self._by_id.get(key) if key else None

    def _fitting(self, values: dict[str, Any]) -> Run:
        wanted = {RUN[name]: _word(name, values[name]) for name in RUN if name in values}
        if RUN["task"] not in wanted:
            raise RowError(RUN_ID, "is missing, and so are content_hash and task")
        of_task = {path: word for path, word in wanted.items() if path.startswith("task__")}
        if self._hidden and Run.objects.filter(pk__among=self._hidden, **of_task).exists():
            raise RowError("task", OWN_TASK)
        fitting = list(_runs().filter(**wanted)[:2])
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            missing = ", ".join(name for name in RUN if name not in values)
            raise RowError("task", f"several runs fit; tell them apart by run_id, {missing}")
        raise RowError("task", "no run here fits what the row says of task, agent, seed and trial")


def _runs() -> QuerySet[Run]:
    return Run.objects.select_related("task").defer(*LARGE)


def _key(value: Any) -> UUID | None:
    try:
        return UUID(str(value).strip())
    except ValueError:
        return None


def _word(name: str, value: Any) -> str | int:
    text = str(value).strip()
    if name not in NUMBERS:
        return text
    if len(text) > 18 or not text.removeprefix("-").isdecimal():
        raise RowError(name, "is no whole number")
    return int(text)
