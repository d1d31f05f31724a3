"""Triggers of the database: they keep what never changes, and on SQLite the goals of runs.

Guards refuse changes of finished runs, policies and hints, and that entries go, on SQLite and
PostgreSQL. One change is permitted, once: a stub becomes whole (`runs.imports.rows`).

They are made anew after every `migrate`, because SQLite forgets them whenever a migration
rebuilds a table, and because they name the columns of the models as they are now. While
migrations run there are none, so that a migration may correct data.

On SQLite `REPLACE` deletes rows, and asks triggers only where a connection has them asked
(`recursive_triggers`), as ours do; entries refuse it on any connection.

There others keep every different goal of runs once, whoever writes, so that words are looked for
in few texts. Runs of one task share their goal: 100,000 runs have about a thousand, and runs are
found by theirs through an index. PostgreSQL has an index of words instead.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connections, models, transaction
from django.db.models.expressions import RawSQL

from runs.models import (
    AuditEntry,
    DeletedRun,
    Hint,
    HintChoice,
    HintSet,
    HintSource,
    RetryPolicy,
    Run,
    RunStatus,
    Step,
)

KEPT_WHEN_COMPLETED = ("id", "created_at", "stub_key")
"""What a stub keeps when its trajectory comes."""
NOT_CONTENT = {
    # Where the run stands among others, and what has been noticed in it since.
    "superseded",
    "archived_at",
    "has_anomaly",
    "loop",
    "experiment",
    "rerun_of",
    "retry_of",
    "family",
    "created_by",
    # The queue's own notes.
    "not_before",
    "waits_since",
    "lease_owner",
    "lease_token",
    "lease_expires_at",
    "heartbeat_at",
    "priority",
    "lane",
    "stub_key",
    "queued_at",
    "claimed_at",
    "cancel_requested_at",
}
OF_HINTS: tuple[type[models.Model], ...] = (Hint, HintSource, HintSet, HintChoice)
OF_RUNS = "a finished run never changes"
OF_POLICIES = "a policy never changes: save the next version"
HINT_KEPT = "a hint never changes: have another one written"
UNNAMED = "an ended run is deleted only once it is named among the deleted"
ENTRY_KEPT = "an audit entry never changes and is never deleted"


@dataclass(frozen=True, slots=True)
class Guard:
    """A trigger that refuses an event.

    Attributes:
        ending: of its name, after that of the table.
        when: for which rows it does, in SQL; every one where empty.
    """

    model: type[models.Model]
    ending: str
    event: str
    message: str
    when: str = ""

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def name(self) -> str:
        return f"{self.table}_{self.ending}"


def install_guards(using: str = "default", **_: Any) -> None:
    """Make the triggers, or make them anew."""
    connection = connections[using]
    remove_guards(using)
    guards = _guards(connection.vendor)
    if not {guard.table for guard in guards} <= set(connection.introspection.table_names()):
        return  # migrated back to before they existed
    statements = _for_sqlite if connection.vendor == "sqlite" else _for_postgresql
    with connection.cursor() as cursor:
        for guard in guards:
            for statement in statements(guard):
                cursor.execute(statement)


def remove_guards(using: str = "default", **_: Any) -> None:
    """Drop the triggers where there are any."""
    connection = connections[using]
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for guard in _guards(connection.vendor):
            on = "" if connection.vendor == "sqlite" else f" ON {guard.table}"
            if guard.table in tables:
                cursor.execute(f"DROP TRIGGER IF EXISTS {guard.name}{on}")


def missing_guards(using: str = "default") -> list[str]:
    """Names of the guards that should be there and are not."""
    guards = _guards(connections[using].vendor)
    return sorted({guard.name for guard in guards} - _triggers(using))


def _triggers(using: str) -> set[str]:
    """The names of those that the database has."""
    connection = connections[using]
    names = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger",
    }
    with connection.cursor() as cursor:
        cursor.execute(names[connection.vendor])
        return {name for (name,) in cursor.fetchall()}


def _guards(vendor: str) -> list[Guard]:
    is_sqlite = vendor == "sqlite"
    differs = "IS NOT" if is_sqlite else "IS DISTINCT FROM"
    no, yes = ("0", "1") if is_sqlite else ("FALSE", "TRUE")
    runs, entries = Run._meta.db_table, AuditEntry._meta.db_table
    ended = ", ".join(f"'{status}'" for status in RunStatus.ended())
    same = (f'NOT (OLD."{name}" {differs} NEW."{name}")' for name in KEPT_WHEN_COMPLETED)
    # Once: what is whole does not become a stub again.
    becomes_whole = f"OLD.is_stub = {yes} AND NEW.is_stub = {no} AND NEW.status IN ({ended})"
    completed = " AND ".join((becomes_whole, *same))
    changed = _any_change(Run, NOT_CONTENT, differs)
    run_changes = f"OLD.status IN ({ended}) AND ({changed}) AND NOT ({completed})"
    of_ended_run = f"(SELECT status FROM {runs} WHERE id = OLD.run_id) IN ({ended})"  # noqa: S608 (our own words)
    step_changes = f"{of_ended_run} AND ({_any_change(Step, set(), differs)})"
    # Who made a policy may be forgotten with their account.
    policy_changes = _any_change(RetryPolicy, {"created_by"}, differs)
    # Named since it came here: the same run may have been deleted and imported again.
    deleted, named = DeletedRun._meta.db_table, "d.deleted_at >= r.created_at"
    named = f"EXISTS (SELECT 1 FROM {deleted} d WHERE d.run_id = r.id AND {named})"  # noqa: S608 (our own)
    goes_unnamed = f"EXISTS (SELECT 1 FROM {runs} r WHERE r.id = OLD.{{}} AND r.status IN ({ended}) AND NOT {named})"  # noqa: S608, E501 (our own words)
    guards = [
        Guard(Run, "never_changes", "UPDATE", OF_RUNS, run_changes),
        Guard(Run, "never_goes", "DELETE", UNNAMED, goes_unnamed.format("id")),
        Guard(Step, "never_changes", "UPDATE", OF_RUNS, step_changes),
        Guard(Step, "never_goes", "DELETE", UNNAMED, goes_unnamed.format("run_id")),
        Guard(RetryPolicy, "never_changes", "UPDATE", OF_POLICIES, policy_changes),
    ]
    for model in OF_HINTS:
        changes = _any_change(model, set(), differs)
        guards.append(Guard(model, "never_changes", "UPDATE", HINT_KEPT, changes))
    if not is_sqlite:
        return [
            *guards,
            Guard(AuditEntry, "never_changes", "UPDATE OR DELETE", ENTRY_KEPT),
            Guard(AuditEntry, "never_goes", "TRUNCATE", ENTRY_KEPT),
        ]
    is_there = f"EXISTS (SELECT 1 FROM {entries} WHERE id = NEW.id)"  # noqa: S608 (our own words)
    return [
        *guards,
        Guard(AuditEntry, "never_changes", "UPDATE", ENTRY_KEPT),
        Guard(AuditEntry, "never_goes", "DELETE", ENTRY_KEPT),
        # REPLACE deletes without asking the triggers of DELETE.
        Guard(AuditEntry, "never_replaced", "INSERT", ENTRY_KEPT, is_there),
    ]


def _any_change(model: type[models.Model], ignored: set[str], differs: str) -> str:
    columns = [field.column for field in model._meta.concrete_fields if field.name not in ignored]
    return " OR ".join(f'OLD."{column}" {differs} NEW."{column}"' for column in columns)


def _for_sqlite(guard: Guard) -> list[str]:
    when = f" WHEN {guard.when}" if guard.when else ""
    return [
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table}{when}"
        f" BEGIN SELECT RAISE(ABORT, '{guard.message}'); END"
    ]


def _for_postgresql(guard: Guard) -> list[str]:
    """The condition is asked by the function: one on another table cannot stand in WHEN."""
    each = "STATEMENT" if guard.event == "TRUNCATE" else "ROW"
    kept = "OLD" if guard.event == "DELETE" else "NEW"
    return [
        f"CREATE OR REPLACE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF {guard.when or 'TRUE'} THEN"
        f" RAISE EXCEPTION '{guard.message}' USING ERRCODE = 'check_violation';"
        f" END IF; RETURN {kept}; END $$",
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table}"
        f" FOR EACH {each} EXECUTE FUNCTION {guard.name}()",
    ]


# The first characters, as the index `run_by_goal` has them.
_GONE_GOAL = """DELETE FROM runs_goaltext WHERE text = OLD.goal AND NOT EXISTS (
    SELECT 1 FROM runs_run WHERE SUBSTR("goal", 1, 80) = SUBSTR(OLD.goal, 1, 80)
    AND goal = OLD.goal);"""
_NEW_GOAL = """INSERT INTO runs_goaltext SELECT NEW.goal
    WHERE NOT EXISTS (SELECT 1 FROM runs_goaltext WHERE text = NEW.goal);"""
_GOAL_TRIGGERS = {
    "runs_goaltext_added": f"AFTER INSERT ON runs_run BEGIN {_NEW_GOAL} END",
    "runs_goaltext_removed": f"AFTER DELETE ON runs_run BEGIN {_GONE_GOAL} END",
    "runs_goaltext_changed": "AFTER UPDATE OF goal ON runs_run"
    f" WHEN OLD.goal IS NOT NEW.goal BEGIN {_NEW_GOAL} {_GONE_GOAL} END",
}
ALL_GOALS = RawSQL("SELECT text FROM runs_goaltext", ())
"""Every different goal, on SQLite."""


def install_goal_texts(using: str = "default", **_: Any) -> None:
    """Make what is missing: after the first `migrate`, or one that rebuilt the table of runs."""
    database = connections[using]
    if not missing_goal_triggers(using) or "runs_run" not in database.introspection.table_names():
        return
    with transaction.atomic(using), database.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS runs_goaltext (text TEXT PRIMARY KEY) WITHOUT ROWID"
        )
        cursor.execute(
            "INSERT INTO runs_goaltext SELECT DISTINCT goal FROM runs_run"
            " WHERE goal NOT IN (SELECT text FROM runs_goaltext)"
        )
        for name, trigger in _GOAL_TRIGGERS.items():
            cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {trigger}")


def missing_goal_triggers(using: str = "default") -> list[str]:
    """The same of the triggers that keep goals."""
    if connections[using].vendor != "sqlite":
        return []
    return sorted(_GOAL_TRIGGERS.keys() - _triggers(using))
