"""Turn what happens in a run into step records and blobs, while it happens."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from webagent.trajectory import live
from webagent.trajectory.actions import ActionKind, action_kind, parse_browsergym_actions
from webagent.trajectory.axtree import text_at
from webagent.trajectory.blobs import ImageError, look_at_image
from webagent.trajectory.intake import Bounds
from webagent.trajectory.records import (
    ActionRecord,
    BlobPart,
    BlobRecord,
    GoalPart,
    Json,
    Observation,
    Size,
    StepRecord,
    StepState,
    TextPart,
)
from webagent.trajectory.writes import write_kind

Blobs = dict[str, bytes]
"""Bytes by the SHA-256 that their records name."""

StepSink = Callable[[StepRecord, Mapping[str, bytes]], None]
"""Takes each step as soon as it is over, with the bytes of all blobs that it names.

A step that is abandoned later comes once more, with its new state and without bytes.
"""


@runtime_checkable
class Foreseeing(Protocol):
    """A sink that is glad to have the files of a step before the step is over."""

    def foresee(self, blobs: Mapping[str, bytes], media_types: Mapping[str, str]) -> None:
        """Take bytes and media types, by hash, that the next step is going to name."""


MAX_THOUGHT_CHARS = 100_000


class Recorder:
    """Records the steps of one run, in order, and hands each to the sink."""

    def __init__(self, run_id: str, sink: StepSink) -> None:
        self._run_id = run_id
        self._sink = sink
        self._records: list[StepRecord] = []
        self.branch = 0

    @property
    def steps(self) -> int:
        """How many steps were recorded, whatever their state."""
        return len(self._records)

    def give_up(self, indices: Iterable[int]) -> None:
        """These steps are undone; what is recorded next is of a new branch."""
        for index in indices:
            given_up = self._records[index].model_copy(update={"state": StepState.SUPERSEDED})
            self._records[index] = given_up
            self._sink(given_up, {})
        self.branch += 1

    def foresee(self, before: live.Observation) -> None:
        """Say that the next step begins with what is seen now: its files can be kept meanwhile."""
        sink: object = self._sink
        if isinstance(sink, Foreseeing):
            blobs: Blobs = {}
            seen = recorded_observation(before, blobs, self.steps)
            named = (blob for blob in (seen.screenshot, seen.a11y_tree) if blob is not None)
            sink.foresee(blobs, {blob.sha256: blob.media_type for blob in named})

    def step(
        self,
        before: live.Observation,
        decision: live.Decision,
        result: live.StepResult | None,
        *,
        started_at: datetime,
        acted_at: datetime,
        ended_at: datetime,
        final: bool,
        executed: bool = True,
        replays: int | None = None,
    ) -> StepRecord:
        """Record one step, and return its record.

        Args:
            result: None where the action was not carried out, or the environment failed in it.
            acted_at: when the agent had decided.
            final: no step follows from it, so that what was seen afterwards belongs to this one.
            executed: False where the run was stopped before the action could be tried.
            replays: index of the step that it repeats, in a replay.
        """
        blobs: Blobs = dict(decision.blobs)
        if self.steps == 0:
            goal_parts(before, blobs)
        actions: tuple[ActionRecord, ...] = ()
        if decision.action is not None and executed:
            outcomes = result.outcomes if result else ()
            actions = recorded_actions(decision.action, before, outcomes)
        record = StepRecord(
            run_id=self._run_id,
            index=self.steps,
            branch=self.branch,
            state=StepState.LIVE if replays is None else StepState.REPLAYED,
            replays=replays,
            write_like=write_kind(
                _aimed_at(actions, before),
                before.target(before.focused) if before.focused is not None else None,
            ),
            before=_seen(before, decision, blobs, self.steps),
            thought=decision.thought[:MAX_THOUGHT_CHARS] if decision.thought else None,
            actions=actions,
            after=(
                recorded_observation(result.observation, blobs, self.steps + 1)
                if final and result
                else None
            ),
            reward=result.recorded_reward if result else None,
            terminated=result.terminated if result else None,
            truncated=result.truncated if result else None,
            llm_calls=decision.llm_calls,
            metrics=_metrics(result, started_at, acted_at),
            events=result.events if result else (),
            started_at=started_at,
            ended_at=ended_at,
            seconds=round((ended_at - started_at).total_seconds(), 4),
            extra=_extra(decision, result, executed),
        )
        self._records.append(record)
        self._sink(record, blobs)
        return record


def goal_parts(observation: live.Observation, blobs: Blobs) -> tuple[GoalPart, ...]:
    """The instruction as records, its pictures put into `blobs`; unreadable ones are left out."""
    parts: list[GoalPart] = [TextPart(text=observation.goal)] if observation.goal else []
    for number, url in enumerate(observation.goal_images):
        picture = picture_of(url)
        if picture is not None:
            media_type, content = picture
            name = f"goal_image_{number}"
            parts.append(
                BlobPart(blob=kept_blob(blobs, content, media_type, "goal_image", name=name))
            )
    return tuple(parts)


def recorded_observation(observation: live.Observation, blobs: Blobs, number: int) -> Observation:
    """The observation as a record, its screenshot and tree put into `blobs`."""
    return Observation(
        at=observation.at,
        url=observation.url or None,
        title=observation.title,
        tabs=observation.tabs,
        screenshot=kept_blob(
            blobs,
            observation.screenshot,
            "image/png",
            "screenshot",
            name=f"screenshot_step_{number}.png",
            width=observation.width,
            height=observation.height,
        )
        if observation.screenshot
        else None,
        a11y_tree=kept_blob(
            blobs,
            observation.axtree.encode("utf-8", "replace"),
            "text/plain",
            "a11y_tree",
            name=f"axtree_step_{number}.txt",
        ),
        focused=observation.focused,
        fingerprint=observation.fingerprint,
        chat=observation.messages,
    )


def _seen(
    before: live.Observation, decision: live.Decision, blobs: Blobs, number: int
) -> Observation:
    """The observation with what the agent made of it: a marked picture, a picture read as text."""
    made: dict[str, BlobRecord] = {}

    def keep(role: str, content: bytes, media_type: str, name: str, **size: int) -> None:
        made[role] = kept_blob(blobs, content, media_type, role, name=name, **size)

    if (marked := decision.marked_screenshot) is not None:
        name = f"marked_screenshot_step_{number}.png"
        # Marks may be drawn on an enlarged picture.
        keep("marked_screenshot", marked, "image/png", name, **_size_of(marked))
    if (screen := decision.screen) is not None:
        name, lines = f"screen_step_{number}", screen.lines.encode("utf-8", "replace")
        keep("screen_text", lines, "text/plain", f"{name}.txt")
        keep("elements", _json(screen.elements), "application/json", f"{name}.json")
        # Not for the agent: so that it can be told later what it did not see, or misread.
        page = _json(page_elements(before))
        keep("dom", page, "application/json", f"page_step_{number}.json")
    return recorded_observation(before, blobs, number).model_copy(update=made)


def _json(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def page_elements(before: live.Observation) -> Json:
    """What the page itself says stands where: named or acted-on elements with their boxes."""
    elements: list[JsonValue] = []
    for index, node in enumerate(before.nodes):
        box = before.boxes.get(node.bid) if node.bid else None
        if node.bid is None or box is None:
            continue
        text = text_at(before.nodes, index)
        edges: list[JsonValue] = [box.x, box.y, box.x + box.width, box.y + box.height]
        element: dict[str, JsonValue] = {
            "bid": node.bid,
            "role": node.role,
            "text": text or "",
            "box": edges,
        }
        if node.role == "textbox":
            element["multiline"] = node.bid in before.multiline
        elements.append(element)
    return {"size": [before.width, before.height], "elements": elements}


def recorded_actions(
    action: str, before: live.Observation, outcomes: Sequence[live.ActionOutcome]
) -> tuple[ActionRecord, ...]:
    """The calls in an action with what the page knew of their targets, and how each went.

    Args:
        outcomes: one per call, or none where that is not known.
    """
    calls = parse_browsergym_actions(action)
    known = [*outcomes, *[None] * (len(calls) - len(outcomes))]
    return tuple(
        call.model_copy(update={**_aim(call, before), **_went(outcome)})
        for call, outcome in zip(calls, known, strict=False)
    )


def _aim(call: ActionRecord, before: live.Observation) -> dict[str, object]:
    """Target, point and coordinate space, as far as they can be known."""
    found: dict[str, object] = {}
    point, target = call.point, call.target
    if target is not None and target.bid is not None:
        box = before.boxes.get(target.bid)
        found["target"] = before.target(target.bid).model_copy(update={"box": box})
        if box is not None and action_kind(call) in {ActionKind.CLICK, ActionKind.POINT}:
            point = before.centre_in_sight(box)
    if point is not None:
        found["point"] = point
        found["coordinate_space"] = Size(width=before.width, height=before.height)
    return found


def _aimed_at(
    actions: Sequence[ActionRecord], before: live.Observation
) -> tuple[ActionRecord, ...]:
    """The actions, each that names a mere point with the innermost element there."""
    return tuple(
        action.model_copy(update={"target": before.target_at(action.point)})
        if action.target is None and action.point is not None
        else action
        for action in actions
    )


def _went(outcome: live.ActionOutcome | None) -> dict[str, object]:
    if outcome is None:
        return {}
    status: Literal["ok", "error", "unknown"] = "ok" if outcome.executed else "unknown"
    return {
        "status": "error" if outcome.error else status,
        "error": outcome.error,
        "started_at": outcome.started_at,
        "ended_at": outcome.ended_at,
    }


def _metrics(result: live.StepResult | None, started_at: datetime, acted_at: datetime) -> Json:
    seconds: dict[str, JsonValue] = {"agent": round((acted_at - started_at).total_seconds(), 4)}
    if result is not None:
        seconds.update(result.seconds)
    return {"seconds": seconds}


def _extra(decision: live.Decision, result: live.StepResult | None, executed: bool) -> Json | None:
    extra: dict[str, JsonValue] = {}
    if not executed and decision.action is not None:
        extra["not_executed"] = decision.action
    if decision.problem is not None:
        extra["problem"] = decision.problem
    if result is not None and result.milestones:
        extra["milestones"] = dict(result.milestones)
    return extra or None


def kept_blob(
    blobs: Blobs, content: bytes, media_type: str, role: str, *, name: str, **size: int
) -> BlobRecord:
    """The record of bytes that are put into `blobs`; `size` is a picture's width and height."""
    sha256, n = hashlib.sha256(content).hexdigest(), len(content)
    blobs[sha256] = content
    return BlobRecord(sha256=sha256, media_type=media_type, bytes=n, role=role, name=name, **size)


def _size_of(picture: bytes) -> dict[str, int]:
    try:
        facts = look_at_image(picture, Bounds())
    except ImageError:
        return {}
    return {"width": facts.width, "height": facts.height}


def picture_of(url: str) -> tuple[str, bytes] | None:
    """Media type and content of a base64 picture in a data URL; None if it is none."""
    head, comma, body = url.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    if not comma or not head.endswith(";base64") or not media_type.startswith("image/"):
        return None
    try:
        return media_type, base64.b64decode(body, validate=True)
    except binascii.Error:
        return None
