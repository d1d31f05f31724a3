"""One `step_N.pkl.gz`, read as plain data."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from webagent.trajectory.actions import parse_browsergym_actions, typed_password
from webagent.trajectory.files.assembling import TARGET_CHARS, box_of
from webagent.trajectory.files.pickle_reader import Pickled, PickleError, PickleReader
from webagent.trajectory.records import ActionRecord, Box
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import storable_text
from webagent.trajectory.values import flag, items, mapping, not_none, number, text

_PROPERTIES = "extra_element_properties"
HEAVY_KEYS = ("dom_object", "axtree_object", _PROPERTIES)
"""Raw trees of whole pages: seconds to write out, and only asked for in parts."""
_KNOWN_FIELDS = frozenset(("obs", "action", "agent_info", "reward", "step"))


@dataclass(frozen=True, kw_only=True)
class StepFile:
    """What a step file says. `reward`, `terminated`, `truncated` and the observation's last
    error came of the action *before*; `action` was chosen at this observation."""

    number: int
    obs: dict[str, Any]
    raw_obs: Any
    """The observation where it is no dictionary (other kinds of environments)."""
    action: str | None
    actions: tuple[ActionRecord, ...] = ()
    agent_info: dict[str, Any] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)
    profiling: dict[str, Any] = field(default_factory=dict)
    task_info: Any = None
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    boxes: dict[str, Box] = field(default_factory=dict)
    axtree: Any = None
    """The raw accessibility tree, where no text of it was kept."""
    picture: str | None = None
    """What the picture of this step is called; None if none was taken."""

    @property
    def gave_up(self) -> bool:
        """The agent was asked and returned no action; the loop then truncated the run."""
        return self.action is None and bool(self.agent_info) and bool(self.truncated)

    @property
    def thought(self) -> str | None:
        return text(self.agent_info.get("think"))

    @property
    def last_action(self) -> str | None:
        """The action that led here."""
        return text(self.obs.get("last_action"))

    @property
    def last_error(self) -> str | None:
        """What went wrong with the action that led here."""
        return text(self.obs.get("last_action_error"))


def read_step_file(pickles: PickleReader, content: bytes, number_: int) -> tuple[StepFile, Pickled]:
    """The step, and the pickle that it was read from.

    Raises:
        PickleError: not readable, or no step.
    """
    pickled = pickles.read(content, leave=HEAVY_KEYS)
    value = mapping(pickled.value)
    if len(_KNOWN_FIELDS & value.keys()) < 3:
        named = f"; it names {', '.join(pickled.suspicious)[:200]}" if pickled.suspicious else ""
        raise PickleError(f"holds no step{named}")
    obs, raw_obs = value.get("obs"), None
    if not isinstance(obs, dict) or "$class" in obs:
        obs, raw_obs = {}, obs
    action = value.get("action")
    if action is not None and not isinstance(action, str):
        action = str(action)[:10_000]
    actions = parse_browsergym_actions(action) if action else ()
    wants_tree = "axtree_object" in obs and not text(obs.get("axtree_txt"))
    step = StepFile(
        number=number_,
        obs=obs,
        raw_obs=raw_obs,
        action=action,
        actions=actions,
        agent_info=mapping(value.get("agent_info")),
        stats=mapping(value.get("stats")),
        profiling=mapping(value.get("profiling")),
        task_info=value.get("task_info"),
        reward=number(value.get("reward")),
        terminated=flag(value.get("terminated")),
        truncated=flag(value.get("truncated")),
        boxes=boxes_of(actions, partial(pickles.get, "obs", _PROPERTIES))
        if _PROPERTIES in obs
        else {},
        axtree=pickles.get("obs", "axtree_object") if wants_tree else None,
        # Environments of other kinds have no picture.
        picture=f"screenshot_step_{number_}" if raw_obs is None else None,
    )
    return step, pickled


def without_secrets(step: StepFile, redactor: Redactor) -> StepFile:
    """The step with everything that it says in the open."""
    action = redactor.text(step.action) if step.action else step.action
    return replace(
        step,
        obs=redactor.json(step.obs),
        raw_obs=redactor.json(step.raw_obs),
        action=action,
        actions=step.actions if action == step.action else parse_browsergym_actions(action or ""),
        agent_info=redactor.json(step.agent_info),
        task_info=redactor.json(step.task_info),
    )


def boxes_of(actions: tuple[ActionRecord, ...], properties: Callable[[str], Any]) -> dict[str, Box]:
    """Boxes of the elements that the actions name, and of no other: pages have thousands."""
    boxes: dict[str, Box] = {}
    for action in actions:
        bid = action.target.bid if action.target else None
        if bid and bid not in boxes:
            box = box_of(items(mapping(properties(bid)).get("bbox")))
            boxes |= {bid: box} if box else {}
    return boxes


_QUOTED = re.compile(r"^'((?:[^'\\]|\\.)*)'|^\"((?:[^\"\\]|\\.)*)\"")
_LINE_CHARS = 2_000


def described(step: StepFile, limit: int) -> tuple[ActionRecord, ...]:
    """The step's actions, storable, with box, point, role and text of their targets."""
    tree = text(step.obs.get("axtree_txt")) or ""
    return tuple(_described(action, step.boxes, tree, limit) for action in step.actions)


def typed_passwords(step: StepFile, limit: int) -> Iterator[str]:
    """What the step types into fields whose names ask for a password."""
    for action in described(step, limit):
        yield from typed_password(action)


def _described(action: ActionRecord, boxes: dict[str, Box], tree: str, limit: int) -> ActionRecord:
    changes: dict[str, object] = {}
    if isinstance(action.raw, str):
        changes["raw"] = storable_text(action.raw, limit)
    if action.target and action.target.bid:
        bid = action.target.bid
        box = boxes.get(bid)
        role, name = _role_and_name(tree, bid)
        found = {"box": box, "role": role, "text": name}
        changes["target"] = action.target.model_copy(update=not_none(found))
        if box is not None and action.point is None:
            changes["point"] = box.centre
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
    return storable_text(role, 100) or None, storable_text(name, TARGET_CHARS) or None
