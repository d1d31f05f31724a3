"""Reads of runs: blinded for whoever looks, ordered by goals, and for lists that have no end."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    DecimalField,
    F,
    FloatField,
    Func,
    Q,
    Value,
    When,
)
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Coalesce
from django.db.models.lookups import Lookup
from django.db.models.sql.compiler import SQLCompiler

from runs.models.parsing import ids_beginning
from runs.models.runs.queue import QueueQuerySet
from runs.models.runs.turns import RunRow, RunStatus
from runs.models.tasks import Task
from runs.models.visibility import visibility_of

if TYPE_CHECKING:
    from runs.models.people import User
    from runs.models.visibility import Visibility

BROKE = (RunStatus.FAILED, RunStatus.CANCELLED)
"""How runs end that did not finish, which tells how they came out."""
ID_DIGITS = 8
"""Fewer are as often a word or a number of a goal."""


def _tasks_called(words: str) -> list[int]:
    """The tasks with this id; none of mere letters, which are looked for in goals alone.

    So searching for a word costs no further query.
    """
    if words.replace(" ", "").isalpha():
        return []
    named = Task.objects.filter(external_id=words).order_by()
    return list(named.values_list("pk", flat=True))


def _starts_of_goals_with(words: str) -> RawSQL:
    """How goals, as `triggers` keep them, begin that hold the words; compared as by `icontains`."""
    like = f"%{connection.ops.prep_for_like_query(words)}%"
    statement = "SELECT SUBSTR(text, 1, 80) FROM runs_goaltext WHERE text LIKE %s ESCAPE '\\'"
    return RawSQL(statement, (like,))  # noqa: S611 (the words are a parameter)


def _hidden_where(
    flag: str, condition: Q | None, field: str, output: models.Field[object, object]
) -> Combinable:
    """The field's value, or NULL where the annotated flag holds.

    Refers to the flag, because working out the condition anew for every field takes far longer
    than the query itself.
    """
    if condition is None:
        return F(field)
    if not condition:  # of every run
        return Value(None, output_field=output)
    return Case(When(**{flag: True}, then=Value(None)), default=F(field), output_field=output)


def _name_hider(
    visibility: Visibility,
) -> Callable[[str, models.Field[object, object]], Combinable]:
    """Makes of a field that tells the agent its value, where the person may know that."""
    flag = "is_blind" if visibility.anonymous is visibility.blind else "is_anonymous"
    return partial(_hidden_where, flag, visibility.anonymous)


def _status_where_blind(condition: Q | None) -> Combinable:
    """The status; where the annotated flag holds, one that failed or was cancelled has finished."""
    if condition is None:
        return F("status")
    broke = When(is_blind=True, status__in=BROKE, then=Value(RunStatus.FINISHED))
    return Case(broke, default=F("status"), output_field=CharField())


def shown_status_is(status: str) -> Q:
    """Runs whose `shown_status` it is, of runs that some are blinded to; asked of an index."""
    if status in BROKE:
        return Q(status=status, is_blind=False)
    if status == RunStatus.FINISHED:  # most runs: not by an index, whose rows SQLite would sort
        return ~Q(status__in=RunStatus.active()) & ~Q(status__in=BROKE, is_blind=False)
    return Q(status=status)


class RunQuerySet(QueueQuerySet[RunRow]):
    """Queries over runs. Generic: `Run` is defined from it."""

    def visible_to(self, user: User, only: Collection[UUID] | None = None) -> Self:
        """Runs that the person may open, with what is hidden from them blanked.

        Adds `is_blind`, `is_anonymous` (booleans) and `shown_outcome`, `shown_reward`,
        `shown_end_reason`, `shown_fault`, `shown_anomaly` (one kind is a detector's verdict),
        `shown_agent`, `shown_model`, `shown_experiment` (its name may tell the agent),
        `shown_cost`, and `shown_status`: to the blind what broke has just finished. Pages filter,
        sort and show only these, never the bare columns, so that not even an order or a count
        carries what is hidden.

        Args:
            only: the few runs that are asked for, and no others are found; see `visibility_of`.
        """
        visibility = visibility_of(user, only)
        return self.visible_with(visibility).named(visibility)

    def visible_with(self, visibility: Visibility) -> Self:
        """The same as `visible_to`, for a page that knows already what the person may see.

        But for the names, which stand in other tables: `named` adds them to runs that are shown.
        """
        return self.filter(visibility.visible).blanked(visibility)

    def blanked(self, visibility: Visibility) -> Self:
        """All runs, with what `visible_to` adds: for who asks which are visible in another way."""
        blind, anonymous = visibility.blind, visibility.anonymous
        is_same = anonymous is blind
        flagged = self.annotate(is_blind=_flag(blind))
        flagged = flagged.annotate(is_anonymous=F("is_blind") if is_same else _flag(anonymous))
        unblind = partial(_hidden_where, "is_blind", blind)
        nameless = _name_hider(visibility)
        return flagged.annotate(
            shown_status=_status_where_blind(blind),
            shown_outcome=unblind("outcome", CharField()),
            shown_reward=unblind("reward", FloatField()),
            shown_end_reason=unblind("end_reason", CharField()),
            shown_fault=unblind("fault", CharField()),
            shown_anomaly=unblind("has_anomaly", BooleanField()),
            shown_cost=nameless("cost", DecimalField(max_digits=14, decimal_places=6)),
        )

    def named(self, visibility: Visibility) -> Self:
        """After `visible_with`: with the names of agent, model and experiment, where they show."""
        named = _name_hider(visibility)
        return self.annotate(
            shown_agent=named("agent__name", CharField()),
            shown_model=named("agent__model", CharField()),
            shown_experiment=named("experiment__name", CharField()),
        )

    def not_blind(self) -> Self:
        """After `visible_to`: only runs on which the person is not blind."""
        return self.filter(is_blind=False)

    def not_anonymous(self) -> Self:
        """After `visible_to`: only runs whose agent the person may know."""
        return self.filter(is_anonymous=False)

    def for_list(self) -> Self:
        """With everything a row of the table shows, and none of the long texts beside it."""
        listed = self.select_related("task__task_set", "agent", "experiment").titled()
        return listed.defer(
            "record",
            "evidence",
            "final_answer",
            "error_message",
            "task__record",
            "task__spec",
            "task__reference",
            "agent__config",
            "goal",
            "task__goal",
        )

    def titled(self) -> Self:
        """With `Run.title`, which a list shows without reading whole goals."""
        return self.annotate(title=run_title())

    def attempts(self) -> Self:
        """Ended attempts of our own engine, replaced ones included and cancelled ones not."""
        # Not "is one of", for which SQLite would sort nearly all runs.
        others = (*RunStatus.active(), RunStatus.CANCELLED)
        return self.filter(source_format="crosscheck-agent").exclude(status__in=others)

    def with_words(self, words: str) -> Self:
        """Runs whose goal holds the words, whose task is called so, or whose id begins so.

        On SQLite found by the different goals. Tasks are looked up before: asked beside the goals,
        PostgreSQL would follow the index of neither.
        """
        found, holds = self, Q(goal__icontains=words)
        if connection.vendor == "sqlite":
            found = self.alias(start=GoalStart("goal"))
            holds &= Q(start__in=_starts_of_goals_with(words))
        if ids := ids_beginning(words, least=ID_DIGITS):
            holds |= Q(pk__range=ids)
        if tasks := _tasks_called(words):
            holds |= Q(task__in=tasks)
        return found.filter(holds)

    def ended(self) -> Self:
        """Runs that are over, however."""
        # Not "is one of", for which SQLite would read nearly all runs by an index.
        return self.exclude(status__in=RunStatus.active())

    def judgeable(self) -> Self:
        """Ended runs with at least one step, which people can judge: no stubs."""
        return self.ended().exclude(n_steps=0)  # not "more than 0", for the same reason

    def not_archived(self) -> Self:
        """Without runs that were archived."""
        return self.filter(archived_at=None)

    def whole(self) -> Self:
        """Without stubs, of which there is nothing to see or to evaluate."""
        return self.filter(is_stub=False)

    def latest_attempts(self) -> Self:
        """Without attempts that a later one replaced."""
        return self.filter(superseded=False)


def _flag(condition: Q | None) -> Combinable:
    if not condition:
        return Value(condition is not None, output_field=BooleanField())
    holds = When(condition, then=Value(True))
    return Case(holds, default=Value(False), output_field=BooleanField())


@models.Field.register_lookup
@models.ForeignKey.register_lookup  # which takes none of those of other fields
class Among(Lookup):
    """Whether a column holds one of the values of a list, set or other iterable, however many.

    A list of `in` takes a parameter for each value, and databases take so many at most: some
    builds of SQLite 32,766, PostgreSQL 65,535. Here the whole list is one parameter.
    """

    lookup_name = "among"

    def get_prep_lookup(self) -> Any:
        field = self.lhs.output_field
        return [field.get_prep_value(value) for value in self.rhs]

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", (*parameters, self._values(connection))

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        listed = "(SELECT value FROM json_each(%s))"
        return f"{column} IN {listed}", (*parameters, self._values(connection))

    def _values(self, connection: BaseDatabaseWrapper) -> Any:
        """The values as one parameter."""
        field = self.lhs.output_field
        found = [field.get_db_prep_value(value, connection, prepared=True) for value in self.rhs]
        return found if connection.vendor == "postgresql" else json.dumps(found)


TITLE_CHARS = 1_000
"""So much of a goal stands in lists: nearly every goal is shorter, and one may have millions."""


def run_title(run: str = "", *, most: int = TITLE_CHARS, nameless: str | None = None) -> Coalesce:
    """What a run was told, or else what its task says, or else the task's id, as `Run.title`.

    Args:
        run: the path to the run, with `__` at its end.
        most: of a goal, so many characters are read by the database.
        nameless: what it is called without a goal; by default the task's id.
    """
    # In few parts, for each takes its time in every list.
    template = f"NULLIF(SUBSTR(%(expressions)s, 1, {most}), '')"
    starts = (
        Func(f"{run}{goal}", template=template, output_field=CharField())
        for goal in ("goal", "task__goal")
    )
    last = f"{run}task__external_id" if nameless is None else Value(nameless)
    return Coalesce(*starts, last)


class GoalStart(Func):
    """The beginning of a goal, by which goals are ordered: they are too long for an index.

    Written without parameters, since SQLite finds an index by an expression only word for word.
    """

    template = "SUBSTR(%(expressions)s, 1, 80)"
    output_field = CharField()
