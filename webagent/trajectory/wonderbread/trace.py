"""A recorded demonstration: what the screen showed, and what the person did in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.assembling import clean, clean_json
from webagent.trajectory.records import ActionRecord, Point, Size, Target
from webagent.trajectory.redaction import REDACTED, is_password_field
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.untyped import items, mapping, moment, number, text

DIALECT = "wonderbread"
_NAMES = {"mousedown": "mouse_down", "mouseup": "mouse_up", "keystroke": "key", "scroll": "scroll"}
_WORDS = ("text", "label", "aria-label", "placeholder", "name", "value")
_NAME_CHARS = 300


@dataclass(slots=True)
class Moment:
    """A state of the screen and what was done at it. No state: done before the first was kept."""

    state: dict[str, Any]
    position: int
    done: list[dict[str, Any]] = field(default_factory=list)


def moments(trace: list[Any]) -> Iterator[Moment]:
    """States in order, each with the actions up to the next one."""
    current: Moment | None = None
    for position, item in enumerate(map(mapping, trace)):
        data = mapping(item.get("data"))
        if item.get("type") == "state":
            if current is not None:
                yield current
            current = Moment(data, position)
        elif item.get("type") == "action":
            current = current or Moment({}, position)
            current.done.append(data)
    if current is not None:
        yield current


def without_passwords(files: RunFiles, trace: list[Any]) -> list[Any]:
    """The trace without the keys that were struck in password fields."""
    return [_without_password(files, mapping(item)) for item in trace]


def _without_password(files: RunFiles, item: dict[str, Any]) -> dict[str, Any]:
    data = mapping(item.get("data"))
    if data.get("key") is None or not _asks_for_password(_attributes(data)):
        return item
    files.redactor.counts["password"] += 1
    return item | {"data": data | {"key": REDACTED}}


def action_of(files: RunFiles, data: dict[str, Any], state: dict[str, Any]) -> ActionRecord:
    """What the person did; coordinates of the screen become coordinates of the window."""
    attributes = _attributes(data)
    kind = text(data.get("type")) or ""
    at = _seconds(data.get("timestamp"))
    words = next((w for key in _WORDS if (w := text(attributes.get(key)))), None)
    return ActionRecord(
        raw=clean_json(files, data),
        dialect=DIALECT,
        name=_NAMES.get(kind, kind)[:100] or None,
        named_args=clean_json(
            files, {key: data[key] for key in ("button", "key", "dx", "dy") if key in data}
        )
        or None,
        target=Target(
            xpath=clean(files, attributes.get("xpath")),
            role=clean(files, attributes.get("role") or attributes.get("tag"), _NAME_CHARS),
            text=clean(files, words, _NAME_CHARS),
        )
        if attributes
        else None,
        point=_point(data, state),
        coordinate_space=_size(state.get("window_size")),
        started_at=moment(at),
        ended_at=moment(at),
        status="ok",
    )


def _attributes(data: dict[str, Any]) -> dict[str, Any]:
    """Of the element that was acted on; some files wrap them once more."""
    found = mapping(data.get("element_attributes"))
    return mapping(found.get("element")) or found


def _asks_for_password(attributes: dict[str, Any]) -> bool:
    words = [text(attributes.get(key)) for key in ("type", "name", "id", *_WORDS)]
    return is_password_field(*words)


def _point(data: dict[str, Any], state: dict[str, Any]) -> Point | None:
    x, y = number(data.get("x")), number(data.get("y"))
    if x is None or y is None:
        return None
    left, top = _pair(state.get("window_position"), ("x", "y")) or (0.0, 0.0)
    return Point(x=x - left, y=y - top)


def _size(value: Any) -> Size | None:
    pair = _pair(value, ("width", "height"))
    return Size(width=pair[0], height=pair[1]) if pair and min(pair) > 0 else None


def _pair(value: Any, keys: tuple[str, str]) -> tuple[float, float] | None:
    """Two numbers, written as an object or as a list."""
    if isinstance(value, dict):
        both = [number(value.get(key)) for key in keys]
    else:
        both = [number(part) for part in items(value)]
    known = [part for part in both if part is not None]
    return (known[0], known[1]) if len(known) == 2 else None


def _seconds(value: Any) -> float | None:
    """Seconds since 1970; small numbers are seconds since the recording began, and tell nothing."""
    seconds = number(value)
    return seconds if seconds is not None and seconds > 1e9 else None
