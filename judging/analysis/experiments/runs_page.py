"""The runs behind a number, as a list shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import Selection


def with_names(runs: Iterable[Any], scope: Scope) -> list[Any]:
    """The runs of a list, each with what its `configuration` is called on the experiment's page."""
    listed = list(runs)
    names = names_in(scope)
    for run in listed:
        run.configuration = names.get(run.agent_id, "")
    return listed


def listed_runs(asked: ReportQuery, selection: Selection) -> QuerySet[Any]:
    """The runs of the selection by task, configuration and trial, with all that a row shows."""
    runs: Any = selection.runs(asked.scope)
    listed: QuerySet[Any] = runs.for_list().order_by(
        "task__task_set__name", "task__external_id", "agent", "trial", "seed", "pk"
    )
    return listed
