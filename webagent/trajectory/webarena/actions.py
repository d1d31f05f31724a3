"""WebArena's action grammar: `click [51]`, `type [164] [Ada] [1]`, `stop [24.90]`."""

from __future__ import annotations

import re

from pydantic import JsonValue

from webagent.trajectory.records import ActionRecord, Target

DIALECT = "webarena"
UNREADABLE = "none"
"""What the harness does with an answer in which it finds no action: nothing."""
EARLY_STOP = "Early stop: "

_FENCED = re.compile(r"```(?:[a-z]*\n)?((?:.|\n)*?)```")
_NAME = re.compile(r"\s*([a-z_]{1,40})\b\s*", re.IGNORECASE)
_TYPE = re.compile(r"\[([^\[\]]{0,100})\]\s*\[((?:.|\n)*?)\](?:\s*\[([01])\])?\s*\Z")
_FIRST = re.compile(r"\[([^\[\]]{0,100})\]")
_WHERE = " where ["
_NODE = re.compile(r"(?:\[[^\]\n]{0,100}\] )?([A-Za-z]{1,60})(?: '([^'\n]*)'| \"([^\"\n]*)\")?")
_ON_ELEMENT = frozenset(("click", "hover", "type"))
_NAME_CHARS = 300


def written_action(prediction: str | None) -> str | None:
    """What stands between the back-ticks of a prediction, where the agent put its action."""
    found = _FENCED.findall(prediction or "")
    return found[-1].strip() or None if found else None


def read_action(prediction: str | None, parsed: str | None) -> ActionRecord | None:
    """The action of a step: verbatim as the agent wrote it, and as the harness took it.

    Args:
        parsed: the harness's own words for it, such as `click [51] where [51] is [51] link 'A'`.
    """
    understood, has_node, node = (parsed or "").strip().partition(_WHERE)
    raw = written_action(prediction) or understood or (prediction or "").strip()
    if not raw:
        return None
    if understood == UNREADABLE:
        return ActionRecord(
            raw=raw,
            dialect=DIALECT,
            name=UNREADABLE,
            status="error",
            error="The harness found no action in the answer.",
        )
    name, args = call(understood or raw)
    return ActionRecord(
        raw=raw,
        dialect=DIALECT,
        name=name,
        args=args,
        target=_target(name, args, node.partition("] is ")[2] if has_node else ""),
    )


def call(text: str) -> tuple[str | None, tuple[JsonValue, ...]]:
    """Name and arguments of an action in this grammar; no name if it is none."""
    name = _NAME.match(text)
    if name is None:
        return None, ()
    rest = text[name.end() :].strip()
    word = name[1].lower()
    if word == "type" and (typed := _TYPE.match(rest)):
        return word, tuple(part for part in typed.groups() if part is not None)
    if rest.startswith("[") and rest.endswith("]"):
        return word, (rest[1:-1],)
    first = _FIRST.match(rest)
    return word, (first[1],) if first else ()


def stop_answer(action: ActionRecord | None) -> str | None:
    """What the agent answered with `stop [answer]`; None if the harness stopped it, or nobody."""
    if action is None or action.name != "stop" or early_stop(action):
        return None
    answer = action.args[0] if action.args else None
    return answer if isinstance(answer, str) and answer else None


def early_stop(action: ActionRecord | None) -> str | None:
    """Why the harness stopped the run, if it did: it writes a `stop` of its own."""
    if action is None or action.name != "stop" or not action.args:
        return None
    answer = action.args[0]
    if isinstance(answer, str) and answer.startswith(EARLY_STOP):
        return answer.removeprefix(EARLY_STOP)
    return None


def _target(name: str | None, args: tuple[JsonValue, ...], node: str) -> Target | None:
    if name not in _ON_ELEMENT or not args or not isinstance(args[0], str):
        return None
    found = _NODE.match(node)
    words = (found[2] or found[3] or "") if found else ""
    return Target(
        bid=args[0][:100],
        role=found[1] if found else None,
        text=words[:_NAME_CHARS] or None,
    )
