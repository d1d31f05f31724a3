"""The lines of a trace as calls, frames and pages, whichever version wrote them.

| version | written by Playwright | how it differs |
|---|---|---|
| 3 | before 1.32 | one `action` line for a whole call; what it says stands in `metadata` |
| 4, 5 | 1.32, 1.39 | `before` and `after`; names in `apiName`; a wall time at each call |
| 6 | 1.44 | `log` lines; the point also in `after` |
| 7, 8 | 1.48, 1.55 | `monotonicTime` ties the clocks together; `title` instead of `apiName` |
| 9, 10 | 1.63, 1.65 | frames and snapshots name their `file`; calls without a name |
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.files.lines import BROKEN, json_values
from webagent.trajectory.intake import InputError
from webagent.trajectory.texts import unstorable_numbers
from webagent.trajectory.values import items, mapping, number, text, whole

OLDEST, NEWEST = 3, 10
_MOST_LOG_LINES = 200
_MOST_CONSOLE = 1_000


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of Playwright's interface. Times are milliseconds of the trace's own clock."""

    id: str
    start: float
    end: float | None = None
    name: str = ""
    """As the script's author knows it: `Page.goto`; built of class and method if not given."""
    method: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    page: str | None = None
    wall_ms: float | None = None
    point: dict[str, Any] | None = None
    box: dict[str, Any] | None = None
    error: str | None = None
    result: Any = None
    log: list[str] = field(default_factory=list)
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A picture of the page, taken when something changed."""

    at: float
    page: str | None
    name: str
    width: float | None
    height: float | None
    """Of the page, in CSS pixels; the picture itself is mostly smaller."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The address of a page at a moment."""

    at: float
    page: str | None
    url: str


@dataclass(slots=True)
class TraceEvents:
    """All that is understood of one trace."""

    version: int = 0
    context: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    console: list[dict[str, Any]] = field(default_factory=list)
    bad_lines: int = 0
    is_cut: bool = False
    """Whether the last line is no JSON: the file was cut in it."""
    bad_numbers: int = 0
    tied: Call | None = None
    """The first that tells the time of day: it ties the clocks together."""
    largest: Frame | None = None
    """Of the pages whose size is told, the highest."""

    def put_in_order(self) -> None:
        """Sort what was taken by its time, and find what is asked for at every call."""
        self.calls.sort(key=lambda call: call.start)
        self.frames.sort(key=lambda frame: frame.at)
        self.seen.sort(key=lambda seen: seen.at)
        self.tied = next((call for call in self.calls if call.wall_ms is not None), None)
        sized = (frame for frame in self.frames if frame.width and frame.height)
        self.largest = max(sized, default=None, key=lambda frame: frame.height or 0)

    def wall_seconds(self, at: float | None) -> float | None:
        """Seconds since 1970 of a moment on the trace's clock; None if the clocks are not tied."""
        if at is None:
            return None
        wall, monotonic = number(self.context.get("wallTime")), None
        if wall is not None:
            monotonic = number(self.context.get("monotonicTime"))
        if monotonic is None:
            if self.tied is not None:
                wall, monotonic = self.tied.wall_ms, self.tied.start
            elif self.calls:
                monotonic = self.calls[0].start
        if wall is None or monotonic is None:
            return None
        return (wall + at - monotonic) / 1000


def read_events(lines: Iterable[bytes] | Iterable[str]) -> TraceEvents:
    """The events of one `.trace` file; lines that are no JSON object are counted and left out.

    Raises:
        InputError: it does not begin as a trace does, or its version is not known.
    """
    events = TraceEvents()
    calls: dict[str, Call] = {}
    for event in json_values(lines):
        events.is_cut = event is BROKEN or event is None
        if not isinstance(event, dict):
            events.bad_lines += 1
            continue
        events.bad_numbers += sum(1 for _ in unstorable_numbers(event))
        event = _flattened(event)
        if event is None:
            continue
        if not events.version:
            _begin(events, event)
        _take(events, calls, event)
    if not events.version:
        raise InputError("", "does not begin with the context's options")
    events.calls = list(calls.values())
    events.put_in_order()
    return events


def _begin(events: TraceEvents, event: dict[str, Any]) -> None:
    version = whole(event.get("version"))
    if event.get("type") != "context-options" or version is None:
        raise InputError("", "does not begin with the context's options")
    if not OLDEST <= version <= NEWEST:
        raise InputError(
            "", f"version {version} of the trace format: {OLDEST} to {NEWEST} are read"
        )
    events.version, events.context = version, event


def _flattened(event: dict[str, Any]) -> dict[str, Any] | None:
    """A line of version 3 in the form of later ones; None for what Playwright did for itself."""
    inner = mapping(event.get("metadata"))
    if not inner or event.get("type") not in ("action", "event"):
        return event
    method = text(inner.get("method")) or ""
    if inner.get("internal") or method.startswith("tracing"):
        return None
    if event["type"] == "event" and method == "__create__":
        made = mapping(inner.get("params"))
        return made | {"type": "object", "class": inner.get("type")}
    moved = {"type": event["type"], "class": inner.get("type"), "callId": inner.get("id")}
    return inner | moved | {"time": inner.get("startTime")}


def _take(events: TraceEvents, calls: dict[str, Call], event: dict[str, Any]) -> None:
    match event.get("type"):
        case "before":
            call = _before(event)
            calls.setdefault(call.id, call)
        case "action":
            call = _before(event)
            _after(call, event)
            calls.setdefault(call.id, call)
        case "after":
            if known := calls.get(str(event.get("callId"))):
                _after(known, event)
        case "input":
            if known := calls.get(str(event.get("callId"))):
                known.point = mapping(event.get("point")) or known.point
                known.box = mapping(event.get("box")) or known.box
        case "log":
            known, message = calls.get(str(event.get("callId"))), text(event.get("message"))
            if known and message and len(known.log) < _MOST_LOG_LINES:
                known.log.append(message)
        case "screencast-frame":
            _frame(events, event)
        case "frame-snapshot":
            shot = mapping(event.get("snapshot"))
            if shot.get("isMainFrame"):
                _see(events, shot.get("timestamp"), shot.get("pageId"), shot, "frameUrl")
        case "console":
            _console(events, event)
        case "object" if event.get("class") == "ConsoleMessage":
            _console(events, mapping(event.get("initializer")))
        case "event" if event.get("method") == "navigated":
            _see(events, event.get("time"), event.get("pageId"), mapping(event.get("params")))


def _before(event: dict[str, Any]) -> Call:
    method = text(event.get("method")) or ""
    built = ".".join(part for part in (text(event.get("class")), method) if part)
    return Call(
        id=str(event.get("callId")),
        start=number(event.get("startTime")) or 0.0,
        name=text(event.get("apiName")) or text(event.get("title")) or built,
        method=method,
        params=mapping(event.get("params")),
        page=text(event.get("pageId")),
        wall_ms=number(event.get("wallTime")),
    )


def _after(call: Call, event: dict[str, Any]) -> None:
    call.finished = True
    call.end = number(event.get("endTime"))
    call.point = mapping(event.get("point")) or call.point
    call.result = event.get("result")
    call.log += [line for line in items(event.get("log")) if isinstance(line, str)]
    del call.log[_MOST_LOG_LINES:]
    error = mapping(event.get("error"))
    inner = mapping(error.get("error")) or error
    call.error = text(inner.get("message")) or text(inner.get("name"))


def _frame(events: TraceEvents, event: dict[str, Any]) -> None:
    name, sha1 = text(event.get("file")), text(event.get("sha1"))
    at = number(event.get("timestamp"))
    if at is None or not (name or sha1):
        return
    frame = Frame(
        at=at,
        page=text(event.get("pageId")),
        name=name or f"resources/{sha1}",
        width=number(event.get("width")),
        height=number(event.get("height")),
    )
    events.frames.append(frame)


def _see(events: TraceEvents, at: Any, page: Any, source: dict[str, Any], key: str = "url") -> None:
    url, moment_ = text(source.get(key)), number(at)
    if url and moment_ is not None:
        events.seen.append(Seen(moment_, text(page), url))


def _console(events: TraceEvents, event: dict[str, Any]) -> None:
    words = text(event.get("text"))
    if words and len(events.console) < _MOST_CONSOLE:
        kind = text(event.get("messageType")) or text(event.get("type"))
        events.console.append({"time": number(event.get("time")), "kind": kind, "text": words})
