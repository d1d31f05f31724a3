"""Steps of both versions: paired by number and by name, with every difference told."""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.files.assembling import URL_CHARS, RunFiles
from webagent.trajectory.intake import NOT_THERE
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Observation,
    Point,
    StepRecord,
    Target,
)
from webagent.trajectory.texts import storable_text
from webagent.trajectory.values import items, mapping, text, whole

_DIGITS = re.compile(r"\d{1,9}")
"""The first whole number in a picture's name: by it the first version orders its pictures."""
_KNOWN = ("step", "screenshot", "url", "action", "action_status", "thought")


class Steps:
    """Puts a run's steps together. `pictures` are paths as the run knows them."""

    def __init__(self, files: RunFiles, pictures: list[str]) -> None:
        self._files = files
        self._pictures = pictures

    def in_lists(self, document: dict[str, Any]) -> Iterator[StepRecord]:
        """The first version's: lists of actions and thoughts, and pictures with numbers.

        What has the same number belongs together; what is left over in one of them makes steps
        of its own, since nobody can tell whose it is.
        """
        actions, thoughts = items(document.get("action_history")), items(document.get("thoughts"))
        most = self._files.bounds.steps_per_run
        actions, thoughts = actions[:most], thoughts[:most]
        pictures = self._numbered()
        fitting = (0, len(actions), len(actions) + 1)
        if len(actions) != len(thoughts) or len(pictures) not in fitting:
            why = f"{len(actions)} actions, {len(thoughts)} thoughts and {len(pictures)} pictures"
            self._files.note("counts", "action_history", f"{why}: paired by number")
        last = max(pictures, default=-1)
        # One picture more than actions is what the last of them led to.
        has_final = bool(actions) and last == len(actions) and len(thoughts) <= len(actions)
        total = max(len(actions), len(thoughts), last + (0 if has_final else 1))
        for index in range(min(total, most)):
            is_last = index == len(actions) - 1
            yield StepRecord(
                run_id=self._files.run_id,
                index=index,
                source_index=index,
                before=self._seen(pictures.get(index)),
                thought=text(thoughts[index]) if index < len(thoughts) else None,
                actions=self._actions(actions[index]) if index < len(actions) else (),
                after=self._seen(pictures.get(last)) if has_final and is_last else None,
            )
        for index in sorted(set(range(len(actions))) - set(pictures)):
            self._files.inventory.miss("screenshot", f"step {index}", "no picture has this number")

    def in_entries(self, document: dict[str, Any]) -> Iterator[StepRecord]:
        """The second version's: each entry names its picture."""
        by_name = {path.rpartition("/")[2]: path for path in self._pictures}
        entries = items(document.get("action_history"))[: self._files.bounds.steps_per_run]
        for index, entry in enumerate(map(mapping, entries)):
            name = text(entry.get("screenshot"))
            path = by_name.pop(name.rpartition("/")[2], None) if name else None
            own = whole(entry.get("step"))
            if own != index:
                self._files.note("step", f"step {index}", f"its own number is {entry.get('step')}")
            url = (text(entry.get("url")) or "")[:URL_CHARS] or None
            why = NOT_THERE if name else "the step names no picture"
            where = f"step {index}: {name}" if name else f"step {index}"
            picture = self._files.picture(path, "screenshot", where=where, why=why)
            extra = {key: value for key, value in entry.items() if key not in _KNOWN}
            yield StepRecord(
                run_id=self._files.run_id,
                index=index,
                source_index=own,
                before=Observation(url=url, screenshot=picture),
                thought=text(entry.get("thought")),
                actions=self._actions(entry.get("action"), text(entry.get("action_status"))),
                extra=self._files.free_form(extra, f"step {index}"),
            )
        for path in by_name.values():
            self._files.inventory.miss("screenshot", path, "no step names it")

    def _numbered(self) -> dict[int, BlobRecord | None]:
        """Pictures by their number, from 0. Two with one number cannot be told apart."""
        numbers: dict[int, list[str]] = {}
        for path in self._pictures:
            found = _DIGITS.search(path.rpartition("/")[2])
            if found is None:
                self._files.inventory.miss("screenshot", path, "no number in its name")
            else:
                numbers.setdefault(int(found[0]), []).append(path)
        first = 1 if numbers and 0 not in numbers and 1 in numbers else 0
        pictures = {}
        for number, paths in sorted(numbers.items()):
            for path in paths[1:]:
                self._files.inventory.miss("screenshot", path, f"{paths[0]} has the same number")
            if number - first < self._files.bounds.steps_per_run:
                pictures[number - first] = self._files.picture(paths[0], "screenshot")
        return pictures

    def _seen(self, picture: BlobRecord | None) -> Observation | None:
        return Observation(screenshot=picture) if picture else None

    def _actions(self, raw: Any, status: str | None = None) -> tuple[ActionRecord, ...]:
        records = action_records(raw, self._files.bounds.text_chars)
        if not records or status is None:
            return records
        failed = status.upper() != "SUCCESS"
        told = {"status": "error" if failed else "ok", "error": status if failed else None}
        return (*records[:-1], records[-1].model_copy(update=told))


DIALECT = "om2w"
COMPLETE = "task_complete"

_NUMBER = r"-?\d+(?:\.\d+)?"
_POINT = re.compile(rf"\(\s*(?P<x>{_NUMBER})\s*,\s*(?P<y>{_NUMBER})\s*\)")
_COMPLETE = re.compile(r"^\s*TASK_COMPLETE\b\s*(?:->\s*ANSWER\s*:\s*)?(?P<answer>.*)$", re.DOTALL)
_OPERATION = re.compile(r"^[A-Z][A-Z_ ]{1,30}$")
_STATES = ("SUCCESS", "FAILED")
_ENGLISH: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("navigate", re.compile(r"^(?:navigate|go) to (?P<value>\S+)$", re.I)),
    ("go_back", re.compile(r"^(?:navigate|go) back\b", re.I)),
    ("type", re.compile(r"^(?:type|enter|input)\s+[\"'](?P<value>.*)[\"']", re.I | re.DOTALL)),
    ("press", re.compile(r"^press(?:ed)?\s+(?P<value>.+)$", re.I)),
    ("double_click", re.compile(r"^double[ -]?click", re.I)),
    ("right_click", re.compile(r"^right[ -]?click", re.I)),
    ("click", re.compile(r"^(?:left[ -]?)?click", re.I)),
    ("drag", re.compile(r"^drag", re.I)),
    ("hover", re.compile(r"^(?:hover|move)", re.I)),
    ("scroll", re.compile(r"^scroll", re.I)),
    ("wait", re.compile(r"^wait", re.I)),
    ("select_option", re.compile(r"^select", re.I)),
)
_NAMES = {
    "CLICK": "click",
    "TYPE": "type",
    "SELECT": "select_option",
    "HOVER": "hover",
    "PRESS ENTER": "press",
    "ENTER": "press",
    "SCROLL": "scroll",
    "SCROLL UP": "scroll_up",
    "SCROLL DOWN": "scroll_down",
    "GOTO": "goto",
    "NAVIGATE": "navigate",
    "NEW TAB": "new_tab",
    "GO BACK": "go_back",
    "WAIT": "wait",
}


def action_records(raw: JsonValue, limit: int) -> tuple[ActionRecord, ...]:
    """The action as written, with what can be read of it; none where nothing is written."""
    if not isinstance(raw, str):
        return () if raw is None else (ActionRecord(raw=raw, dialect=DIALECT),)
    words = storable_text(raw, limit)
    if not words.strip():
        return ()
    calls = parse_browsergym_actions(words)
    if calls[0].name and words.lstrip().startswith(f"{calls[0].name}("):
        return tuple(call.model_copy(update={"dialect": DIALECT}) for call in calls)
    return (read_action(words),)


def read_action(words: str) -> ActionRecord:
    """What is done to what, in any of the grammars; nothing where it is none of them."""
    if (answer := final_answer(words)) is not None:
        return ActionRecord(raw=words, dialect=DIALECT, name=COMPLETE, args=(answer,))
    if (read := _read_arrow(words)) is not None:
        return read
    where = _POINT.search(words)
    point = Point(x=float(where["x"]), y=float(where["y"])) if where else None
    for name, pattern in _ENGLISH:
        if match := pattern.match(words.strip()):
            value = match.groupdict().get("value")
            args = (value,) if value else ()
            return ActionRecord(raw=words, dialect=DIALECT, name=name, args=args, point=point)
    return ActionRecord(raw=words, dialect=DIALECT, point=point)


def _read_arrow(words: str) -> ActionRecord | None:
    """`target -> OPERATION: value | STATUS`; None if it is written otherwise."""
    target, arrow, rest = words.partition("->")
    done, _, status = (part.strip() for part in rest.rpartition("|"))
    if status not in _STATES:
        done, status = rest.strip(), ""
    operation, _, value = (part.strip() for part in done.partition(":"))
    if not arrow or not _OPERATION.match(operation):
        return None
    return ActionRecord(
        raw=words,
        dialect=DIALECT,
        name=_NAMES.get(operation, operation.lower().replace(" ", "_")),
        args=(value,) if value else (),
        target=Target(text=target.strip()[:300]) if target.strip() else None,
        status="error" if status == "FAILED" else "ok" if status else "unknown",
        error="FAILED" if status == "FAILED" else None,
    )


def final_answer(words: str) -> str | None:
    """What `TASK_COMPLETE -> ANSWER: …` answers; None if it is another action."""
    match = _COMPLETE.match(words)
    return match["answer"].strip() if match else None
