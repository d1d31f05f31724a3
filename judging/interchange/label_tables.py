"""A study's labels and reference verdicts as rows that `import_labels` reads."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

from judging.interchange.labels import label_record
from judging.interchange.row_fields import (
    ADJUDICATION,
    CONTENT_HASH,
    KIND,
    LABEL,
    RUN_ID,
    cell_of_value,
)
from judging.interchange.verdicts import adjudication_record
from judging.models import Label, ReferenceVerdict, Study
from runs.models import Run
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.records import AdjudicationRecord, LabelRecord

AT_ONCE = 500
COLUMNS = (
    KIND,
    RUN_ID,
    CONTENT_HASH,
    "task",
    "agent",
    "seed",
    "annotator",
    "by",
    "verdict",
    "confidence",
    "causes",
    "failure_step",
    "rationale",
    "seconds",
    "at",
    "side_effect",
    "optimality",
    "looping",
    "comments",
    "guideline_version",
    "protocol",
    "id",
    "label_ids",
    "raw",
    "extra",
)


def rows_of(study: Study) -> Iterator[dict[str, Any]]:
    """The study's labels, then its reference verdicts, by column; runs in the study's order."""
    labels = (
        Label.objects.filter(item__study=study)
        .select_related("item__study", "item__run__task", "item__run__agent", "annotator")
        .select_related("guideline")
        .prefetch_related("revisions", "ticks__milestone", "item__comments")
        .order_by("item__position", "submitted_at", "pk")
    )
    for label in labels.iterator(AT_ONCE):
        yield _row(LABEL, label.item.run, label_record(label))
    verdicts = (
        ReferenceVerdict.objects.filter(item__study=study)
        .select_related("item__study", "run__task", "run__agent", "decided_by")
        .prefetch_related("item__labels")
        .order_by("item__position", "pk")
    )
    for verdict in verdicts.iterator(AT_ONCE):
        yield _row(ADJUDICATION, verdict.run, adjudication_record(verdict))


def _row(kind: str, run: Run, record: LabelRecord | AdjudicationRecord) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(canonical_json(record))
    said.pop("study", None)
    said["verdict"] = said.pop("success", said.get("verdict"))
    if causes := said.pop("failure_types", None):
        said["causes"] = causes
    return {
        KIND: kind,
        RUN_ID: str(run.pk),
        CONTENT_HASH: run.content_hash,
        "task": run.task.external_id,
        "agent": run.agent.name,
        "seed": run.seed,
    } | said


def _write_csv(file: TextIO, rows: Iterable[dict[str, Any]]) -> int:
    table = csv.writer(file)
    table.writerow(COLUMNS)
    count = 0
    for row in rows:
        table.writerow([cell_of_value(name, row.get(name)) for name in COLUMNS])
        count += 1
    return count


def _write_jsonl(file: TextIO, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        count += 1
    return count


WRITERS: Mapping[str, Callable[[TextIO, Iterable[dict[str, Any]]], int]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
}
"""By the ending of the file's name; each tells how many rows it wrote."""
