"""On SQLite every different goal of runs once, so that words are looked for in few texts.

Runs of one task share their goal: 100,000 runs have about a thousand, and runs are found by theirs
through an index. Triggers keep the table, whoever writes. PostgreSQL has an index of words instead.
"""

from typing import Any

from django.db import connection, connections, transaction
from django.db.models.expressions import RawSQL

# The first characters, as the index `run_by_goal` has them.
_UNUSED = """DELETE FROM runs_goaltext WHERE text = OLD.goal AND NOT EXISTS (
    SELECT 1 FROM runs_run WHERE SUBSTR("goal", 1, 80) = SUBSTR(OLD.goal, 1, 80)
    AND goal = OLD.goal);"""
_NEW = """INSERT INTO runs_goaltext SELECT NEW.goal
    WHERE NOT EXISTS (SELECT 1 FROM runs_goaltext WHERE text = NEW.goal);"""
_TRIGGERS = {
    "runs_goaltext_added": f"AFTER INSERT ON runs_run BEGIN {_NEW} END",
    "runs_goaltext_removed": f"AFTER DELETE ON runs_run BEGIN {_UNUSED} END",
    "runs_goaltext_changed": "AFTER UPDATE OF goal ON runs_run"
    f" WHEN OLD.goal IS NOT NEW.goal BEGIN {_NEW} {_UNUSED} END",
}
ALL_GOALS = RawSQL("SELECT text FROM runs_goaltext", ())


def install_goal_texts(using: str = "default", **_: Any) -> None:
    """Make what is missing: after the first `migrate`, or one that rebuilt the table of runs."""
    database = connections[using]
    if not missing_triggers(using) or "runs_run" not in database.introspection.table_names():
        return
    with transaction.atomic(using), database.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS runs_goaltext (text TEXT PRIMARY KEY) WITHOUT ROWID"
        )
        cursor.execute(
            "INSERT INTO runs_goaltext SELECT DISTINCT goal FROM runs_run"
            " WHERE goal NOT IN (SELECT text FROM runs_goaltext)"
        )
        for name, trigger in _TRIGGERS.items():
            cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {trigger}")


def missing_triggers(using: str = "default") -> list[str]:
    """Names of those that should be there and are not."""
    if connections[using].vendor != "sqlite":
        return []
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        return sorted(_TRIGGERS.keys() - {name for (name,) in cursor.fetchall()})


def starts_of_goals_with(words: str) -> RawSQL:
    """How goals begin that hold the words, compared as `icontains` compares."""
    like = f"%{connection.ops.prep_for_like_query(words)}%"
    statement = "SELECT SUBSTR(text, 1, 80) FROM runs_goaltext WHERE text LIKE %s ESCAPE '\\'"
    return RawSQL(statement, (like,))  # noqa: S611 (the words are a parameter)
