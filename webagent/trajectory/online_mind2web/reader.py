"""Read submissions to Online-Mind2Web: one result file is one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.assembling import goal_of, last_url, source_record, task_record
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.online_mind2web import verdicts
from webagent.trajectory.online_mind2web.layout import V2, Layout, Result, find_layout
from webagent.trajectory.online_mind2web.steps import Steps, final_answer, read_action
from webagent.trajectory.recognition import NO_ANSWERS, Answers, Recognition, guarded, unreadable
from webagent.trajectory.records import (
    AdjudicationRecord,
    AgentRecord,
    BlobRecord,
    EndReason,
    EvaluationRecord,
    LabelRecord,
    Outcome,
    RunRecord,
    StepRecord,
    TaskRecord,
)
from webagent.trajectory.redaction import Redactor, is_password_field
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.texts import bounded_name, decoded
from webagent.trajectory.trees import Tree, given_name, read_file
from webagent.trajectory.values import items, mapping, text, whole

FORMAT = "online_mind2web"
TASK_SET = "online-mind2web"
LABELS_KEPT = "human_label.json"

_KNOWN = frozenset(
    ("schema_version", "task", "task_id", "action_history", "thoughts", "final_result_response")
    + ("agent_final_answer", "reference_length", "result_status", "input_image_paths")
)
_STEP_LIMIT = ("error_max_turns", "max_steps", "max_turns")


class OnlineMind2WebReader:
    """Every result file with a task_id and an action_history is a run."""

    name = FORMAT
    signs = "result.json files with task_id and action_history (Online-Mind2Web)"
    knows_what_is_cut = False

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The results, what belongs to them, and what the labels leave open."""
        layout = find_layout(tree)
        own = frozenset(result.name for result in layout.results)
        files = _LabelFiles(tree, bounds)
        asks = any(verdicts.needs_meaning(files.read(name)) for name in _label_files(layout))
        return Recognition(
            runs=len(own),
            files=own,
            uses=layout.beside - own,
            questions=(verdicts.QUESTION,) if asks else (),
        )

    def read(
        self, tree: Tree, bounds: Bounds, answers: Answers = NO_ANSWERS
    ) -> Iterator[RunBundle | Problem]:
        """Each run, in the order of the files' names."""
        files, layout = _LabelFiles(tree, bounds), find_layout(tree)
        for name in sorted(_label_files(layout)):
            if why := files.why_unread(name):
                yield Problem(tree.label, name, "JSON", f"{why}: no label of it is taken")
        for result in layout.results:
            run = _Run(tree, result, bounds, files, answers.get(verdicts.QUESTION.key))
            yield guarded(f"{tree.label}/{result.name}", result.name, run.read)
        yield from files.problems()


def _label_files(layout: Layout) -> set[str]:
    return {result.labels for result in layout.results if result.labels}


class _LabelFiles:
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
                self._judged[name], bad_lines = verdicts.by_task(self._words(name))
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
                self._read[name] = json.loads(self._words(name))
            except (ValueError, RecursionError) as error:
                self._read[name] = None
                self._broken[name] = f"not readable as JSON: {error}"
        return self._read[name]

    def why_unread(self, name: str) -> str | None:
        """Where its JSON breaks; None if it does not."""
        self.read(name)
        return self._broken.get(name)

    def _words(self, name: str) -> str:
        """The file's text. Raises ValueError."""
        return decoded(read_file(self._tree, name, self._bounds.json_bytes))


@dataclass(frozen=True, kw_only=True)
class _HumanLabels:
    """What people said of the run."""

    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()
    agent: str | None = None
    originals: tuple[BlobRecord, ...] = ()


class _Run:
    """One result with what was said of it."""

    def __init__(
        self, tree: Tree, result: Result, bounds: Bounds, files: _LabelFiles, answer: str | None
    ) -> None:
        self._tree = tree
        self._result = result
        self._label_files = files
        self._answer = answer
        own = [result.name, *result.pictures]
        paths = {name.removeprefix(result.folder): name for name in own}
        self._files = RunFiles(tree, result.name, paths, bounds)

    def read(self) -> RunBundle:
        """The run with its steps and labels. Raises InputError."""
        files, result = self._files, self._result
        name = result.name.removeprefix(result.folder)
        document = mapping(files.read_json(name))
        task_id = text(document.get("task_id"))
        if task_id is None or not isinstance(document.get("action_history"), list):
            lacking = "task_id" if task_id is None else "action_history"
            otherwise = "no text" if task_id is None else "no list"
            raise unreadable(files, name, result.name, lacking, otherwise)
        files.redactor = Redactor(text(document.get("task")) or "")
        _learn_passwords(files.redactor, document)
        document = mapping(files.redactor.json(document))
        run_id = bounded_name(f"{FORMAT}:{result.name}")
        pictures = [path.removeprefix(result.folder) for path in result.pictures]
        steps = Steps(files, run_id, pictures)
        is_v2 = result.version == V2
        records = steps.in_entries(document) if is_v2 else steps.in_lists(document)
        said = self._human_labels(task_id, run_id)
        evaluations, judged = self._judged(task_id, run_id)
        originals = (files.original(name, document), *said.originals, *judged)
        task = self._task(document, task_id)
        return files.bundle(
            task=task,
            run=self._run(run_id, task, document, records, said.agent, originals),
            steps=records,
            evaluations=evaluations,
            labels=said.labels,
            adjudications=said.adjudications,
        )

    def _human_labels(self, task_id: str, run_id: str) -> _HumanLabels:
        """The human label of this task, if there is one and it says something."""
        if self._result.labels is None:
            return _HumanLabels()
        files = self._files
        listed = verdicts.entries(self._label_files.read(self._result.labels), task_id)
        given = verdicts.values(listed)
        if not given:
            return _HumanLabels()
        kept = files.json_blob(listed, "source", LABELS_KEPT)
        agent = next(iter(given)) if len(given) == 1 else None
        numbers = set().union(*given.values())
        if len(numbers) != 1:
            why = f"the labels {sorted(numbers)} are given for this task"
            files.note("label", self._result.labels, why)
            return _HumanLabels(agent=agent, originals=(kept,))
        number = numbers.pop()
        word = verdicts.meaning(number, self._answer)
        if word is None:
            why = f"label {number}: nobody said what it means ({verdicts.QUESTION.key})"
            # No gap of the run: the run is whole, and the same with and without the answer.
            files.problems.append(Problem(files.source, self._result.labels, "label", why))
            return _HumanLabels(agent=agent, originals=(kept,))
        label = verdicts.label(number, word, run_id, listed[0])
        return _HumanLabels(
            labels=(label,),
            adjudications=(verdicts.verdict(label, word),),
            agent=agent,
            originals=(kept,),
        )

    def _judged(
        self, task_id: str, run_id: str
    ) -> tuple[tuple[EvaluationRecord, ...], tuple[BlobRecord, ...]]:
        evaluations, kept = [], []
        for name in self._result.judgements:
            last = name.rpartition("/")[2]
            for entry in self._label_files.judged(name, task_id):
                self._files.check_numbers(entry, last)
                clean = mapping(self._files.redactor.json(entry))
                line = json.dumps(clean, sort_keys=True, ensure_ascii=False) + "\n"
                raw = self._files.text_blob(line, "response", last, "application/json")
                kept.append(raw.model_copy(update={"role": "source"}))
                evaluations.append(verdicts.evaluation(clean, run_id, last, raw))
        return tuple(evaluations), tuple(kept)

    def _task(self, document: dict[str, Any], task_id: str) -> TaskRecord:
        return task_record(
            TASK_SET,
            bounded_name(task_id),
            goal=goal_of(text(document.get("task")), self._files.bounds.text_chars),
            reference_length=whole(document.get("reference_length")),
        )

    def _run(
        self,
        run_id: str,
        task: TaskRecord,
        document: dict[str, Any],
        steps: tuple[StepRecord, ...],
        agent: str | None,
        originals: tuple[BlobRecord, ...],
    ) -> RunRecord:
        files, result = self._files, self._result
        above = result.folder.rstrip("/").rpartition("/")[0].rpartition("/")[2]
        group = bounded_name(above or given_name(self._tree))
        answer = self._answer_of(document, steps)
        hit_limit = text(document.get("result_status")) in _STEP_LIMIT
        says_so = answer is not None or _last_answer(steps) is not None
        stopped = EndReason.AGENT_STOPPED if says_so else EndReason.UNKNOWN
        status = text(document.get("result_status"))
        beside = {k: v for k, v in document.items() if k not in _KNOWN}
        beside |= {"result_status": status} if status else {}
        return RunRecord(
            id=run_id,
            task_id=task.id,
            source=source_record(
                files,
                FORMAT,
                result.name,
                format_version=text(document.get("schema_version")) or result.version,
                originals=originals,
            ),
            agent=AgentRecord(name=bounded_name(agent or group or "unknown")),
            experiment=group or None,
            goal=task.goal,
            outcome=Outcome.INCOMPLETE if hit_limit else Outcome.UNKNOWN,
            end_reason=EndReason.MAX_STEPS if hit_limit else stopped,
            final_answer=answer,
            final_url=last_url(steps),
            extra=files.free_form(beside, result.name.rpartition("/")[2]),
        )

    def _answer_of(self, document: dict[str, Any], steps: tuple[StepRecord, ...]) -> str | None:
        """The final answer; a difference to the last action's is told."""
        key = "agent_final_answer" if self._result.version == V2 else "final_result_response"
        answer = text(document.get(key))
        said = _last_answer(steps)
        if said is not None and said != (answer or ""):
            self._files.note("answer", key, "not what the last action answers")
        return answer or said or None


def _last_answer(steps: tuple[StepRecord, ...]) -> str | None:
    """What the last action says the task's answer is; None if it says nothing of the kind."""
    raw = steps[-1].actions[-1].raw if steps and steps[-1].actions else None
    return final_answer(raw) if isinstance(raw, str) else None


def _learn_passwords(redactor: Redactor, document: dict[str, Any]) -> None:
    """What was typed into what is called a password field."""
    for entry in items(document.get("action_history")):
        action = text(mapping(entry).get("action")) if isinstance(entry, dict) else text(entry)
        read = read_action(action or "")
        if read.name == "type" and read.target and is_password_field(read.target.text):
            for word in read.args:
                redactor.learn(text(word))
