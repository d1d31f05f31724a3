"""Read WebVoyager's results: one run per folder with an `interact_messages.json`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from webagent.trajectory.bundles import UNKNOWN, RunBundle, task_record
from webagent.trajectory.files.assembling import URL_CHARS, RunFiles, experiment_above
from webagent.trajectory.files.recognition import (
    PlacesReader,
    RunPlace,
    folders_with,
    outline,
    unreadable,
)
from webagent.trajectory.files.trees import Tree, given_name
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    EndReason,
    LlmCall,
    Observation,
    Outcome,
    StepRecord,
    Target,
    Totals,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import items, mapping, said, total

FORMAT = "webvoyager"
MESSAGES, LOG = "interact_messages.json", "agent.log"

_SCREENSHOT = re.compile(r"^screenshot(\d{1,6})(_no_box)?\.(?:png|jpe?g|webp)$")
_TREE = re.compile(r"^accessibility_tree(\d{1,6})\.(?:json|txt)$")


class TaskFolder:
    """One run's folder: what each numbered file is."""

    def __init__(self, path: str, name: str, found: dict[str, str]) -> None:
        self.path = path
        self.name = name
        self.files: dict[str, str] = {}
        self.marked: dict[int, str] = {}
        self.clean: dict[int, str] = {}
        self.trees: dict[int, str] = {}
        for last, full in found.items():
            if picture := _SCREENSHOT.match(last):
                (self.clean if picture[2] else self.marked)[int(picture[1])] = last
            elif tree := _TREE.match(last):
                self.trees[int(tree[1])] = last
            elif last not in (MESSAGES, LOG):
                continue
            self.files[last] = full


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    def is_sign(name: str, last: str) -> bool:
        return last == MESSAGES and outline(tree, name).kind == "array"

    for path, found in folders_with(tree, is_sign, depth=0).items():
        folder = TaskFolder(path, path.rpartition("/")[2] or given_name(tree), found)
        yield RunPlace(
            path=path,
            files=folder.files,
            own=folder.files.values(),
            file=path or MESSAGES,
            read=partial(_bundle, folder),
        )


WEBVOYAGER = PlacesReader(FORMAT, "interact_messages.json", _places)


def _bundle(folder: TaskFolder, files: RunFiles) -> RunBundle:
    value = files.read_json(MESSAGES)
    if not isinstance(value, list):
        raise unreadable(files, MESSAGES, MESSAGES, "", "no list")
    told = read_task(value)
    files.redactor = Redactor(told.goal)
    messages = items(files.clean_json(value))
    replies = read_replies(messages)
    if not replies:
        raise InputError("role", "no message of an agent", file=MESSAGES)
    files.check_steps(len(replies), "role", "replies", MESSAGES)
    log = files.redactor.text(files.read_text(LOG))
    tokens = [(int(asked), int(replied)) for asked, replied in _TOKENS.findall(log)]
    name = bounded_name(folder.name.removeprefix("task") or folder.name)
    site, separator, _ = name.partition("--")
    task = task_record(
        FORMAT,
        name,
        id=bounded_name(f"{FORMAT}:{name}"),
        sites=(site,) if separator and site else (),
        goal=files.goal(told.goal),
        start_urls=(url,) if (url := files.clean(told.url, URL_CHARS)) else (),
    )
    files.run_id = bounded_name(folder.path or folder.name)
    steps = tuple(_steps(files, folder, replies, tokens))
    last = replies[-1].action
    answered = last is not None and last.name == ANSWER
    return files.assemble(
        task,
        steps,
        f"{folder.path}/{MESSAGES}".lstrip("/"),
        originals=(
            files.original(MESSAGES, messages),
            *(files.text_file(path, "source") for path in folder.trees.values()),
        ),
        agent=AgentRecord(name=FORMAT),
        experiment=experiment_above(folder.path, files.given_name),
        outcome=Outcome.UNKNOWN if answered else Outcome.INCOMPLETE,
        end_reason=EndReason.AGENT_STOPPED if answered else EndReason.UNKNOWN,
        final_answer=str(last.args[0]) if last and answered and last.args else None,
        totals=Totals(
            input_tokens=total(asked for asked, _ in tokens),
            output_tokens=total(replied for _, replied in tokens),
            llm_calls=len(tokens) or None,
        ),
        logs=(files.text_blob(log, "log", LOG, "text/plain"),) if log else (),
    )


def _steps(
    files: RunFiles, folder: TaskFolder, replies: list[Reply], tokens: list[tuple[int, int]]
) -> Iterator[StepRecord]:
    """Each reply with the picture of its number: never by counting along."""
    if tokens and len(tokens) != len(replies):
        why = f"{len(tokens)} questions in the log, {len(replies)} replies: given as sums only"
        files.note("tokens", LOG, why)
    fitting = tokens if len(tokens) == len(replies) else []
    calls = [LlmCall(model=UNKNOWN, input_tokens=n, output_tokens=m) for n, m in fitting]
    for index, reply in enumerate(replies):
        if reply.action is None:
            files.note("action", f"message {reply.position}", "no thought and action in the reply")
        yield StepRecord(
            run_id=files.run_id,
            index=index,
            source_index=index + 1,
            before=_observation(files, folder, index + 1),
            thought=reply.thought or (None if reply.action else reply.raw),
            actions=(reply.action,) if reply.action else (),
            llm_calls=(calls[index],) if calls else (),
        )
    for number in sorted(
        (folder.marked.keys() | folder.clean.keys()) - {*range(1, len(replies) + 1)}
    ):
        files.inventory.miss("screenshot", f"screenshot{number}", "no reply of this number")


def _observation(files: RunFiles, folder: TaskFolder, number: int) -> Observation | None:
    """What was shown: with numbered marks drawn over it, and without where that was kept."""
    shown, without = folder.marked.get(number), folder.clean.get(number)
    where = f"screenshot{number}.png"
    pictures = {"screenshot": files.picture(without or shown, "screenshot", where=where)}
    if without and shown:
        pictures["marked_screenshot"] = files.picture(shown, "marked_screenshot")
    path = folder.trees.get(number)
    tree = files.text_file(path, "a11y_tree") if path else None
    if tree is None and not any(pictures.values()):
        return None
    return Observation(a11y_tree=tree, **pictures)


DIALECT = "webvoyager"
ANSWER = "answer"

_TASK_BEGINS = "Now given a task:"
_TASK_ENDS = re.compile(r"Please interact with\s++(?P<url>\S++) and get the answer")
_THOUGHT_BEGINS = "Thought:"
_ACTION_BEGINS = re.compile(r"^[^\S\n]*+Action:", re.MULTILINE)
_ACTION = re.compile(r"(?P<name>[A-Za-z]{1,40})\s*(?P<rest>.*)", re.DOTALL)
_ELEMENT = re.compile(r"\[?(?P<element>\d{1,9}|WINDOW)\]?\s*(?:[;,]\s*(?P<more>.*))?\Z", re.DOTALL)
_TOKENS = re.compile(r"Prompt Tokens: (\d{1,12}); Completion Tokens: (\d{1,12})")


@dataclass(frozen=True, slots=True)
class Task:
    goal: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the agent."""

    position: int
    raw: str
    thought: str | None
    action: ActionRecord | None


def read_task(messages: list[Any]) -> Task:
    """The task in the first message of the user; the whole message if it is worded otherwise."""
    for message in map(mapping, messages):
        if message.get("role") != "user":
            continue
        words = "\n".join(said(message.get("content")))
        _, _, behind = words.partition(_TASK_BEGINS)
        end = _TASK_ENDS.search(behind)
        return Task(behind[: end.start()].strip(), end["url"]) if end else Task(words.strip(), None)
    return Task("", None)


def read_replies(messages: list[Any]) -> list[Reply]:
    """Every message of the assistant."""
    found = []
    for position, message in enumerate(map(mapping, messages)):
        if message.get("role") != "assistant":
            continue
        raw = "\n".join(said(message.get("content")))
        begin = raw.find(_THOUGHT_BEGINS)
        behind = begin + len(_THOUGHT_BEGINS)
        line = _ACTION_BEGINS.search(raw, behind) if begin >= 0 else None
        thought = raw[behind : line.start()].strip() if line else None
        action = read_action(raw[line.end() :].strip()) if line else None
        found.append(Reply(position, raw, thought or None, action))
    return found


def read_action(raw: str) -> ActionRecord | None:
    """`Click [3]`, `Type [2]; text`, `Scroll [WINDOW]; down`, `Wait`, `ANSWER; text`."""
    found = _ACTION.match(raw)
    if found is None:
        return None
    name, rest = found["name"].lower(), found["rest"].strip()
    element = _ELEMENT.match(rest)
    if element is None or name == ANSWER:
        said = rest.removeprefix(";").strip()
        return ActionRecord(raw=raw, dialect=DIALECT, name=name, args=(said,) if said else ())
    args = tuple(part.strip() for part in element.groups() if part)
    target = Target(bid=args[0]) if args[0] != "WINDOW" else None
    return ActionRecord(raw=raw, dialect=DIALECT, name=name, args=args, target=target)
