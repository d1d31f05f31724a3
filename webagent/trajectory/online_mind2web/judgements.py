"""The benchmark's automatic judges as evaluations, from the lines they write."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

from webagent.trajectory.records import BlobRecord, EvaluationRecord, EvaluatorRecord
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.untyped import mapping, text, whole

_FILE = re.compile(
    r"^(?P<mode>.+_eval|WebJudge\w*?)_(?P<model>.+?)_score_threshold_(?P<threshold>\d+)_auto_eval",
    re.IGNORECASE,
)


def by_task(content: str) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """What a judge wrote of each task, and how many lines are no JSON."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    bad_lines = 0
    for line in content.split("\n"):
        try:
            entry = mapping(json.loads(line))
        except (ValueError, RecursionError):
            bad_lines += bool(line.strip())
            continue
        if task_id := text(entry.get("task_id")):
            found[task_id].append(entry)
    return found, bad_lines


def evaluation(
    entry: dict[str, Any], run_id: str, file_name: str, raw: BlobRecord
) -> EvaluationRecord:
    """One judge's verdict. `file_name` says which judge it was, with which model."""
    details = mapping(entry.get("evaluation_details"))
    predicted = whole(entry.get("predicted_label"))
    if predicted is None:
        predicted = whole(details.get("predicted_label"))
    beside = {"key_points": entry["key_points"]} if entry.get("key_points") else {}
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-{file_name}"),
        run_id=run_id,
        evaluator=_evaluator(file_name),
        verdict={1: "passed", 0: "failed"}.get(-1 if predicted is None else predicted, "error"),
        rationale=text(details.get("response")) or text(entry.get("evaluation_details")),
        raw=raw,
        extra={"details": beside} if beside else None,
    )


def _evaluator(file_name: str) -> EvaluatorRecord:
    match = _FILE.match(file_name)
    stem = file_name.rpartition(".")[0] or file_name
    config: dict[str, Any] = {"imported_from": "online_mind2web"}
    if match:
        config |= {"model": match["model"], "score_threshold": int(match["threshold"])}
    return EvaluatorRecord.model_validate(
        {
            "name": (match["mode"] if match else stem)[:100],
            "kind": "judge",
            "version": "imported",
            "config": config,
        }
    )
