"""Every page that lists or counts, as three people see it, with the slowest query behind each.

Walks the database that it is given (`DATA_DIR`, `DATABASE_URL`), which `tools.seed_scale` has
filled. With `WALK_PLANS` naming a folder, writes the plans of all queries of more than 30 ms there.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from django.db import connection
from django.db.models import Count
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judging.models import Dispute, EvaluatorVersion, Study, StudyItem
from judging.studies.access import Role
from runs.models import Experiment, Run, Task, TaskSet, User
from tests.benchmarks.clock import processor_seconds
from tools.seed_scale import PEOPLE

SLOW_QUERY_S = 0.03
LISTS = (
    "",
    *(f"?sort={name}" for name in ("created", "goal", "n_steps")),
    *(f"?sort={name}" for name in ("seconds", "-seconds", "cost", "-cost")),
    "?outcome=success",
    "?outcome=not_executable",
    "?outcome=success&sort=-cost",
    "?site=shopping",
    "?site=site-007.example",
    "?site=site-007.example&agent=oracle&outcome=error",
    "?agent=oracle",
    "?model=model-c",
    "?agent=oracle&model=model-c&site=reddit",
    "?reference=success",
    "?reference=failure&agent=oracle",
    "?anomaly=loop",
    "?anomaly=false_completion",
    "?anomaly=none",
    "?status=queued",
    "?status=failed",
    "?status=cancelled",
    "?superseded=true",
    "?q=open",
    "?q=zebra+crossing",
    "?task=webarena.17",
    "?experiment=seeded+experiment+3+of+1",
    "?experiment=nothing",
)


def run() -> None:
    for role in (Role.ENGINEER, Role.ANNOTATOR, Role.ADJUDICATOR):
        user = User.objects.get(username=f"{PEOPLE}{role.value}-1")
        client = Client()
        client.force_login(user)
        for address in addresses(role):
            _visit(client, role, address)


def addresses(role: Role) -> Iterator[str]:
    """What this role walks through."""
    yield "/"
    yield from (f"/runs/{query}" for query in LISTS)
    yield from ("/jobs/", "/jobs/count/", "/reruns/", "/experiments/", "/studies/", "/disputes/")
    yield from ("/tasks/", "/disputes/overruled/", "/imports/")
    run = Run.objects.filter(n_steps=12, superseded=False).order_by("created_at").first()
    if run:
        yield from (f"/runs/{run.pk}/", f"/runs/{run.pk}/compare/", f"/runs/{run.pk}/judgements/")
    studies = Study.objects.annotate(n=Count("items")).order_by("-n")
    for study in (studies[0], studies[1]):
        yield f"/studies/{study.pk}/"
        if role == Role.ANNOTATOR:
            yield f"/studies/{study.pk}/annotate/"
    if role == Role.ADJUDICATOR:
        dispute = Dispute.objects.filter(item__status=StudyItem.Status.DISPUTED).first()
        if dispute:
            yield f"/disputes/{dispute.pk}/"
    if role == Role.ENGINEER:
        yield from _engineers(studies[0], studies[1])


def _engineers(*studies: Study) -> Iterator[str]:
    yield from ("/audit/", "/audit/batches/", "/failures/", "/reruns/infrastructure/", "/hints/")
    yield from ("/policies/", "/knowledge/", "/experiments/new/", "/hints/write/")
    yield f"/tasks/sets/{TaskSet.objects.first().pk}/"  # type: ignore[union-attr]
    yield f"/tasks/{Task.objects.first().pk}/"  # type: ignore[union-attr]
    evaluator = EvaluatorVersion.objects.get(name="webarena-repaired", kind="matcher")
    for study in studies:
        audit = f"/studies/{study.pk}/audit/"
        parts = ("", "pictures/", "figures/", "agreement/", "triangle/", "compare/", "pairs/")
        more = ("people/", "detectors/", "progress/", "causes/", "failures/", "evaluate/")
        yield from (audit + part for part in parts + more)
        yield from (f"{audit}left-out/unsettled/", f"{audit}{evaluator.pk}/cells/fn/")
    experiment = Experiment.objects.order_by("pk").first()
    other = Experiment.objects.order_by("pk").last()
    if experiment and other:
        yield f"/experiments/{experiment.pk}/"
        yield f"/experiments/{experiment.pk}/progress/"
        yield f"/experiments/{experiment.pk}/runs/"
        yield f"/experiments/{experiment.pk}/progress-rates/"
        yield f"/experiments/compare/?a={experiment.pk}&b={other.pk}"


def _visit(client: Client, role: Role, address: str) -> None:
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        start = time.perf_counter(), processor_seconds()
        status = client.get(address).status_code
        length, work = time.perf_counter() - start[0], processor_seconds() - start[1]
    slowest = max((float(query["time"]) for query in queries), default=0.0)
    sys.stdout.write(
        f"{role.value:<11} {length * 1000:8.0f} ms {work * 1000:6.0f} of work"
        f" {len(queries):3} queries, slowest {slowest * 1000:6.0f} ms  {status} {address}\n"
    )
    sys.stdout.flush()
    if folder := os.environ.get("WALK_PLANS"):
        _write_plans(Path(folder), role, address, list(queries))


def _write_plans(folder: Path, role: Role, address: str, queries: list[dict[str, str]]) -> None:
    slow = [query for query in queries if float(query["time"]) > SLOW_QUERY_S]
    if not slow:
        return
    explain = (
        "EXPLAIN (ANALYZE, BUFFERS)"
        if connection.vendor == "postgresql"
        else ("EXPLAIN QUERY PLAN")
    )
    told = []
    with connection.cursor() as cursor:
        for query in slow:
            told.append(f"-- {query['time']} s\n{query['sql']}\n")
            if (query["sql"] or "").startswith(("SELECT", "WITH")):
                cursor.execute(f"{explain} {query['sql'].replace('%', '%%')}", None)
                told += ["   " + " ".join(map(str, row)) for row in cursor.fetchall()]
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{role.value}{address}".replace("/", "_").replace("?", "_")
    (folder / f"{name[:100]}.txt").write_text("\n".join(told))
