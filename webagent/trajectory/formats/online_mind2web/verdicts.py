"""Human labels 0, 1 and 2, whose meaning is asked for and not guessed, and the judges' verdicts."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webagent.trajectory.files.assembling import RunFiles, evaluator, present, settled, verdict_of
from webagent.trajectory.files.lines import BROKEN, json_values
from webagent.trajectory.files.recognition import Question
from webagent.trajectory.files.trees import Tree, json_of, read_file
from webagent.trajectory.intake import Bounds, Problem
from webagent.trajectory.records import BlobRecord
from webagent.trajectory.texts import bounded_name, decoded
from webagent.trajectory.values import items, mapping, text, whole
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)

Word = Literal["success", "failure", "not_executable"]

LABEL_KEY = "human_label"
STUDY = "Online-Mind2Web human labels"
PROTOCOL = "online_mind2web"
LABELS_KEPT = "human_label.json"
ANNOTATOR = "human-label@online_mind2web"
# The benchmark's protocol ends in a settled verdict.
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


class VerdictFiles:
    """Label files and judges' outputs, each read once."""

    def __init__(self, tree: Tree, bounds: Bounds) -> None:
        self._tree = tree
        self._bounds = bounds
        self._read: dict[str, Any] = {}
        self._broken: dict[str, str] = {}
        self._judged: dict[str, dict[str, list[dict[str, Any]]]] = {}

    def judged(self, name: str, task_id: str) -> list[dict[str, Any]]:
        """What a judge's output says of a task."""
        if name not in self._judged:
            try:
                self._judged[name], bad_lines = by_task(self._tree, name, self._bounds)
            except ValueError as error:
                self._judged[name], self._broken[name] = {}, str(error)
            else:
                if bad_lines:
                    self._broken[name] = f"{bad_lines} lines are no JSON, or cut short"
        return self._judged[name].get(task_id, [])

    def problems(self) -> Iterator[Problem]:
        """What could not be read of the judges' outputs, once all runs were read."""
        for name in self._judged:
            if why := self._broken.get(name):
                yield Problem(self._tree.label, name, "JSON", why)

    def read(self, name: str) -> Any:
        """The document; None if it is not readable."""
        if name not in self._read:
            try:
                self._read[name] = json_of(self._tree, name, self._bounds)
            except ValueError as error:
                self._read[name] = None
                self._broken[name] = f"not readable as JSON: {error}"
        return self._read[name]

    def why_unread(self, name: str) -> str | None:
        """Where its JSON breaks, or that it is no list of labels; None if it is one."""
        entries = self.read(name)
        keys = (key for entry in map(mapping, items(entries)) for key in entry)
        is_odd = entries != [] and not any(key.endswith(LABEL_KEY) for key in keys)
        return self._broken.get(name) or ("no list of labels" if is_odd else None)


@dataclass(frozen=True)
class HumanLabels:
    """What people said of the run."""

    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()
    agent: str | None = None
    originals: tuple[BlobRecord, ...] = ()


def human_labels(files: RunFiles, name: str | None, document: Any, task_id: str) -> HumanLabels:
    """The human label of a task, if there is one and it says something.

    Args:
        name: of the label file that `document` is; None if there is none.
    """
    listed = [
        each for each in map(mapping, items(document)) if text(each.get("task_id")) == task_id
    ]
    given = _values(listed)
    if name is None or not given:
        return HumanLabels()
    kept = files.json_blob(listed, "source", LABELS_KEPT)
    agent = next(iter(given)) if len(given) == 1 else None
    numbers = set().union(*given.values())
    number = numbers.pop() if len(numbers) == 1 else None
    # What a label says is asked for, unless it says the same in whichever meaning.
    word = _MEANINGS.get(files.answers.get(QUESTION.key, ""), _ALIKE).get(
        -1 if number is None else number
    )
    if number is None:
        files.note("label", name, f"the labels {sorted(numbers)} are given for this task")
    elif word is None:
        why = f"label {number}: nobody said what it means ({QUESTION.key})"
        # No gap of the run: the run is whole, and the same with and without the answer.
        files.problems.append(Problem(files.source, name, "label", why))
    else:
        label = _label(number, word, files.run_id, listed[0])
        return HumanLabels((label,), (settled([label], SETTLED),), agent, (kept,))
    return HumanLabels(agent=agent, originals=(kept,))


def judged(
    files: RunFiles, name: str, entries: list[dict[str, Any]]
) -> Iterator[tuple[EvaluationRecord, BlobRecord]]:
    """A judge's verdicts, each with its line as it is kept."""
    last = name.rpartition("/")[2]
    for entry in entries:
        files.check_numbers(entry, last)
        clean = mapping(files.redactor.json(entry))
        line = json.dumps(clean, sort_keys=True, ensure_ascii=False) + "\n"
        raw = files.text_blob(line, "response", last, "application/json")
        yield _evaluation(clean, files.run_id, last, raw), raw.model_copy(update={"role": "source"})


def _values(listed: list[dict[str, Any]]) -> dict[str, set[int]]:
    """Agent, as the label's key names it -> labels that are given."""
    found: dict[str, set[int]] = {}
    for entry in listed:
        for key, value in entry.items():
            if key.endswith(LABEL_KEY) and (number := whole(value)) is not None:
                found.setdefault(key.removesuffix(LABEL_KEY).rstrip("_"), set()).add(number)
    return found


def needs_meaning(document: Any) -> bool:
    """Whether a label file holds labels that say different things to different people."""
    every = _values([mapping(item) for item in items(document)])
    return any(number not in _ALIKE for numbers in every.values() for number in numbers)


def _label(number: int, said: Word, run_id: str, entry: dict[str, Any]) -> LabelRecord:
    return LabelRecord(
        id=bounded_name(f"{run_id}-label"),
        run_id=run_id,
        annotator=ANNOTATOR,
        success=said,
        rationale=text(entry.get("reasoning")),
        failure_types=present(text(entry.get("failure_type"))),
        study=STUDY,
        protocol=PROTOCOL,
        raw={"human_label": number},
    )


_FILE = re.compile(
    r"^(?P<mode>.+_eval|WebJudge\w*?)_(?P<model>.+?)_score_threshold_(?P<threshold>\d+)_auto_eval",
    re.IGNORECASE,
)


def by_task(tree: Tree, name: str, bounds: Bounds) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """What a judge wrote of each task, and how many lines are no JSON. Raises ValueError."""
    content = decoded(read_file(tree, name, bounds.json_bytes))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    bad_lines = 0
    for value in json_values(content.split("\n")):
        bad_lines += value is BROKEN
        if task_id := text(mapping(value).get("task_id")):
            found[task_id].append(value)
    return found, bad_lines


def _evaluation(
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
