"""Read submissions to Online-Mind2Web: one result file is one run, with what belongs to it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from webagent.trajectory.bundles import UNKNOWN, RunBundle, task_record
from webagent.trajectory.files.assembling import Ending, RunFiles, present
from webagent.trajectory.files.recognition import (
    Outline,
    PlacesReader,
    Question,
    RunPlace,
    outline,
    unreadable,
)
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.online_mind2web import verdicts
from webagent.trajectory.formats.online_mind2web.steps import Steps, final_answer, read_action
from webagent.trajectory.formats.online_mind2web.verdicts import LABEL_KEY, LABELS_KEPT
from webagent.trajectory.intake import Bounds, Problem
from webagent.trajectory.records import AgentRecord, EndReason, Outcome, StepRecord
from webagent.trajectory.redaction import Redactor, is_password_field
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import items, mapping, text, whole

V1, V2 = "v1", "v2"
SCHEMA = "online-mind2web"

_PICTURE = re.compile(r"\.(?:png|jpe?g|webp)$", re.IGNORECASE)
_FREE_KEYS = ("thoughts", "final_result_response", "input_image_paths", "agent_final_answer")


@dataclass(frozen=True)
class Result:
    """One result file, and what belongs to it, as names in the tree."""

    name: str
    version: str
    pictures: tuple[str, ...] = ()
    labels: str | None = None
    """The label file nearest above it."""
    judgements: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """With `/` at the end; empty for the tree itself."""
        return _folder(self.name)


def find_results(tree: Tree) -> list[Result]:
    """Every result with what belongs to it."""
    results: dict[str, str] = {}
    labels: list[str] = []
    judgements: list[str] = []
    for name in tree.names:
        if not name.endswith((".json", ".jsonl")):
            continue
        seen = outline(tree, name)
        if seen.has("task_id", "predicted_label") or seen.has("task_id", "evaluation_details"):
            judgements.append(name)
        elif _holds_labels(name, seen):
            labels.append(name)
        elif seen.kind == "object" and seen.has("task_id", "action_history"):
            if seen.texts.get("schema_version", "").startswith(SCHEMA):
                results[name] = V2
            elif any(key in seen.keys for key in _FREE_KEYS):
                results[name] = V1
    pictures = _by_folder(tree) if results else {}
    alone = Counter(_folder(name) for name in results)
    return [
        Result(
            name=name,
            version=version,
            pictures=_pictures(_folder(name), pictures, alone=alone[_folder(name)] == 1),
            # The nearest above it.
            labels=max(
                (n for n in labels if _is_above(n, name)), key=lambda n: n.count("/"), default=None
            ),
            judgements=tuple(n for n in judgements if _is_above(n, name)),
        )
        for name, version in results.items()
    ]


def _holds_labels(name: str, seen: Outline) -> bool:
    """By its content; or by its name, so that a damaged one is told."""
    keys = seen.keys if seen.kind == "array" else ()
    return name.rpartition("/")[2] == LABELS_KEPT or any(key.endswith(LABEL_KEY) for key in keys)


def _folder(name: str) -> str:
    """With `/` at the end; empty for the tree itself."""
    folder, slash, _ = name.rpartition("/")
    return folder + slash


def _by_folder(tree: Tree) -> dict[str, list[str]]:
    """Every picture by the folder that it lies in."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in tree.names:
        if _PICTURE.search(name):
            found[_folder(name)].append(name)
    return found


def _pictures(folder: str, pictures: dict[str, list[str]], *, alone: bool) -> tuple[str, ...]:
    """Of the folder `trajectory` beside the result; or else of its own, if no other shares it."""
    inside = pictures.get(f"{folder}trajectory/", [])
    return tuple(inside or (pictures.get(folder, []) if alone else []))


def _is_above(name: str, other: str) -> bool:
    return other.startswith(_folder(name))


FORMAT = "online_mind2web"
TASK_SET = "online-mind2web"

_KNOWN = frozenset(
    ("schema_version", "task", "task_id", "action_history", "thoughts", "final_result_response")
    + ("agent_final_answer", "reference_length", "result_status", "input_image_paths")
)
_STEP_LIMIT = ("error_max_turns", "max_steps", "max_turns")


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace | Problem | Question]:
    """The results, what labels leave open, and what cannot be read of labels and judges."""
    said, results = verdicts.VerdictFiles(tree, bounds), find_results(tree)
    label_files = sorted({result.labels for result in results if result.labels})
    if any(verdicts.needs_meaning(said.read(name)) for name in label_files):
        yield verdicts.QUESTION
    for name in label_files:
        if why := said.why_unread(name):
            yield Problem(tree.label, name, "JSON", f"{why}: no label of it is taken")
    for result in results:
        yield RunPlace(
            path=result.name,
            files={n.removeprefix(result.folder): n for n in (result.name, *result.pictures)},
            own=(result.name,),
            beside=(*result.pictures, *result.judgements, *present(result.labels)),
            file=result.name,
            read=partial(_bundle, result, said),
        )
    yield from said.problems()


ONLINE_MIND2WEB = PlacesReader(FORMAT, "result.json: task_id, action_history", _places)


def _bundle(result: Result, verdict_files: verdicts.VerdictFiles, files: RunFiles) -> RunBundle:
    """The run with its steps and labels. Raises InputError."""
    name = result.name.removeprefix(result.folder)
    document = mapping(files.read_json(name))
    task_id = text(document.get("task_id"))
    if task_id is None:
        raise unreadable(files, name, result.name, "task_id", "no text")
    if not isinstance(document.get("action_history"), list):
        raise unreadable(files, name, result.name, "action_history", "no list")
    files.redactor = Redactor(text(document.get("task")) or "")
    _learn_passwords(files.redactor, document)
    document = mapping(files.redactor.json(document))
    files.run_id = bounded_name(f"{FORMAT}:{result.name}")
    pictures = [path.removeprefix(result.folder) for path in result.pictures]
    steps = Steps(files, pictures)
    is_v2 = result.version == V2
    records = tuple(steps.in_entries(document) if is_v2 else steps.in_lists(document))
    labels = result.labels and verdict_files.read(result.labels)
    said = verdicts.human_labels(files, result.labels, labels, task_id)
    judged = [
        each
        for judge in result.judgements
        for each in verdicts.judged(files, judge, verdict_files.judged(judge, task_id))
    ]
    originals = (files.original(name, document), *said.originals, *(raw for _, raw in judged))
    task = task_record(
        TASK_SET,
        bounded_name(task_id),
        goal=files.goal(text(document.get("task"))),
        reference_length=whole(document.get("reference_length")),
    )
    above = result.folder.rstrip("/").rpartition("/")[0].rpartition("/")[2]
    group = bounded_name(above or files.given_name)
    answer = _answer_of(files, document, records, is_v2=is_v2)
    status = text(document.get("result_status"))
    says_so = answer is not None or _last_answer(records) is not None
    end = Ending(Outcome.UNKNOWN, EndReason.AGENT_STOPPED if says_so else EndReason.UNKNOWN)
    if status in _STEP_LIMIT:
        end = Ending(Outcome.INCOMPLETE, EndReason.MAX_STEPS)
    beside = {k: v for k, v in document.items() if k not in _KNOWN}
    beside |= {"result_status": status} if status else {}
    return files.assemble(
        task,
        records,
        result.name,
        format_version=text(document.get("schema_version")) or result.version,
        originals=originals,
        evaluations=tuple(evaluation for evaluation, _ in judged),
        labels=said.labels,
        adjudications=said.adjudications,
        agent=AgentRecord(name=bounded_name(said.agent or group or UNKNOWN)),
        experiment=group or None,
        **vars(end),
        final_answer=answer,
        extra=files.free_form(beside, name),
    )


def _answer_of(
    files: RunFiles, document: dict[str, Any], steps: tuple[StepRecord, ...], *, is_v2: bool
) -> str | None:
    """The final answer; a difference to the last action's is told."""
    key = "agent_final_answer" if is_v2 else "final_result_response"
    answer = text(document.get(key))
    said = _last_answer(steps)
    if said is not None and said != (answer or ""):
        files.note("answer", key, "not what the last action answers")
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
