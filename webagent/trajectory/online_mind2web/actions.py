"""Actions of submissions: `target -> OPERATION: value | STATUS`, calls, or free English."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.records import ActionRecord, Point, Target
from webagent.trajectory.texts import storable_text

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


@dataclass(frozen=True, kw_only=True)
class Read:
    """Our reading of one action."""

    name: str | None = None
    args: tuple[JsonValue, ...] = ()
    target: Target | None = None
    point: Point | None = None
    status: str | None = None


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
    read = read_action(words)
    return (
        ActionRecord(
            raw=words,
            dialect=DIALECT,
            name=read.name,
            args=read.args,
            target=read.target,
            point=read.point,
            status="error" if read.status == "FAILED" else "ok" if read.status else "unknown",
            error="FAILED" if read.status == "FAILED" else None,
        ),
    )


def read_action(words: str) -> Read:
    """What is done to what, in any of the grammars; nothing where it is none of them."""
    if (answer := final_answer(words)) is not None:
        return Read(name=COMPLETE, args=(answer,))
    if (read := _read_arrow(words)) is not None:
        return read
    point = _POINT.search(words)
    for name, pattern in _ENGLISH:
        if match := pattern.match(words.strip()):
            value = match.groupdict().get("value")
            return Read(name=name, args=(value,) if value else (), point=_as_point(point))
    return Read(point=_as_point(point))


def _read_arrow(words: str) -> Read | None:
    """`target -> OPERATION: value | STATUS`; None if it is written otherwise."""
    target, arrow, rest = words.partition("->")
    done, _, status = (part.strip() for part in rest.rpartition("|"))
    if status not in _STATES:
        done, status = rest.strip(), ""
    operation, _, value = (part.strip() for part in done.partition(":"))
    if not arrow or not _OPERATION.match(operation):
        return None
    return Read(
        name=_NAMES.get(operation, operation.lower().replace(" ", "_")),
        args=(value,) if value else (),
        target=Target(text=target.strip()[:300]) if target.strip() else None,
        status=status or None,
    )


def final_answer(words: str) -> str | None:
    """What `TASK_COMPLETE -> ANSWER: …` answers; None if it is another action."""
    match = _COMPLETE.match(words)
    return match["answer"].strip() if match else None


def _as_point(match: re.Match[str] | None) -> Point | None:
    return Point(x=float(match["x"]), y=float(match["y"])) if match else None
