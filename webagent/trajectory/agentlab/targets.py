"""What an action aimed at: the element's place, role and words, from the page at the time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webagent.trajectory.agentlab.stepfiles import StepFile
from webagent.trajectory.records import ActionRecord, Box, Point
from webagent.trajectory.redaction import is_password_field
from webagent.trajectory.texts import storable_text
from webagent.trajectory.untyped import text

_QUOTED = re.compile(r"^'((?:[^'\\]|\\.)*)'|^\"((?:[^\"\\]|\\.)*)\"")
_NAME_CHARS = 300
_LINE_CHARS = 2_000


def described(step: StepFile, limit: int) -> tuple[ActionRecord, ...]:
    """The step's actions, storable, with box, point, role and text of their targets."""
    tree = text(step.obs.get("axtree_txt")) or ""
    return tuple(_described(action, step.boxes, tree, limit) for action in step.actions)


def typed_passwords(step: StepFile, limit: int) -> Iterator[str]:
    """What the step types into fields whose names ask for a password."""
    for action in described(step, limit):
        if action.target and is_password_field(action.target.text):
            yield from (word for word in action.args[1:2] if isinstance(word, str))


def _described(action: ActionRecord, boxes: dict[str, Box], tree: str, limit: int) -> ActionRecord:
    changes: dict[str, object] = {}
    if isinstance(action.raw, str):
        changes["raw"] = storable_text(action.raw, limit)
    if action.target and action.target.bid:
        bid = action.target.bid
        box = boxes.get(bid)
        role, name = _role_and_name(tree, bid)
        found = {"box": box, "role": role, "text": name}
        changes["target"] = action.target.model_copy(
            update={key: value for key, value in found.items() if value is not None}
        )
        if box is not None and action.point is None:
            changes["point"] = Point(x=box.x + box.width / 2, y=box.y + box.height / 2)
    return action.model_copy(update=changes) if changes else action


def _role_and_name(tree: str, bid: str) -> tuple[str | None, str | None]:
    """From the line `[bid] role 'name', ...` of the tree's text."""
    # At the head of a line: what a page says may look the same.
    found = re.search(rf"^[\t ]*\[{re.escape(bid)}\] (.{{0,{_LINE_CHARS}}})", tree, re.MULTILINE)
    if found is None:
        return None, None
    line = found[1]
    role, _, rest = line.partition(" ")
    quoted = _QUOTED.match(rest)
    name = (quoted[1] or quoted[2] or "") if quoted else ""
    return storable_text(role, 100) or None, storable_text(name, _NAME_CHARS) or None
