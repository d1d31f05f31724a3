"""Runs that succeeded, by a source of verdicts that is named, to write hints from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from pydantic import JsonValue

from judging.analysis.experiments.population import (
    SUCCESS,
    Choice,
    Source,
    choices_up_to_a_bound,
    with_said,
)
from runs.knowledge.hints.writing import source_run
from runs.models import AgentConfiguration, Experiment, Run, Task, User
from runs.models.tasks import task_key
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import HintWords, hint_request, load_wording
from webagent.llm.budget import count_request, estimate_cost
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import MAX_ASKS

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
    configurations: Collection[str] = ()
    """Hashes of the configurations that may have acted."""

    def runs(self) -> QuerySet[Any]:
        """Runs that ended, hide nothing from the person, and took steps; of each the last attempt.

        Tasks that the person still judges and infeasible ones are left out whole.
        """
        runs: Any = Run.objects.all()
        if self.user is not None:
            runs = Run.objects.visible_to(self.user).not_blind().not_anonymous()
            runs = runs.exclude(Task.objects.is_sealed(self.user, "task"))
        runs = runs.judgeable().filter(superseded=False)
        runs = runs.exclude(Task.objects.is_infeasible("task"))
        if self.task_set:
            runs = runs.filter(task__task_set__name=self.task_set)
        if self.experiment is not None:
            runs = runs.filter(experiment=self.experiment)
        if self.agent:
            runs = runs.filter(agent__name=self.agent)
        if self.configurations:
            runs = runs.filter(agent__config_hash__in=self.configurations)
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


MOST_PER_TASK = 5
"""Runs that one hint is written from: their logs stand in one prompt."""


@dataclass(frozen=True, slots=True)
class SourceRuns:
    """What hints are written from: of each task one run, and its further ones."""

    runs: list[UUID]
    further: dict[UUID, list[UUID]]

    @property
    def every(self) -> list[UUID]:
        return [*self.runs, *(run for more in self.further.values() for run in more)]


def source_runs(source_query: SourceRunQuery, source: Source, per_task: int = 1) -> SourceRuns:
    """Up to so many successful runs of each task: those with the fewest steps, the first of equals.

    The task's shortest run names its hints.
    """
    rows = (
        with_said(source_query.runs(), source)
        .filter(said=SUCCESS)
        .order_by("n_steps", "created_at", "pk")
        .values_list("pk", "task__task_set__name", "task__external_id")
    )
    found: dict[tuple[str, str], list[UUID]] = {}
    for pk, name, external_id in rows:
        of_task = found.setdefault((name, task_key(name, external_id)), [])
        if len(of_task) < per_task:
            of_task.append(pk)
    chosen = sorted(found.values(), key=lambda each: str(each[0]))[:MOST]
    return SourceRuns(
        [runs[0] for runs in chosen], {runs[0]: runs[1:] for runs in chosen if runs[1:]}
    )


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

    def as_json(self) -> dict[str, JsonValue]:
        """As it is kept with a job, whose page shows the most that it may cost."""
        return {
            "n_items": self.hints,
            "input_tokens": self.input_tokens,
            "usual_cost": None if self.cost is None else f"{self.cost:.6f}",
            "cost": None if self.most is None else f"{self.most:.6f}",
        }

    @property
    def words(self) -> str:
        """For commands."""
        cost = "cost unknown: the model has no price"
        if self.cost is not None and self.most is not None:
            cost = f"about ${self.cost:.4f}, at most ${self.most:.4f} if hints must be rewritten"
        return f"{self.hints} hints, about {self.input_tokens} tokens in, {cost}"


def writing_estimate(
    sources: SourceRuns, levels: Sequence[Level], entry: ModelEntry, own: HintWords | None = None
) -> WritingEstimate:
    """Told from the logs of some of the runs."""
    wording = load_wording(own)
    sample = list(listed(sources.runs)[:SAMPLE])
    ids = [run for each in sample for run in sources.further.get(each.pk, ())]
    further = Run.objects.select_related("task__task_set").in_bulk(ids)
    requests = [
        hint_request(
            entry.name,
            source_run(run, *(further[each] for each in sources.further.get(run.pk, ()))),
            level,
            wording,
        )
        for run in sample
        for level in levels
    ]
    hints = len(sources.runs) * len(levels)
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
