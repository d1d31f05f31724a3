"""A trajectory's steps: AgentLab's, written as JSON, so that AgentLab's mapping holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.agentlab.folders import RunFiles, RunFolder
from webagent.trajectory.agentlab.stepfiles import StepFile, typed_passwords
from webagent.trajectory.agentlab.steps import Steps
from webagent.trajectory.records import ActionRecord, Box
from webagent.trajectory.values import flag, items, mapping, number, text, whole

_OBS_KEYS = {
    "url": "url",
    "open_pages_urls": "open_pages_urls",
    "focused_element": "focused_element_bid",
    "last_action_error": "last_action_error",
    "axtree": "axtree_txt",
}
"""Key in the trajectory -> key in BrowserGym's observation."""
_AGAIN = "extra_element_properties"
_RAW = ("axtree_obj", "axtree_pruned")


class JsonSteps(Steps):
    """Steps out of one document instead of pickles: the mapping is the same."""

    def __init__(
        self,
        files: RunFiles,
        run_id: str,
        models: tuple[str, ...],
        listed: dict[int, dict[str, Any]],
        summary: dict[str, Any],
    ) -> None:
        super().__init__(files, None, run_id, models)
        self._listed = listed
        self._truncated = flag(summary.get("truncated"))

    def _file(self, number_: int) -> StepFile | None:
        item = self._listed.get(number_)
        if item is None:
            self._files.inventory.miss("step", f"step {number_}")
            return None
        is_last = number_ == max(self._listed)
        step = step_file(item, number_, truncated=self._truncated if is_last else None)
        return self._taken(step)


def numbered(document: dict[str, Any], most: int) -> dict[int, dict[str, Any]]:
    """The steps by their own number; those without one by their place."""
    found: dict[int, dict[str, Any]] = {}
    for place, item in enumerate(items(document.get("steps"))[: most + 1]):
        step = mapping(item)
        own = whole(step.get("num"))
        found[own if own is not None and 0 <= own <= most else place] = step
    return found


def step_file(item: dict[str, Any], number_: int, *, truncated: bool | None) -> StepFile:
    """One step as AgentLab's file of it would say."""
    action = text(item.get("action"))
    actions = parse_browsergym_actions(action) if action else ()
    said = {"think": item.get("reasoning"), "chat_messages": item.get("chat_messages")}
    stats = mapping(item.get("stats"))
    return StepFile(
        number=number_,
        obs={theirs: item[own] for own, theirs in _OBS_KEYS.items() if item.get(own)},
        raw_obs=None,
        action=action,
        actions=actions,
        agent_info=said if any(said.values()) or stats else {},
        stats=stats,
        truncated=truncated,
        boxes=_boxes(item, actions),
        axtree=None if text(item.get("axtree")) else item.get("axtree_obj"),
        picture=(text(item.get("screenshot_path")) or "").replace("\\", "/").rpartition("/")[2]
        or None,
    )


def tell_dropped(files: RunFiles, listed: dict[int, dict[str, Any]]) -> None:
    """Say what of the steps is not looked at."""
    twice = [step for step in listed.values() if step.get(_AGAIN)]
    if twice and all(step.get("bounding_boxes") == step[_AGAIN] for step in twice):
        files.drop(_AGAIN, "steps", "the same as bounding_boxes")
    for key in _RAW:
        if any(step.get(key) for step in listed.values()):
            files.drop(key, "steps", "the text of the tree is shown; this stays in the original")


def run_folder(name: str, pictures: dict[int, str]) -> RunFolder:
    """The folder that AgentLab's mapping expects, with the pictures under their own names."""
    folder, _, last = name.rpartition("/")
    own = {number: path.rpartition("/")[2] for number, path in pictures.items()}
    return RunFolder(
        path=name.removesuffix(".json"),
        name=last.removesuffix(".json"),
        files={last: name} | {own[number]: path for number, path in pictures.items()},
        screenshots=own,
    )


def passwords(listed: dict[int, dict[str, Any]], limit: int) -> Iterator[str]:
    """What was typed into fields whose names ask for a password."""
    for number_, item in listed.items():
        yield from typed_passwords(step_file(item, number_, truncated=None), limit)


def _boxes(item: dict[str, Any], actions: tuple[ActionRecord, ...]) -> dict[str, Box]:
    """Boxes of the elements that the actions name."""
    known = mapping(item.get("bounding_boxes")) or mapping(item.get(_AGAIN))
    boxes = {}
    for action in actions:
        bid = action.target.bid if action.target else None
        corners = [number(edge) for edge in items(mapping(known.get(bid or "")).get("bbox"))]
        if bid and len(corners) == 4 and None not in corners:
            x, y, width, height = (edge or 0.0 for edge in corners)
            boxes[bid] = Box(x=x, y=y, width=width, height=height)
    return boxes
