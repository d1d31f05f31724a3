"""The orders of the runs table.

What has many values is sorted by; what has few (an agent, an outcome) is filtered by.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet

from runs.interface.keyset import AGES, Keyset, Lead
from runs.models import Run
from runs.models.runs.queries import GoalStart

AGE_ELSEWHERE = ("age_elsewhere", "key_elsewhere")
"""A filter may annotate a run's `created_at` and key under these names, as a table that it joins
keeps them too: the list is then read in the order of that table's index.
"""


def run_keyset(
    rows: QuerySet[Run], every: QuerySet[Run], sort: str, *, anonymous: Q | None
) -> Keyset:
    """The rows in the order of a column; `created` is their age alone.

    Args:
        rows: they went through `visible_to` and the filter.
        every: all that went through `visible_to`.
        sort: the column's name, with `-` where it falls.
        anonymous: runs whose agents the viewer may not know, as the policy has it; None: none.
    """
    name = sort.removeprefix("-")
    if name == "goal":
        rows, every = (runs.annotate(goal_start=GoalStart("goal")) for runs in (rows, every))
    leads = {
        "goal": Lead("goal_start"),
        "n_steps": Lead("n_steps"),
        "seconds": Lead("seconds", nullable=True),
        "cost": Lead("cost", flag="" if anonymous is None else "is_anonymous", nullable=True),
    }
    lead = leads.get(name)
    is_elsewhere = lead is None and set(AGE_ELSEWHERE) <= set(rows.query.annotations)
    return Keyset(
        rows.order_by(),
        every,
        lead=lead,
        falls=sort.startswith("-"),
        ages=AGE_ELSEWHERE if is_elsewhere else AGES,
    )
