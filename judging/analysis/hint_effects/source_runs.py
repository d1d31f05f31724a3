"""Runs that succeeded, by a source of verdicts that is named: one a task, to write hints from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from judging.analysis.experiments.sources import (
    SUCCESS,
    Choice,
    Source,
    choices_up_to_a_bound,
    with_said,
)
from runs.knowledge.hints.lookup import source_run
from runs.models import AgentConfiguration, Experiment, Run, RunStatus, Task, User
from runs.models.tasks import task_key
from webagent.knowledge.entries import Level
from webagent.knowledge.extraction import MAX_ASKS
from webagent.knowledge.hints import hint_request, load_wording
from webagent.llm.budget import count_request, estimate_cost
from webagent.llm.registry import ModelEntry

SAMPLE = 12
"""Runs whose logs are measured for an estimate; longer lists are told from these."""
USUAL_TOKENS = 800
"""Of one hint, as a reply."""
MOST = 2000
"""Sources of one job."""


@dataclass(frozen=True, kw_only=True)
class SourceRunQuery:
    """Which runs may be sources. Empty values leave all in; without a user nothing is hidden."""

    user: User | None
    task_set: str = ""
    experiment: Experiment | None = None
    agent: str = ""

    def runs(self) -> QuerySet[Any]:
        """Runs that ended, hide nothing from the person, and took steps; of each the last attempt.

        Tasks that the person still judges and infeasible ones are left out whole.
        """
        runs: Any = Run.objects.all()
        if self.user is not None:
            runs = Run.objects.visible_to(self.user).not_blind().not_anonymous()
            runs = runs.exclude(Task.objects.is_sealed(self.user, "task"))
        runs = runs.filter(superseded=False, status__in=RunStatus.ended(), n_steps__gt=0)
        runs = runs.exclude(Task.objects.is_infeasible("task"))
        if self.task_set:
            runs = runs.filter(task__task_set__name=self.task_set)
        if self.experiment is not None:
            runs = runs.filter(experiment=self.experiment)
        if self.agent:
            runs = runs.filter(agent__name=self.agent)
        # Whoever was told how to succeed has nothing of their own to tell.
        chosen: QuerySet[Any] = runs.exclude(agent__config__has_key="hints").order_by()
        return chosen

    def choices(self) -> list[Choice]:
        """Who could say that they succeeded, and of how many runs each says something."""
        return choices_up_to_a_bound(self.runs())

    def agents(self) -> list[str]:
        """Names of those who acted in these runs. Of each agent, one run is looked for."""
        acted = self.runs().filter(agent=OuterRef("pk"))
        agents = AgentConfiguration.objects.filter(Exists(acted)).order_by()
        return sorted(agents.values_list("name", flat=True).distinct())


def source_ids(source_query: SourceRunQuery, source: Source) -> list[UUID]:
    """One successful run of each task: that with the fewest steps, of equal ones the first."""
    rows = (
        with_said(source_query.runs(), source)
        .filter(said=SUCCESS)
        .order_by("n_steps", "created_at", "pk")
        .values_list("pk", "task__task_set__name", "task__external_id")
    )
    found: dict[tuple[str, str], UUID] = {}
    for pk, name, external_id in rows:
        found.setdefault((name, task_key(name, external_id)), pk)
    return sorted(found.values(), key=str)[:MOST]


def listed(run_ids: Sequence[UUID]) -> QuerySet[Run]:
    """The runs with all that a list of sources shows."""
    runs = Run.objects.filter(pk__in=run_ids).select_related("task__task_set", "agent")
    return runs.order_by("task__task_set__name", "task__external_id")


@dataclass(frozen=True)
class WritingEstimate:
    """What writing takes if every hint passes at once; `most` if each is asked for again."""

    hints: int
    input_tokens: int
    cost: float | None
    most: float | None


def writing_estimate(
    run_ids: Sequence[UUID], levels: Sequence[Level], entry: ModelEntry
) -> WritingEstimate:
    """Told from the logs of some of the runs."""
    wording = load_wording()
    requests = [
        hint_request(entry.name, source_run(run), level, wording)
        for run in listed(run_ids)[:SAMPLE]
        for level in levels
    ]
    hints = len(run_ids) * len(levels)
    tokens = [count_request(request, entry) for request in requests]
    costs = [estimate_cost(each, entry, output_tokens=USUAL_TOKENS) for each in requests]
    known = [float(cost) for cost in costs if cost is not None]
    cost = hints * sum(known) / len(known) if known else None
    return WritingEstimate(
        hints,
        round(hints * sum(tokens) / len(tokens)) if tokens else 0,
        cost,
        None if cost is None else cost * MAX_ASKS,
    )
