"""Lists and run pages of a long history, against the same templates with their rows in memory.

Compared by processor time, of this process and of the database's, which other programs on the
machine lengthen little.

The runs are seeded (`tools.seed_scale`): `BENCHMARK_RUNS` of them, 20,000 unless it says
otherwise, or as many as the database at `DATABASE_URL` holds already. Growth is measured against a
database of 1,000 beside it, by the same requests.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.db import connection, transaction
from django.template import engines
from django.test import Client
from django.test.utils import (
    CaptureQueriesContext,
    setup_test_environment,
    teardown_test_environment,
)

from judging.studies.access import Role
from runs.models import Run, User
from tests.benchmarks.clock import tell, work_side_by_side
from tests.benchmarks.goals import record
from tests.runs.factories import make_run, make_task
from tools.seed_scale import PEOPLE
from tools.seed_scale.filling import fill

SMALL = 1_000
ENGINEER = f"{PEOPLE}{Role.ENGINEER.value}-1"
GOAL, GOAL_GROWTH, GOAL_LENGTH = 2.0, 1.2, 1.5
LISTS = (
    "",
    "?after={middle}",
    "?before={middle}&sort=-cost",
    "?outcome=success",
    "?outcome=error&sort=-cost",
    "?site=shopping",
    "?agent={agent}",
    "?agent={agent}&model={model}&site={site}",
    "?reference=success",
    "?anomaly=loop",
    "?anomaly=none",
    "?status=failed",
    "?superseded=true",
    "?experiment=seeded+experiment+0+of+1",
    "?q=book",
    "?sort=n_steps",
    "?sort=-seconds",
    "?sort=cost",
    "?sort=goal",
)
APART = "BENCHMARK_APART"


def run() -> None:
    if os.environ.get(APART):
        sys.stdout.write(json.dumps(_measured()))
        return
    small = _measured_apart(SMALL)
    if not User.objects.filter(username=ENGINEER).exists():
        fill(int(os.environ.get("BENCHMARK_RUNS", "20000")), seed=1, anyway=True)
    runs = Run.objects.count()
    large = _measured()
    growth = {}
    for query, (ours, bare) in large.items():
        tell(f"runs/{query} among {runs}", ours, bare, goal=GOAL)
        growth[query] = ours / small[query][0]
        tell(f"  against {SMALL} runs", ours, small[query][0])
    worst = max(growth, key=growth.__getitem__)
    name = f"growth of lists of runs from {SMALL} to {runs}, at most (runs/{worst})"
    record(name, growth[worst], goal=GOAL_GROWTH, unit="times")
    _tell_run_pages()


def _measured() -> dict[str, tuple[float, float]]:
    """By query: seconds of the page, and of its template alone."""
    client = _client()
    found = {}
    runs = Run.objects.order_by("-created_at")
    middle = runs.values_list("pk", flat=True)[runs.count() // 2]
    some = runs.select_related("agent", "task")[0]  # a small database has not every agent
    there = {"agent": some.agent.name, "model": some.agent.model, "site": some.task.site}
    if connection.vendor == "postgresql":  # whose helpers' work would be counted nowhere
        _say("SET max_parallel_workers_per_gather = 0")
    for query in LISTS:
        address = f"/runs/{query.format(middle=middle, **there)}"
        ours, bare = work_side_by_side(
            partial(_get, client, address), _template_alone(client, address), times=5
        )
        found[query] = (ours, bare)
    return found


def _measured_apart(runs: int) -> dict[str, tuple[float, float]]:
    """The same in another process, on a database of so many runs that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DATA_DIR": folder, APART: "1"}
        name = f"small_{os.getpid()}"
        if connection.vendor == "postgresql":
            url = urlsplit(os.environ["DATABASE_URL"])
            environment["DATABASE_URL"] = url._replace(path=f"/{name}", query="").geturl()
            _say(f'CREATE DATABASE "{name}"')
        try:
            for command in (
                ("manage.py", "migrate", "--verbosity", "0"),
                ("-m", "tools.seed_scale", "--runs", str(runs)),
            ):
                subprocess.run(
                    [sys.executable, *command],
                    env=environment,
                    check=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            done = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks", "pages"],
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
            )
        finally:
            if connection.vendor == "postgresql":
                _say(f'DROP DATABASE "{name}"')
        measured: dict[str, tuple[float, float]] = json.loads(done.stdout)
        return measured


def _say(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _client() -> Client:
    client = Client()
    client.force_login(User.objects.get(username=ENGINEER))
    return client


def _template_alone(client: Client, address: str) -> Callable[[], object]:
    """Renders what the page renders, with everything in memory already."""
    setup_test_environment()
    try:
        answer = client.get(address)
    finally:
        teardown_test_environment()
    contexts: Any = answer.context  # one for each template, the page's own first
    context = contexts[0].flatten()
    template = engines["django"].get_template(str(answer.templates[0].name))

    def render() -> object:
        return template.render(dict(context))

    render()
    with CaptureQueriesContext(connection) as queries:
        render()
    if len(queries):
        raise RuntimeError(f"{address} asks the database while it is drawn: {queries[0]['sql']}")
    return render


def _tell_run_pages() -> None:
    client = _client()
    with transaction.atomic():  # nothing of it stays, so that it can be measured and seeded again
        task = make_task(f"measured {os.getpid()}")
        runs = [make_run(steps=length, task=task) for length in (15, 300)]
        short, long = work_side_by_side(
            *(partial(_get, client, f"/runs/{run.pk}/") for run in runs)
        )
        transaction.set_rollback(True)
    tell("page of a run of 300 steps against 15", long, short, goal=GOAL_LENGTH)


def _get(client: Client, address: str) -> None:
    answer = client.get(address)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answers {answer.status_code}")
