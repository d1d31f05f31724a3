"""The labels of a study as CSV and JSON Lines, against the bare reading of the same columns."""

import csv
import io
import tracemalloc
from functools import partial

from django.db import transaction
from django.utils import timezone

from judging.models import Label, Study
from judging.portability.judgements.data_tables import DATA_FORMATS, DATA_TABLES, everything_of
from tests.benchmarks.clock import work_side_by_side
from tests.benchmarks.goals import record, stretched
from tests.benchmarks.labels import twins_of
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import make_run

RUNS = (1000, 10_000)
GOAL_MS, GOAL_MB = 60, 5
"""Of 2,000 labels; and the memory of however many."""
READ = (
    *("pk", "annotator__username", "success", "confidence", "causes", "failure_step", "rationale"),
    *("seconds", "submitted_at", "extra", "item__study__name", "guideline__version"),
    *("item__run_id", "item__run__content_hash", "item__run__task__external_id"),
    *("item__run__task__task_set__name", "item__run__agent__name", "item__run__agent__model"),
)


def run() -> None:
    for n_runs in RUNS:
        with transaction.atomic():
            _measure(_labelled_study(n_runs), 2 * n_runs)
            transaction.set_rollback(True)


def _measure(study: Study, n_labels: int) -> None:
    def bare() -> None:
        rows = Label.objects.filter(item__study=study).order_by("item__position", "pk")
        csv.writer(io.StringIO()).writerows(rows.values_list(*READ).iterator(1000))

    for ending in ("csv", "jsonl"):
        ours, least = work_side_by_side(partial(_write, study, ending), bare)
        goal = stretched(GOAL_MS * n_labels / 2000)
        record(f"{n_labels} labels as {ending}", 1000 * ours, goal=goal, bare=1000 * least)
    tracemalloc.start()
    _write(study, "csv")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    record(f"memory of {n_labels} labels as csv", peak / 1e6, goal=GOAL_MB, unit="MB")


def _write(study: Study, ending: str) -> None:
    table = DATA_TABLES["labels"]
    with open("/dev/null", "wb") as nowhere:
        DATA_FORMATS[ending].write(nowhere, table.columns, table.rows(everything_of(study)))


def _labelled_study(n_runs: int) -> Study:
    first = make_run(steps=1, pictures=False)
    study = make_study(runs=[first, *twins_of(first, n_runs - 1)])
    people = annotators_of(study)
    guideline = study.guidelines.first()
    Label.objects.bulk_create(
        Label(
            item=item,
            annotator=person,
            success="success",
            rationale="The basket holds the hose that the task asked for.",
            seconds=12.5,
            guideline=guideline,
            submitted_at=timezone.now(),
        )
        for item in study.items.all()
        for person in people
    )
    return study
