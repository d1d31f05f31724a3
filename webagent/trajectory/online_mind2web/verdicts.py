"""Human labels 0, 1 and 2, whose meaning is asked for and not guessed, and the judges' verdicts."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Literal

from webagent.trajectory.assembling import evaluator, verdict_of
from webagent.trajectory.lines import BROKEN, json_values
from webagent.trajectory.online_mind2web.layout import LABEL_KEY
from webagent.trajectory.recognition import Question
from webagent.trajectory.records import (
    AdjudicationRecord,
    BlobRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import items, mapping, text, whole

Word = Literal["success", "failure", "not_executable"]

STUDY = "Online-Mind2Web human labels"
PROTOCOL = "online_mind2web"
ANNOTATOR = "human-label@online_mind2web"
SETTLED = "The label as submitted: what three annotators or more and a reviewer agreed on."

_MEANINGS: dict[str, dict[int, Word]] = {
    "official": {0: "failure", 1: "success", 2: "not_executable"},
    "swapped": {0: "not_executable", 1: "success", 2: "failure"},
}
_ALIKE: dict[int, Word] = {1: "success"}
"""What a label says in whichever meaning."""

QUESTION = Question(
    key="om2w_labels",
    text="What do the human labels 0, 1 and 2 mean?",
    choices={
        "official": "0 failure, 1 success, 2 not executable (the benchmark's own rule)",
        "swapped": "0 not executable, 1 success, 2 failure",
    },
    unanswered="labels 0 and 2 are left out",
)


def entries(document: Any, task_id: str) -> list[dict[str, Any]]:
    """What a label file says of one task: one entry for each time it stands there."""
    return [
        entry
        for item in items(document)
        if text((entry := mapping(item)).get("task_id")) == task_id
    ]


def values(listed: list[dict[str, Any]]) -> dict[str, set[int]]:
    """Agent, as the label's key names it -> labels that are given."""
    found: dict[str, set[int]] = {}
    for entry in listed:
        for key, value in entry.items():
            if key.endswith(LABEL_KEY) and (number := whole(value)) is not None:
                found.setdefault(key.removesuffix(LABEL_KEY).rstrip("_"), set()).add(number)
    return found


def needs_meaning(document: Any) -> bool:
    """Whether a label file holds labels that say different things to different people."""
    every = values([mapping(item) for item in items(document)])
    return any(number not in _ALIKE for numbers in every.values() for number in numbers)


def meaning(number: int, answer: str | None) -> Word | None:
    """What a label says; None where nobody can tell."""
    return _MEANINGS.get(answer or "", _ALIKE).get(number)


def label(number: int, said: Word, run_id: str, entry: dict[str, Any]) -> LabelRecord:
    """The label as a person's."""
    return LabelRecord(
        id=bounded_name(f"{run_id}-label"),
        run_id=run_id,
        annotator=ANNOTATOR,
        success=said,
        rationale=text(entry.get("reasoning")),
        failure_types=tuple(words for key in ("failure_type",) if (words := text(entry.get(key)))),
        study=STUDY,
        protocol=PROTOCOL,
        raw={"human_label": number},
    )


def verdict(given: LabelRecord, said: Word) -> AdjudicationRecord:
    """The same as a settled verdict: that is what the benchmark's protocol ends in."""
    return AdjudicationRecord(
        id=bounded_name(f"{given.run_id}-verdict"),
        run_id=given.run_id,
        label_ids=(given.id,),
        verdict=said,
        rationale=SETTLED,
        study=STUDY,
        by=ANNOTATOR,
    )


_FILE = re.compile(
    r"^(?P<mode>.+_eval|WebJudge\w*?)_(?P<model>.+?)_score_threshold_(?P<threshold>\d+)_auto_eval",
    re.IGNORECASE,
)


def by_task(content: str) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """What a judge wrote of each task, and how many lines are no JSON."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    bad_lines = 0
    for value in json_values(content.split("\n")):
        bad_lines += value is BROKEN
        if task_id := text(mapping(value).get("task_id")):
            found[task_id].append(value)
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
        verdict=verdict_of(predicted == 1 if predicted in (0, 1) else None),
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
    return evaluator(match["mode"] if match else stem, "judge", "imported", config)
