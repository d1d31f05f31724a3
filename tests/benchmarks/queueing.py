"""The page with the next run to label, after a label, against bare SQL that picks and reads a run.

The study holds 5,600 runs, and each of its eight annotators has labelled some hundreds. Both take
turns, in processor time of this process and the database's.
"""

import json
from datetime import timedelta

from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from judging.models import Assignment, Label, Study
from judging.studies.labels.services import submit_label
from runs.models import User
from tests.benchmarks.clock import processor_seconds
from tests.benchmarks.goals import record, stretched
from tests.benchmarks.labels import twins_of
from tests.judging.factories import annotators_of, make_study, make_submission
from tests.runs.factories import client_of, make_run

RUNS, ANNOTATORS, LABELLED, STEPS, TIMES = 5600, 8, 2240, 15, 15
GOAL_MS, GOAL_QUERIES = 20, 12
NEXT_RUN = """
    SELECT run.id, run.goal, run.n_steps FROM judging_studyitem AS item
    JOIN runs_run AS run ON run.id = item.run_id
    WHERE item.study_id = %s AND item.status = 'open' AND NOT EXISTS (
        SELECT 1 FROM judging_label AS label
        WHERE label.item_id = item.id AND label.annotator_id = %s
    ) ORDER BY item.n_labels, item.position LIMIT 1
"""
STEPS_OF = 'SELECT "index", thought, action, url FROM runs_step WHERE run_id = %s ORDER BY "index"'


def run() -> None:
    with transaction.atomic():
        _measure(_study())
        transaction.set_rollback(True)


def _measure(study: Study) -> None:
    person = annotators_of(study)[0]
    client, address = client_of(person), f"/studies/{study.pk}/annotate/"
    with CaptureQueriesContext(connection) as queries:  # which takes time itself
        _page(client, address)
    n_queries = sum("SAVEPOINT" not in query["sql"] for query in queries)
    pages, bare = [], []
    for _ in range(TIMES):
        held = Assignment.objects.get(user=person, state=Assignment.State.LEASED)
        submit_label(assignment=held, user=person, submission=make_submission())
        pages.append(_page(client, address))
        bare.append(_bare(study, person))
    ours, least = (1000 * min(each) for each in (pages, bare))
    what = f"next run of {RUNS} ({connection.vendor})"
    record(what, ours, goal=stretched(GOAL_MS), bare=least)
    record(f"  its queries ({connection.vendor})", n_queries, goal=GOAL_QUERIES, unit="queries")


def _page(client: Client, address: str) -> float:
    start = processor_seconds()
    answer = client.get(address)
    if answer.status_code != 200 or b"label-form" not in answer.content:
        raise RuntimeError("there is no run to label")
    return processor_seconds() - start


def _bare(study: Study, person: User) -> float:
    start = processor_seconds()
    with connection.cursor() as cursor:
        cursor.execute(NEXT_RUN, [study.pk, person.pk])
        row = cursor.fetchone()
        cursor.execute(STEPS_OF, [row[0]])
        json.dumps([row, cursor.fetchall()], default=str)
    return processor_seconds() - start


def _study() -> Study:
    first = make_run(pictures=False, steps=STEPS)
    study = make_study(runs=[first, *twins_of(first, RUNS - 1)], annotators=ANNOTATORS)
    people, now = annotators_of(study), timezone.now()
    own = [
        (item, people[number % ANNOTATORS])
        for number, item in enumerate(study.items.order_by("position")[:LABELLED])
    ]
    then = now - timedelta(minutes=5)
    times = {"leased_until": then, "opened_at": then}
    Assignment.objects.bulk_create(
        Assignment(item=item, user=person, state=Assignment.State.SUBMITTED, **times)
        for item, person in own
    )
    Label.objects.bulk_create(
        Label(item=item, annotator=person, success="success", seconds=30, submitted_at=then)
        for item, person in own
    )
    study.items.filter(pk__in=[item.pk for item, _ in own]).update(n_labels=1)
    if connection.vendor == "postgresql":  # as it does by itself within a minute
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE judging_studyitem, judging_assignment, judging_label, runs_run")
    return study
