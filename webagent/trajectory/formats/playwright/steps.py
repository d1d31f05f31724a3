"""Calls, pictures and addresses of a trace, put together as steps."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar

from webagent.trajectory.files.assembling import TARGET_CHARS, URL_CHARS, RunFiles, box_of, point_at
from webagent.trajectory.formats.playwright.events import Call, Frame, Seen, TraceEvents
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Box,
    Observation,
    Point,
    Size,
    StepRecord,
    Target,
)
from webagent.trajectory.redaction import REDACTED, is_password_field
from webagent.trajectory.values import mapping, moment, not_none, number, text

OfPage = TypeVar("OfPage", Frame, Seen)


class Steps:
    """Puts calls, pictures and addresses together."""

    def __init__(self, files: RunFiles, trace: TraceEvents) -> None:
        self._files = files
        self._trace = trace
        self._pictures: dict[str, BlobRecord | None] = {}
        self._frames_of = _by_page(trace.frames)
        self._seen_of = _by_page(trace.seen)

    def records(self) -> tuple[StepRecord, ...]:
        """A step for each call that does something; the calls that only look are its events."""
        calls = self._trace.calls
        acting = [call for call in calls if not only_looks(call)] or calls
        doing = {id(call) for call in acting}
        waiting: list[dict[str, Any]] = []
        done: list[StepRecord] = []
        for call in calls:
            if id(call) in doing:
                done.append(self._step(len(done), call, waiting))
                waiting = []
            else:
                waiting.append(looked(self._files, self._trace, call))
        if waiting and done:
            done[-1] = done[-1].model_copy(update={"events": (*done[-1].events, *waiting)})
        return tuple(done)

    def _step(self, index: int, call: Call, events: list[dict[str, Any]]) -> StepRecord:
        self._files.check_steps(index + 1, "steps")
        page = call.page or self._page_at(call.start)
        frame = self._frame(call.start, page, before=True)
        before = self._seen(call.start, page, frame, before=True)
        picture = before.screenshot if before else None
        action = action_of(self._files, self._trace, call, picture, frame)
        later = page or self._page_at(call.end)
        left = self._frame(call.end, later, before=False)
        return StepRecord(
            run_id=self._files.run_id,
            index=index,
            before=before,
            actions=(action,),
            after=self._seen(call.end, later, left, before=False),
            events=tuple(events),
            started_at=action.started_at,
            ended_at=action.ended_at,
            extra={"log": [self._files.clean(line) for line in call.log]} if call.log else None,
        )

    def _page_at(self, at: float | None) -> str | None:
        """The page that was last seen at a moment: newer traces do not tell it with the call."""
        if at is None:
            return None
        place = bisect_right(self._trace.seen, at, key=lambda seen: seen.at)
        frame = bisect_right(self._trace.frames, at, key=lambda frame: frame.at)
        known = [self._trace.seen[place - 1]] if place else []
        last = self._trace.frames[frame - 1] if frame else None
        if last is not None and (not known or last.at > known[0].at):
            return last.page
        return known[0].page if known else None

    def _frame(self, at: float | None, page: str | None, *, before: bool) -> Frame | None:
        """The last picture of a page before a moment, or the first one after it."""
        if at is None:
            return None
        frames = self._trace.frames if page is None else self._frames_of[page]
        place = (
            bisect_right(frames, at, key=lambda f: f.at) - 1
            if before
            else bisect_left(frames, at, key=lambda f: f.at)
        )
        return frames[place] if 0 <= place < len(frames) else None

    def _seen(
        self, at: float | None, page: str | None, frame: Frame | None, *, before: bool
    ) -> Observation | None:
        """Address and picture of a page right before or right after a call."""
        if at is None:
            return None
        urls = self._trace.seen if page is None else self._seen_of[page]
        # What a call left is told a moment after it has ended.
        until = at if before or frame is None else frame.at
        last = bisect_right(urls, until, key=lambda s: s.at) - 1
        picture = self._picture(frame.name) if frame else None
        url = self._files.clean(urls[last].url, URL_CHARS) if last >= 0 else None
        if picture is None and url is None:
            return None
        seen_at = frame.at if frame else at
        wall = moment(self._trace.wall_seconds(seen_at))
        return Observation(at=wall, url=url, screenshot=picture)

    def _picture(self, name: str) -> BlobRecord | None:
        if name not in self._pictures:
            self._pictures[name] = self._files.picture(name, "screenshot")
        return self._pictures[name]


def _by_page(found: Iterable[OfPage]) -> defaultdict[str | None, list[OfPage]]:
    """Frames or addresses by their page, in their order."""
    grouped: defaultdict[str | None, list[OfPage]] = defaultdict(list)
    for one in found:
        grouped[one.page].append(one)
    return grouped


DIALECT = "playwright"

_LOOKING_METHODS = (
    "title content screenshot textContent innerText innerHTML inputValue getAttribute isVisible"
    " isHidden isEnabled isDisabled isChecked isEditable querySelector querySelectorAll queryCount"
    " boundingBox viewportSize newCDPSession send detach bringToFront accessibilitySnapshot"
    " ariaSnapshot evalOnSelector cookies storageState url expect tracingStart tracingStartChunk"
    " tracingStop tracingStopChunk tracingGroup tracingGroupEnd"
)
_LOOKING = frozenset(_LOOKING_METHODS.split())
_EVALUATES = frozenset(("evaluateExpression", "evaluateExpressionHandle", "evaluate"))
_A_PROPERTY = re.compile(r"^[\w.\[\]$\s]{1,300}$")
_TYPING = frozenset(("fill", "type", "pressSequentially", "insertText", "keyboardType"))
_KEYBOARD = frozenset(("keyboardType", "keyboardInsertText"))
_HOW = frozenset(("strict", "timeout", "waitUntil", "noWaitAfter", "force", "trial", "modifiers"))
"""Parameters that say how a call waits, not what it does."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ROLE = re.compile(r"internal:role=(\w+)(?:\[name=\"((?:[^\"\\]|\\.)*)\")?")
_LABEL = re.compile(r"internal:(?:label|text|attr)=\[?[^\"]{0,40}\"((?:[^\"\\]|\\.)*)\"")
_RESULT_CHARS = 5_000
_SIDES = ("x", "y", "width", "height")


def only_looks(call: Call) -> bool:
    """Whether the call reads something of the page and does nothing to it."""
    if call.method in _EVALUATES:
        return bool(_A_PROPERTY.match(text(call.params.get("expression")) or "="))
    return call.method in _LOOKING


def learn_passwords(files: RunFiles, calls: list[Call]) -> None:
    """What was typed into password fields is taken out wherever it stands."""
    focused = ""
    for call in calls:
        selector = text(call.params.get("selector")) or focused
        focused = selector
        typed = text(call.params.get("value")) or text(call.params.get("text"))
        if typed and call.method in _TYPING | _KEYBOARD and is_password_field(selector):
            files.redactor.learn(typed)


def action_of(
    files: RunFiles, trace: TraceEvents, call: Call, picture: BlobRecord | None, frame: Frame | None
) -> ActionRecord:
    """The call as an action; point and box in pixels of the picture it was chosen on.

    Traces give them in CSS pixels of the page, and scale the pictures down.

    Args:
        frame: what the trace says of that picture.
    """
    viewport = _viewport(trace, frame)
    space, scale = viewport, 1.0
    if picture and picture.width and picture.height and viewport:
        space = Size(width=picture.width, height=picture.height)
        scale = picture.width / viewport.width
    params = call.params
    selector = text(params.get("selector"))
    if is_password_field(selector) and "value" in params and params["value"]:
        params = params | {"value": REDACTED}
    error = call.error
    if error is None and not call.finished:
        error = "The trace ends before this call did."
    result = call.result
    return ActionRecord(
        raw=files.clean_json({"call": call.name, "params": params}),
        dialect=DIALECT,
        name=_CAMEL.sub("_", call.method).lower().strip("_")[:100] or None,
        named_args=files.clean_json({k: v for k, v in params.items() if k not in _HOW}) or None,
        target=_target(
            files, selector, box_of((mapping(call.box).get(side) for side in _SIDES), scale)
        ),
        point=_point(call, scale),
        coordinate_space=space,
        started_at=moment(trace.wall_seconds(call.start)),
        ended_at=moment(trace.wall_seconds(call.end)),
        status="error" if call.error else "ok" if call.finished else "unknown",
        error=files.clean(error),
        result_text=files.clean(str(result), _RESULT_CHARS) if result is not None else None,
    )


def looked(files: RunFiles, trace: TraceEvents, call: Call) -> dict[str, Any]:
    """A call that only looked, as an event of the step it stands before."""
    at = moment(trace.wall_seconds(call.start))
    found = {
        "type": "call",
        "call": call.name,
        "at": at.isoformat() if at else None,
        "params": files.clean_json(call.params) or None,
        "error": files.clean(call.error),
    }
    return not_none(found)


def _target(files: RunFiles, selector: str | None, box: Box | None) -> Target | None:
    if selector is None:
        return Target(box=box) if box else None
    role = _ROLE.search(selector)
    named = role[2] if role and role[2] else None
    label = _LABEL.search(selector) if named is None else None
    words = named or (label[1] if label else None)
    return Target(
        selector=files.clean(selector),
        role=role[1] if role else None,
        text=files.clean(words, TARGET_CHARS),
        box=box,
    )


def _point(call: Call, scale: float) -> Point | None:
    given = call.point or call.params
    point = point_at(given.get("x"), given.get("y"))
    return Point(x=point.x * scale, y=point.y * scale) if point else None


def _viewport(trace: TraceEvents, frame: Frame | None) -> Size | None:
    """The space that a trace gives points in: of that page then, as it may change its size."""
    if frame and frame.width and frame.height:
        return Size(width=frame.width, height=frame.height)
    viewport = mapping(mapping(trace.context.get("options")).get("viewport"))
    width, height = number(viewport.get("width")), number(viewport.get("height"))
    if (not width or not height) and trace.largest:
        width, height = trace.largest.width, trace.largest.height
    return Size(width=width, height=height) if width and height else None
