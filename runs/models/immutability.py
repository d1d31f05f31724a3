"""Finished runs, policies and hints never change, and entries never go: the database refuses it.

It does so on SQLite and PostgreSQL. One change is permitted, once: a stub becomes whole
(`runs.imports.stubs`).

The triggers are made anew after every `migrate`, because SQLite forgets them whenever a
migration rebuilds a table, and because they name the columns of the models as they are now.
While migrations run there are none, so that a migration may correct data.

On SQLite `REPLACE` deletes rows, and asks triggers only where a connection has them asked
(`recursive_triggers`), as ours do; entries refuse it on any connection.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

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
GUARDED: tuple[type[models.Model], ...] = (Run, Step, RetryPolicy, AuditEntry, *OF_HINTS)
MESSAGE = "a finished run never changes"
MESSAGE_OF_POLICIES = "a policy never changes: save the next version"
MESSAGE_OF_HINTS = "a hint never changes: have another one written"
MESSAGE_OF_DELETIONS = "an ended run is deleted only once it is named among the deleted"
AUDIT_LOG_MESSAGE = "an audit entry never changes and is never deleted"


def install_guards(using: str = "default", **_: Any) -> None:
    """Make the triggers, or make them anew."""
    connection = connections[using]
    remove_guards(using)
    if len(_tables(connection)) < len(GUARDED):
        return  # migrated back to before they existed
    with connection.cursor() as cursor:
        for statement in _statements(connection):
            cursor.execute(statement)


def remove_guards(using: str = "default", **_: Any) -> None:
    """Drop the triggers where there are any."""
    connection = connections[using]
    tables = _tables(connection)
    with connection.cursor() as cursor:
        for model in GUARDED:
            table = model._meta.db_table
            on = "" if connection.vendor == "sqlite" else f" ON {table}"
            if table in tables:
                for name in _trigger_names(model, connection.vendor):
                    cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")


def missing_guards(using: str = "default") -> list[str]:
    """Names of the triggers that should be there and are not."""
    connection = connections[using]
    names = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger",
    }
    with connection.cursor() as cursor:
        cursor.execute(names[connection.vendor])
        found = {name for (name,) in cursor.fetchall()}
    wanted = {name for model in GUARDED for name in _trigger_names(model, connection.vendor)}
    return sorted(wanted - found)


def _tables(connection: BaseDatabaseWrapper) -> set[str]:
    return {model._meta.db_table for model in GUARDED} & set(connection.introspection.table_names())


def _statements(connection: BaseDatabaseWrapper) -> list[str]:
    runs, entries = Run._meta.db_table, AuditEntry._meta.db_table
    differs = "IS NOT" if connection.vendor == "sqlite" else "IS DISTINCT FROM"
    ended = ", ".join(f"'{status}'" for status in RunStatus.ended())
    no, yes = ("0", "1") if connection.vendor == "sqlite" else ("FALSE", "TRUE")
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
    refused: list[tuple[type[models.Model], str, str]] = [
        (Run, run_changes, MESSAGE),
        (Step, step_changes, MESSAGE),
        (RetryPolicy, policy_changes, MESSAGE_OF_POLICIES),
        *((model, _any_change(model, set(), differs), MESSAGE_OF_HINTS) for model in OF_HINTS),
    ]
    # Named since it came here: the same run may have been deleted and imported again.
    deleted, named = DeletedRun._meta.db_table, "d.deleted_at >= r.created_at"
    named = f"EXISTS (SELECT 1 FROM {deleted} d WHERE d.run_id = r.id AND {named})"  # noqa: S608 (our own)
    goes_unnamed = f"EXISTS (SELECT 1 FROM {runs} r WHERE r.id = OLD.{{}} AND r.status IN ({ended}) AND NOT {named})"  # noqa: S608, E501 (our own words)
    kept: list[tuple[type[models.Model], str]] = [
        (Run, goes_unnamed.format("id")),
        (Step, goes_unnamed.format("run_id")),
    ]
    if connection.vendor == "sqlite":
        is_there = f"EXISTS (SELECT 1 FROM {entries} WHERE id = NEW.id)"  # noqa: S608 (our own words)
        return (
            [
                f"CREATE TRIGGER {_trigger_names(model)[1]} BEFORE DELETE ON {model._meta.db_table}"
                f" WHEN {goes} BEGIN SELECT RAISE(ABORT, '{MESSAGE_OF_DELETIONS}'); END"
                for model, goes in kept
            ]
            + [
                f"CREATE TRIGGER {_trigger_name(model)} BEFORE UPDATE ON {model._meta.db_table}"
                f" WHEN {change} BEGIN SELECT RAISE(ABORT, '{message}'); END"
                for model, change, message in refused
            ]
            + [
                f"CREATE TRIGGER {name} BEFORE {event} ON {entries}"
                f" BEGIN SELECT RAISE(ABORT, '{AUDIT_LOG_MESSAGE}'); END"
                for name, event in zip(
                    _trigger_names(AuditEntry), ("UPDATE", "DELETE"), strict=True
                )
            ]
            + [
                # REPLACE deletes without asking the triggers of DELETE.
                f"CREATE TRIGGER {replaced} BEFORE INSERT ON {entries} WHEN {is_there}"
                f" BEGIN SELECT RAISE(ABORT, '{AUDIT_LOG_MESSAGE}'); END"
                for replaced in _trigger_names(AuditEntry, connection.vendor)[2:]
            ]
        )
    # A condition on a row of another table cannot stand in WHEN.
    of_deletions = [
        statement
        for model, unnamed in kept
        for name in (_trigger_names(model)[1],)
        for statement in (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF {unnamed} THEN"
            f" RAISE EXCEPTION '{MESSAGE_OF_DELETIONS}' USING ERRCODE = 'check_violation';"
            f" END IF; RETURN OLD; END $$",
            f"CREATE TRIGGER {name} BEFORE DELETE ON {model._meta.db_table}"
            f" FOR EACH ROW EXECUTE FUNCTION {name}()",
        )
    ]
    changes, goes = _trigger_names(AuditEntry)
    of_acts = [
        f"CREATE OR REPLACE FUNCTION {changes}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" RAISE EXCEPTION '{AUDIT_LOG_MESSAGE}' USING ERRCODE = 'check_violation'; END $$",
        f"CREATE TRIGGER {changes} BEFORE UPDATE OR DELETE ON {entries}"
        f" FOR EACH ROW EXECUTE FUNCTION {changes}()",
        f"CREATE TRIGGER {goes} BEFORE TRUNCATE ON {entries}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {changes}()",
    ]
    return (
        of_acts
        + of_deletions
        + [
            statement
            for model, change, message in refused
            for statement in (
                f"CREATE OR REPLACE FUNCTION {_trigger_name(model)}() RETURNS trigger"
                f" LANGUAGE plpgsql AS $$ BEGIN IF {change} THEN"
                f" RAISE EXCEPTION '{message}' USING ERRCODE = 'check_violation';"
                f" END IF; RETURN NEW; END $$",
                f"CREATE TRIGGER {_trigger_name(model)} BEFORE UPDATE ON {model._meta.db_table}"
                f" FOR EACH ROW EXECUTE FUNCTION {_trigger_name(model)}()",
            )
        ]
    )


def _any_change(model: type[models.Model], ignored: set[str], differs: str) -> str:
    columns = [field.column for field in model._meta.concrete_fields if field.name not in ignored]
    return " OR ".join(f'OLD."{column}" {differs} NEW."{column}"' for column in columns)


def _trigger_name(model: type[models.Model]) -> str:
    return f"{model._meta.db_table}_never_changes"


def _trigger_names(model: type[models.Model], vendor: str = "") -> list[str]:
    """All triggers of a model; of some also those against their going and being replaced."""
    goes = [f"{model._meta.db_table}_never_goes"] if model in (AuditEntry, Run, Step) else []
    replaced = (
        [f"{model._meta.db_table}_never_replaced"]
        if model is AuditEntry and vendor == "sqlite"
        else []
    )
    return [_trigger_name(model), *goes, *replaced]
