"""A step that was sent, as the record that is kept: bounded, storable, without secrets.

The same step sent twice gives the same record, so that a second sending is known by it.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from webagent.trajectory import live
from webagent.trajectory.actions import DIALECT, with_outcome
from webagent.trajectory.blobs import ImageError, decode_image
from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files.assembling import present
from webagent.trajectory.formats.pushed.runs import (
    PushedCall,
    PushedObservation,
    PushedStep,
    cleaned,
)
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.recording import Blobs, kept_blob, recorded_actions
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Box,
    LlmCall,
    Observation,
    Point,
    StepRecord,
    Target,
)
from webagent.trajectory.redaction import Redactor, is_password_field
from webagent.trajectory.writes import write_kind

SIDES = ("observation", "after")
PICTURES = ("screenshot", "marked_screenshot")
_TYPING = frozenset({"fill", "input", "input_text", "type", "keyboard_type"})
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A step as it is kept, the bytes of its files by hash, and how many secrets were taken out."""

    step: StepRecord
    blobs: Blobs
    redacted: Mapping[str, int]


def recorded_step(
    sent: PushedStep, *, run_id: str, index: int, goal: str, model: str | None, bounds: Bounds
) -> Recorded:
    """The record of a step that was sent.

    Args:
        goal: what the run was told; what stands in it is no secret.
        model: the run's own, for steps that name none.

    Raises:
        InputError: a picture is none, or too large, or something is nested too deeply.
    """
    pictures = _pictures(sent)
    redactor = Redactor(goal)
    for secret in _typed_passwords(sent):
        redactor.learn(secret)
    clean = _clean(sent, redactor, bounds)
    blobs: Blobs = {}
    before = _observation(clean.observation, "observation", index, pictures, blobs, bounds)
    actions = _actions(clean, before)
    extra = dict(clean.extra or {})
    if clean.error and not actions:
        extra["problem"] = clean.error
    record = StepRecord(
        run_id=run_id,
        index=index,
        write_like=write_kind(actions),
        before=before,
        thought=clean.thought or None,
        actions=actions,
        after=_observation(clean.after, "after", index + 1, pictures, blobs, bounds),
        reward=clean.reward,
        terminated=clean.terminated,
        truncated=clean.truncated,
        llm_calls=present(_llm_call(clean, model)),
        started_at=clean.started_at,
        ended_at=clean.ended_at,
        seconds=clean.seconds,
        extra=extra or None,
    )
    return Recorded(record, blobs, {kind: n for kind, n in redactor.counts.items() if n})


def _pictures(sent: PushedStep) -> dict[str, bytes]:
    """Every picture of the step by its field (`observation.screenshot`)."""
    found = {}
    for side in SIDES:
        seen: PushedObservation | None = getattr(sent, side)
        for name in PICTURES if seen else ():
            words, field = getattr(seen, name), f"{side}.{name}"
            if words is not None:
                found[field] = _decoded(words, field)
    return found


def _decoded(words: str, field: str) -> bytes:
    body = words.partition(",")[2] if words.startswith("data:") else words
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(field, "no base64") from None


def _clean(sent: PushedStep, redactor: Redactor, bounds: Bounds) -> PushedStep:
    """The step without pictures and secrets, its texts such as every database keeps."""
    # Boxes go by numbers of elements, and hold none.
    bare: Any = {side: {*PICTURES, "boxes"} for side in SIDES}
    clean = cleaned(sent, redactor, bounds, exclude=bare)
    sides = {
        side: seen.model_copy(update={"boxes": getattr(sent, side).boxes})
        for side in SIDES
        if (seen := getattr(clean, side)) is not None
    }
    return clean.model_copy(update=sides)


def _typed_passwords(sent: PushedStep) -> Iterable[str]:
    """What is typed into fields whose names ask for a password."""
    for action in _actions(sent, None):
        asks = is_password_field(action.target.text if action.target else None)
        if asks and action.name in _TYPING:
            named = action.named_args or {}
            words = (*action.args[1:2], named.get("text"), named.get("value"))
            yield from (word for word in words if isinstance(word, str))


def _observation(
    seen: PushedObservation | None,
    side: str,
    number: int,
    pictures: Mapping[str, bytes],
    blobs: Blobs,
    bounds: Bounds,
) -> Observation | None:
    if seen is None:
        return None
    kept = {
        name: _picture(pictures[field], field, number, blobs, bounds)
        for name in PICTURES
        if (field := f"{side}.{name}") in pictures
    }
    return Observation(
        at=seen.at,
        url=seen.url or None,
        title=seen.title,
        screenshot=kept.get("screenshot"),
        marked_screenshot=kept.get("marked_screenshot"),
        a11y_tree=_tree(seen.axtree, number, blobs) if seen.axtree else None,
        focused=seen.focused,
    )


def _picture(content: bytes, field: str, number: int, blobs: Blobs, bounds: Bounds) -> BlobRecord:
    try:
        facts = decode_image(content, bounds)
    except ImageError as error:
        raise InputError(field, str(error)) from None
    role = field.rpartition(".")[2]
    name = f"{role}_step_{number}.{facts.media_type.rpartition('/')[2]}"
    size = {"width": facts.width, "height": facts.height}
    return kept_blob(blobs, content, facts.media_type, role, name=name, **size)


def _tree(text: str, number: int, blobs: Blobs) -> BlobRecord:
    content = text.encode("utf-8", "replace")
    name = f"axtree_step_{number}.txt"
    return kept_blob(blobs, content, "text/plain", "a11y_tree", name=name)


def _actions(sent: PushedStep, before: Observation | None) -> tuple[ActionRecord, ...]:
    """The step's actions with what the page knew of their targets, and how each went."""
    if sent.calls:
        return tuple(_call(call, sent) for call in sent.calls)
    if not sent.action:
        return ()
    if sent.dialect != DIALECT:
        actions: tuple[ActionRecord, ...] = (ActionRecord(raw=sent.action, dialect=sent.dialect),)
    else:
        actions = recorded_actions(sent.action, _as_seen(sent.observation, before), ())
    return with_outcome(actions, sent.error or None)


def _as_seen(seen: PushedObservation | None, kept: Observation | None) -> live.Observation:
    """The page as the recorder of our own agents knows it."""
    seen = seen or PushedObservation()
    picture = kept.screenshot if kept else None
    boxes = {
        bid: Box(x=x, y=y, width=width, height=height)
        for bid, (x, y, width, height) in seen.boxes.items()
    }
    return live.Observation(
        at=seen.at or _LONG_AGO,
        goal="",
        url=seen.url or "",
        title=seen.title or "",
        screenshot=b"",
        width=(picture.width if picture else None) or 0,
        height=(picture.height if picture else None) or 0,
        axtree=seen.axtree or "",
        boxes=boxes,
    )


def _call(call: PushedCall, sent: PushedStep) -> ActionRecord:
    error = call.error or (sent.error if call is sent.calls[-1] else None)
    return ActionRecord(
        raw={call.name: call.arguments},
        dialect=sent.dialect,
        name=call.name,
        named_args=call.arguments or None,
        target=Target(text=call.target) if call.target else None,
        point=Point(x=call.point[0], y=call.point[1]) if call.point else None,
        status="error" if error else "ok",
        error=error or None,
        result_text=call.result,
    )


def _llm_call(sent: PushedStep, model: str | None) -> LlmCall | None:
    """The step's questions to its model as one, where anything is told of them."""
    told = (sent.model, sent.input_tokens, sent.output_tokens, sent.cost)
    if all(value is None for value in told):
        return None
    return LlmCall(
        model=sent.model or model or UNKNOWN,
        input_tokens=sent.input_tokens,
        output_tokens=sent.output_tokens,
        cost=sent.cost,
    )
