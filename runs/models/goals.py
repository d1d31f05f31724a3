"""The order of goals."""

from __future__ import annotations

from django.db.models import CharField, Func


class GoalStart(Func):
    """The beginning of a goal, by which goals are ordered: they are too long for an index.

    Written without parameters, since SQLite finds an index by an expression only word for word.
    """

    template = "SUBSTR(%(expressions)s, 1, 80)"
    output_field = CharField()
