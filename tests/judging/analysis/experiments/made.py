"""Experiments whose figures are known, made quickly."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from django.test import Client
from django.urls import reverse

from judging.models import ReferenceVerdict, Study, StudyItem
from runs.models import AgentConfiguration, Event, Experiment, Run, RunStatus, Task
from tests.judging.analysis import audited
from tests.runs.factories import make_agent, make_task

SUCCESS, FAILURE = 1.0, 0.0


def experiment(name: str = "Trial of agents") -> Experiment:
    return Experiment.objects.get_or_create(name=name)[0]


def tasks(number: int, **fields: Any) -> list[Task]:
    """So many tasks; those that exist already by these names are taken."""
    return [
        Task.objects.filter(external_id=f"made-{n}").first() or make_task(f"made-{n}", **fields)
        for n in range(number)
    ]


def run_row(
    of: Experiment, task: Task, agent: AgentConfiguration, reward: float | None, **fields: Any
) -> Run:
    """A finished run without steps, not yet stored."""
    outcomes = {SUCCESS: Run.Outcome.SUCCESS, FAILURE: Run.Outcome.FAILURE}
    return Run(
        **{
            "id": uuid4(),
            "task": task,
            "agent": agent,
            "experiment": of,
            "reward": reward,
            "outcome": outcomes.get(reward or 0.0, Run.Outcome.UNKNOWN)
            if reward is not None
            else Run.Outcome.UNKNOWN,
            "end_reason": Run.EndReason.TASK_ENDED,
            "status": RunStatus.FINISHED,
            "source_format": "native",
            "goal": task.goal,
            "n_steps": 3,
            "seconds": 2.0,
            **fields,
        }
    )


def store(runs: Iterable[Run]) -> list[Run]:
    return Run.objects.bulk_create(list(runs), batch_size=500)


def two_models(cells: Mapping[str, int], of: Experiment | None = None) -> Experiment:
    """Two configurations on the same tasks; so many tasks of each cell: both, a, b, neither."""
    of = of or experiment("Two models")
    first, second = make_agent("generic", "gpt-5-mini"), make_agent("generic", "claude-3.7-sonnet")
    rewards = {"both": (1.0, 1.0), "a": (1.0, 0.0), "b": (0.0, 1.0), "neither": (0.0, 0.0)}
    made = iter(tasks(sum(cells.values())))
    runs = []
    for cell, n in cells.items():
        for _ in range(n):
            task = next(made)
            runs += [
                run_row(of, task, agent, reward, seed=7)
                for agent, reward in zip((first, second), rewards[cell], strict=True)
            ]
    store(runs)
    return of


def mark(run: Run, *kinds: str) -> None:
    """Events of these kinds on the run, as the detectors and recoveries leave them."""
    Event.objects.bulk_create(
        Event(run=run, kind=kind, first_step=0, last_step=1) for kind in kinds
    )
    Run.objects.filter(pk=run.pk).update(has_anomaly=True)


def settle(run: Run, verdict: str, study: Study | None = None) -> StudyItem:
    """A reference verdict on the run."""
    study = study or Study.objects.get_or_create(name="People's study")[0]
    item = StudyItem.objects.create(
        study=study,
        run=run,
        position=study.items.count(),
        status=StudyItem.Status.SETTLED,
        n_labels=2,
    )
    ReferenceVerdict.objects.create(
        item=item,
        run=run,
        verdict=verdict,
        origin=ReferenceVerdict.Origin.AGREED,
        decided_at=audited.YESTERDAY,
        run_created_at=run.created_at,
    )
    return item


def reader(name: str = "reader") -> Client:
    """Somebody who may see experiments and audits, logged in."""
    client = Client()
    client.force_login(
        audited.person(
            name, "judging.view_audit", "runs.view_run", "runs.view_experiment", "runs.rerun_run"
        )
    )
    return client


def address(name: str, *args: Any, **query: Any) -> str:
    return reverse(f"judging:{name}", args=args, query=query)
