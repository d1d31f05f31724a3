"""What the server takes for the pages that people wait for, each beside bare Django and SQL.

The bare page is what no framework can be without: Django's stock middleware for the same person,
the rows by the database's driver, and a format string that puts them into as many bytes.
"""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.test import Client

from judging.models import Assignment, EvaluationBatch, EvaluatorVersion, Study
from judging.studies.access import Role
from runs.models import User
from tests.benchmarks import audits, labels
from tests.benchmarks.clock import processor_seconds, work_side_by_side
from tests.benchmarks.goals import bare_client, record, stretched
from tests.judging.analysis import audited
from tests.judging.factories import annotators_of, make_study, next_assignment
from tests.runs.factories import client_of, make_run, make_task
from tools.seed_scale import PEOPLE, TASK_SETS
from tools.seed_scale.filling import fill

RUNS = 3_000
"""Where the database is not seeded."""
LIST_MS = 15
RUN_MS = {15: 15, 100: 20, 300: 25}
LABEL_MS, AUDIT_MS = 10, 25
LABELLED, TIMES = 1_000, 25
LIST_SQL = {
    "runs": """
        SELECT r.id, r.goal, r.n_steps, r.seconds, r.outcome, r.created_at, t.site, a.name, a.model
        FROM runs_run r JOIN runs_task t ON t.id = r.task_id
        JOIN runs_agentconfiguration a ON a.id = r.agent_id
        WHERE NOT r.superseded ORDER BY r.created_at DESC LIMIT 50
    """,
    "tasks": "SELECT id, external_id, goal, site, template FROM runs_task ORDER BY id LIMIT 50",
    "disputes": """
        SELECT d.id, r.goal, s.name, d.opened_at FROM judging_dispute d
        JOIN judging_studyitem i ON i.id = d.item_id JOIN judging_study s ON s.id = i.study_id
        JOIN runs_run r ON r.id = i.run_id ORDER BY d.opened_at LIMIT 50
    """,
    "cells": """
        SELECT i.position, r.goal, t.external_id, t.site, v.verdict, r.n_steps
        FROM judging_studyitem i JOIN judging_referenceverdict v ON v.item_id = i.id
        JOIN runs_run r ON r.id = i.run_id JOIN runs_task t ON t.id = r.task_id
        ORDER BY i.position LIMIT 50
    """,
    "batches": "SELECT id, state, n_total, n_done FROM judging_evaluationbatch LIMIT 50",
}
RUN_SQL = 'SELECT "index", thought, action, url, state FROM runs_step WHERE run_id = %s'


def run() -> None:
    engineer = seeded_engineer()
    with transaction.atomic():  # nothing of it stays, so that it can be measured and seeded again
        _lists(engineer)
        _run_pages(engineer)
        _label()
        _audit()
        transaction.set_rollback(True)


def seeded_engineer() -> User:
    """Somebody who sees all, on a database that is seeded now; it may hold other runs, too."""
    engineers = User.objects.filter(username=f"{PEOPLE}{Role.ENGINEER.value}-1")
    if not engineers.exists():
        fill(RUNS, seed=1, anyway=True)
    return engineers.get()


def _lists(engineer: User) -> None:
    study = Study.objects.filter(name__startswith=TASK_SETS).order_by("pk")[0]
    judged = EvaluatorVersion.objects.filter(evaluations__run__study_items__study=study)
    evaluator = judged.order_by("pk")[0]
    EvaluationBatch.objects.bulk_create(
        EvaluationBatch(evaluator=evaluator, study=study, state="finished", n_total=9, n_done=9)
        for _ in range(50)
    )
    lists = {
        "runs": "/runs/",
        "runs of an outcome": "/runs/?outcome=success",
        "runs searched for": "/runs/?q=book",
        "runs by cost": "/runs/?sort=-cost",
        "tasks": "/tasks/",
        "disputes": "/disputes/",
        "cells": f"/studies/{study.pk}/audit/{evaluator.pk}/cells/tp-fn-tn-fp/",
        "batches": "/audit/batches/",
    }
    client = client_of(engineer)
    for name, address in lists.items():
        sql = LIST_SQL[name.split()[0]]
        _page(f"list of {name}", client, engineer, address, LIST_MS, partial(_read, sql))


def _run_pages(engineer: User) -> None:
    task = make_task("measured")
    for length, goal in RUN_MS.items():
        key = make_run(steps=length, task=task).pk
        plain = key if connection.features.has_native_uuid_field else key.hex
        steps = partial(_read, RUN_SQL, plain)
        _page(f"run of {length} steps", client_of(engineer), engineer, f"/runs/{key}/", goal, steps)


def _page(
    what: str,
    client: Client,
    user: User,
    address: str,
    goal_ms: float,
    read: Callable[[], list[tuple[object, ...]]],
) -> None:
    size = len(_get(client, address))

    def answer() -> bytes:
        rows = "".join("<tr>" + "<td>%s</td>" * len(row) % row for row in read())
        return rows.ljust(size).encode()

    bare = bare_client(user, answer)
    ours, least = work_side_by_side(
        partial(_get, client, address), partial(bare.get, "/"), times=TIMES
    )
    record(what, 1000 * ours, goal=stretched(goal_ms), bare=1000 * least)


def _label() -> None:
    """One label submitted, and in turn the bare statements that write the rows of one."""
    first = make_run(pictures=False, steps=labels.STEPS)
    study = make_study(runs=[first, *labels.twins_of(first, 4 * TIMES)], annotators=2)
    person, other = annotators_of(study)
    client, address = client_of(person), f"/studies/{study.pk}/annotate/"
    guideline = study.guidelines.get().pk
    spent: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(TIMES):
        form = labels.Form(_next(study, person), guideline, is_second=False, key=str(uuid.uuid4()))
        start = processor_seconds()
        answer = client.post(address, form.fields)
        spent["ours"].append(processor_seconds() - start)
        if answer.status_code != 302:
            raise RuntimeError(f"a label was answered {answer.status_code}")
        form = labels.Form(_next(study, other), guideline, is_second=False, key=str(uuid.uuid4()))
        [write] = labels.bare_writes([form])
        start = processor_seconds()
        write()
        spent["bare"].append(processor_seconds() - start)
    ours, bare = (1000 * min(each) for each in spent.values())
    record("one label submitted", ours, goal=stretched(LABEL_MS), bare=bare)


def _next(study: Study, person: User) -> Assignment:
    held = next_assignment(study=study, user=person)
    if held is None:
        raise RuntimeError("there is no run to label")
    return held


def _audit() -> None:
    study = audits.study_of(f"measured audit of {LABELLED}", LABELLED)
    audits.judge(study)
    auditor = audited.auditor("measured auditor")
    address, bare = f"/studies/{study.pk}/audit/", partial(_read, audits.BARE, study.pk)
    name = f"audit of {LABELLED} labelled runs"
    _page(name, client_of(auditor), auditor, address, AUDIT_MS, bare)


def _read(sql: str, *arguments: Any) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        found: list[tuple[object, ...]] = cursor.fetchall()
        return found


def _get(client: Client, address: str) -> bytes:
    answer = client.get(address)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answers {answer.status_code}")
    content: bytes = answer.content
    return content
