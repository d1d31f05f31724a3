"""Pages over 10,000 runs, against the bare query behind each."""

from __future__ import annotations

import itertools

from django.db import connection
from django.test import Client

from runs.models import Run, Step
from tests.benchmarks.clock import seconds, tell
from tests.runs.factories import make_agent, make_run, make_task, make_user

RUNS = 10_000
LIST = "SELECT * FROM runs_run WHERE NOT superseded ORDER BY created_at DESC, id DESC LIMIT 50"


def run() -> None:
    client = Client()
    client.force_login(make_user())
    _fill()
    tell(
        f"list of 50 among {RUNS} runs",
        seconds(lambda: client.get("/runs/")),
        seconds(lambda: _query(LIST)),
    )
    for length in (15, 300):
        run = make_run(steps=length)
        steps = Step.objects.filter(run=run).order_by("index")
        tell(
            f"page of a run of {length} steps",
            seconds(lambda run=run: client.get(f"/runs/{run.pk}/")),  # type: ignore[misc]
            seconds(lambda steps=steps: list(steps.all())),  # type: ignore[misc]
        )


def _fill() -> None:
    tasks = [make_task(f"benchmark-{n}") for n in range(50)]
    agents = [make_agent(f"agent-{n}") for n in range(4)]
    pairs = itertools.cycle(itertools.product(tasks, agents))
    Run.objects.bulk_create(
        (
            Run(task=task, agent=agent, goal=task.goal, status="finished", source_format="native")
            for task, agent in itertools.islice(pairs, RUNS)
        ),
        batch_size=500,
    )


def _query(sql: str, *arguments: int) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        found: list[tuple[object, ...]] = cursor.fetchall()
        return found
