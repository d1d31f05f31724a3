"""AgentRewardBench's `annotations.csv` as rows of labels, and the verdicts that its rule makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from judging.portability.judgements.columns import ADJUDICATION, EXPERIMENT, KIND, LABEL
from webagent.trajectory.bundles import Problem
from webagent.trajectory.files.stubs import same_task
from webagent.trajectory.formats.agentrewardbench.trajectories import Key
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    NEEDED,
    Annotation,
    label,
    primary_verdict,
)
from webagent.trajectory.records import Record
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.verdict_records import LabelRecord


class Row(NamedTuple):
    """What one row says, by column; what it leaves empty is missing."""

    line: int
    values: dict[str, Any]


_OF_PLACE = {"id", "run_id", "study", "label_ids"}
"""Fields that follow from where the row goes."""


def is_annotations_header(cells: Sequence[str]) -> bool:
    """Whether a file's first line is that of the benchmark's annotations."""
    return set(NEEDED) <= {cell.strip().removeprefix("\ufeff") for cell in cells}


def annotation_rows(
    header: Sequence[str], table: Iterator[list[str]], before: int
) -> Iterator[Row | Problem]:
    """A label for each annotation; after the last, each run's verdict by the benchmark's rule.

    The first annotator in the file counts, unless they are unsure.

    Args:
        table: a `csv.reader` after its first line.
        before: lines before that one.
    """
    names = [cell.strip().removeprefix("\ufeff") for cell in header]
    first: dict[Key, tuple[int, dict[str, Any], LabelRecord]] = {}
    for cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        line = before + getattr(table, "line_num", 0)
        annotation = Annotation(line, dict(zip(names, cells, strict=False)))
        if not annotation.is_whole or len(cells) != len(names):
            yield Problem("", "", "", "has not all cells that an annotation has", line)
            continue
        said = label(annotation, "run")
        if said is None:
            why = "is none of Successful, Unsuccessful, Unsure"
            yield Problem("", "", "trajectory_success", why, line)
            continue
        run = _run_of(annotation)
        yield Row(line, run | {KIND: LABEL} | _values(said))
        first.setdefault((run["task_set"], run["agent"], run["task"]), (line, run, said))
    for line, run, said in first.values():
        if verdict := primary_verdict((said,), "run"):
            yield Row(line, run | {KIND: ADJUDICATION} | _values(verdict))


def _run_of(annotation: Annotation) -> dict[str, Any]:
    """What tells the run; the benchmark calls the agent `model_name`."""
    row = annotation.row
    named = {
        "task_set": row["benchmark"],
        "task": same_task(row["task_id"].strip()),
        "agent": row["model_name"],
        EXPERIMENT: row.get("exp_name", ""),
    }
    return {key: bounded_name(value.strip()) for key, value in named.items() if value.strip()}


def _values(record: Record) -> dict[str, Any]:
    told = record.to_json()
    return {key: value for key, value in told.items() if key not in _OF_PLACE}
