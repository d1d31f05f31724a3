"""The orders of the runs table, and the columns and filters that an app above adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from django.db.models import Q, QuerySet

from runs.interface.keyset import AGES, Keyset, Lead
from runs.models import AgentConfiguration, Experiment, Run, RunStatus, Task, TaskSet
from runs.models.runs.queries import GoalStart, shown_status_is
from runs.models.visibility import Hook

if TYPE_CHECKING:
    from django_filters import Filter
    from django_tables2 import Column

    from runs.models.runs.queries import RunQuerySet

AGE_ELSEWHERE = ("age_elsewhere", "key_elsewhere")
"""A filter may annotate a run's `created_at` and key under these names, as a table that it joins
keeps them too: the list is then read in the order of that table's index.
"""


class RunListExtension(Protocol):
    """Columns and filters for what only an app above knows of a run.

    It sees runs that went through `visible_to` and must keep to `is_blind` and `is_anonymous`.
    """

    def annotate(self, runs: RunQuerySet[Run]) -> RunQuerySet[Run]:
        """The runs with the fields that the columns and filters read."""
        ...

    def columns(self) -> list[tuple[str, Column]]:
        """Columns by name, in order."""
        ...

    def filters(self) -> dict[str, Filter]:
        """Filters by the name they have in the address."""
        ...

    def choices(self) -> dict[str, list[tuple[str, Any]]]:
        """What each filter offers: values with their words."""
        ...

    def leads(self, is_blind: str) -> dict[str, Lead]:
        """What orders by its columns begin with; the flag is empty where nothing is hidden."""
        ...


run_list_hook: Hook[RunListExtension] = Hook("what else the runs table shows")


def run_list_extension() -> RunListExtension:
    """What the app above adds."""
    return run_list_hook.get()


Hidden = tuple[Q | None, Q | None]
"""Runs on which somebody is blind, and whose agents they may not know; None: there are none."""


def run_keyset(
    rows: QuerySet[Run], every: QuerySet[Run], sort: str, *, hidden: Hidden, is_short: bool
) -> Keyset:
    """The rows in the order of a column.

    Args:
        rows: they went through `visible_to` and the filter.
        every: all that went through `visible_to`.
        sort: the column's name, with `-` where it falls.
        hidden: what is hidden from the viewer, as the policy has it.
        is_short: the list is short enough to be sorted as a whole.
    """
    name = sort.removeprefix("-")
    if name == "goal":
        rows, every = (runs.annotate(goal_start=GoalStart("goal")) for runs in (rows, every))
    lead = _leads(hidden).get(name)
    is_elsewhere = lead is None and set(AGE_ELSEWHERE) <= set(rows.query.annotations)
    return Keyset(
        rows.order_by(),
        every,
        lead=lead,
        falls=sort.startswith("-"),
        is_short=is_short,
        ages=AGE_ELSEWHERE if is_elsewhere else AGES,
    )


def _leads(hidden: Hidden) -> dict[str, Lead]:
    """What the list is ordered by, by the column's name; `created` is its age alone."""
    blind, anonymous = hidden
    is_blind = "is_blind" if blind is not None else ""
    is_anonymous = "is_anonymous" if anonymous is not None else ""
    agents = AgentConfiguration.objects
    return {
        "goal": Lead("goal_start"),
        "task_set": Lead(
            "task__task_set",
            values=TaskSet.objects.order_by("name", "version").values_list("pk", flat=True),
            order=("task__task_set__name", "task__task_set__version"),
        ),
        "site": Lead("task__site", values=_names(Task.objects, "site")),
        "experiment": Lead(
            "experiment__name",
            flag=is_anonymous,
            nullable=True,
            values=_names(Experiment.objects, "name"),
        ),
        "agent": Lead("agent__name", flag=is_anonymous, values=_names(agents, "name")),
        "model": Lead("agent__model", flag=is_anonymous, values=_names(agents, "model")),
        "outcome": Lead("outcome", flag=is_blind),
        "anomalies": Lead("has_anomaly", flag=is_blind),
        "status": _blinded_status() if is_blind else Lead("status"),
        "n_steps": Lead("n_steps"),
        "seconds": Lead("seconds", nullable=True),
        "cost": Lead("cost", flag=is_anonymous, nullable=True),
        **run_list_extension().leads(is_blind),
    }


def _blinded_status() -> Lead:
    """The status as it is shown: to the blind what broke has just finished."""
    return Lead("shown_status", values=sorted(RunStatus.values), where=shown_status_is)


def _names(rows: Any, field: str) -> Any:
    return rows.order_by(field).values_list(field, flat=True).distinct()
