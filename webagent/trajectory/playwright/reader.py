"""Read Playwright traces, one run per trace."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, BinaryIO

from webagent.trajectory.assembling import (
    NAME_CHARS,
    URL_CHARS,
    UnreadableError,
    clean,
    guarded,
    last_url,
    source_record,
)
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem, Rejection, RunBundle
from webagent.trajectory.nested import holds_zip, open_inner
from webagent.trajectory.playwright.calls import action_of, learn_passwords, looked, only_looks
from webagent.trajectory.playwright.events import Call, TraceError, TraceEvents, read_events
from webagent.trajectory.playwright.keeping import kept_tree
from webagent.trajectory.recognition import NO_ANSWERS, Answers, Recognition
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EnvironmentRecord,
    Observation,
    RunRecord,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    Totals,
)
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.task_sets import UNKNOWN_VERSION
from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError, given_name
from webagent.trajectory.untyped import mapping, moment, text, whole

FORMAT = "playwright_trace"
TRACE = ".trace"
TEST_TRACE = "test.trace"
"""What the test runner itself did: its calls stand in the other traces too."""

_BESIDE = ("agent_response.json", "eval_result.json")
"""What lies beside the trace of a task of WebArena-Verified."""
_HEAD_BYTES = 1 << 16
_OF_TRACE = re.compile(r"^(?:[^/]+\.(?:trace|network|stacks)|(?:resources|screencast)/.+)$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trace lies: a file of the tree, or of a zip inside it."""

    path: str
    """The zip's name in the tree, or the folder's; empty if the tree itself is one trace."""
    is_zip: bool


class PlaywrightReader:
    """Every zip or folder with a `.trace` file is a run."""

    name = FORMAT
    signs = "a trace.zip with .trace files (Playwright)"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The traces, zipped or not."""
        places, _ = _places(tree, bounds)
        files: set[str] = set()
        for place in places:
            if place.is_zip:
                files.add(place.path)
            else:
                files.update(_of_folder(tree, place.path).values())
        return Recognition(runs=len(places), files=frozenset(files))

    def read(
        self, tree: Tree, bounds: Bounds, answers: Answers = NO_ANSWERS
    ) -> Iterator[RunBundle | Problem]:
        """Each trace in turn."""
        places, unopened = _places(tree, bounds)
        yield from unopened
        for place in places:
            yield _read(tree, place, bounds)


def _read(tree: Tree, place: Place, bounds: Bounds) -> RunBundle | Rejection:
    source = f"{tree.label}/{place.path}".rstrip("/")
    shown = place.path or given_name(tree)
    if not place.is_zip:
        files = RunFiles(tree, place.path, _of_folder(tree, place.path), bounds)
        return guarded(source, shown, partial(_bundle, tree, files, place.path, shown))
    try:
        inner = open_inner(tree, place.path, bounds)
    except (BoundError, TreeError) as error:
        return Rejection(source, place.path, "", str(error))
    files = RunFiles(inner, "", {name: name for name in inner.names}, bounds)
    return guarded(source, shown, partial(_bundle, inner, files, place.path, shown))


def _bundle(tree: Tree, files: RunFiles, path: str, shown: str) -> RunBundle:
    trace = _events(tree, files, shown)
    learn_passwords(files, trace.calls)
    run_id = shown[-NAME_CHARS:]
    title = text(trace.context.get("title"))
    name = (clean(files, title, NAME_CHARS) or shown.rpartition("/")[2].removesuffix(".zip"))[
        :NAME_CHARS
    ]
    task = TaskRecord(
        id=f"{FORMAT}:{name}"[:NAME_CHARS],
        task_set=TaskSetRecord(name=FORMAT, version=UNKNOWN_VERSION),
        external_id=name,
    )
    steps = tuple(_Steps(files, trace, run_id).records())
    files.note("goal", "trace", "a trace does not say what was to be done")
    kept = kept_tree(tree, files, f"{name}.zip")
    return RunBundle(
        source=files.source,
        task=task,
        run=_run(files, trace, task, run_id, steps, path, kept),
        steps=steps,
        blobs=files.stash,
        problems=tuple(files.problems),
    )


def _run(
    files: RunFiles,
    trace: TraceEvents,
    task: TaskRecord,
    run_id: str,
    steps: tuple[StepRecord, ...],
    path: str,
    kept: BlobRecord | None,
) -> RunRecord:
    context = trace.context
    viewport = mapping(mapping(context.get("options")).get("viewport"))
    version = text(context.get("playwrightVersion"))
    ends = [call.end for call in trace.calls if call.end is not None]
    started = moment(trace.wall_seconds(trace.calls[0].start)) if trace.calls else None
    ended = moment(trace.wall_seconds(max(ends))) if ends else None
    console = files.json_blob(_console(files, trace), "log", "console.json")
    experiment = path.rpartition("/")[0].rpartition("/")[2]
    return RunRecord(
        id=run_id,
        task_id=task.id,
        agent=AgentRecord(name="playwright", version=version[:NAME_CHARS] if version else None),
        experiment=experiment[:NAME_CHARS] or None,
        started_at=started,
        ended_at=ended,
        final_url=last_url(steps),
        totals=Totals(seconds=(ended - started).total_seconds() if started and ended else None),
        environment=EnvironmentRecord(
            viewport_width=whole(viewport.get("width")),
            viewport_height=whole(viewport.get("height")),
            browser=(text(context.get("browserName")) or "")[:NAME_CHARS] or None,
        ),
        logs=(console,) if trace.console else (),
        gaps=tuple(files.gaps),
        source=source_record(
            files,
            FORMAT,
            path or files.given_name,
            format_version=str(trace.version),
            tool="playwright",
            tool_version=version,
            originals=(kept,),
        ),
    )


def _console(files: RunFiles, trace: TraceEvents) -> list[dict[str, Any]]:
    return [line | {"text": clean(files, line["text"])} for line in trace.console]


class _Steps:
    """Puts calls, pictures and addresses together."""

    def __init__(self, files: RunFiles, trace: TraceEvents, run_id: str) -> None:
        self._files = files
        self._trace = trace
        self._run_id = run_id
        self._pictures: dict[str, BlobRecord | None] = {}

    def records(self) -> Iterator[StepRecord]:
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
        yield from done

    def _step(self, index: int, call: Call, events: list[dict[str, Any]]) -> StepRecord:
        if index >= self._files.bounds.steps_per_run:
            reason = f"more than {self._files.bounds.steps_per_run} steps"
            raise UnreadableError("", "steps", reason)
        page = call.page or self._page_at(call.start)
        before = self._seen(call.start, page, before=True)
        picture = before.screenshot if before else None
        action = action_of(self._files, self._trace, call, picture)
        return StepRecord(
            run_id=self._run_id,
            index=index,
            before=before,
            actions=(action,),
            after=self._seen(call.end, page or self._page_at(call.end), before=False),
            events=tuple(events),
            started_at=action.started_at,
            ended_at=action.ended_at,
            extra={"log": [clean(self._files, line) for line in call.log]} if call.log else None,
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

    def _seen(self, at: float | None, page: str | None, *, before: bool) -> Observation | None:
        """Address and picture of a page right before or right after a call."""
        if at is None:
            return None
        frames = [f for f in self._trace.frames if page is None or f.page == page]
        place = (
            bisect_right(frames, at, key=lambda f: f.at) - 1
            if before
            else bisect_left(frames, at, key=lambda f: f.at)
        )
        frame = frames[place] if 0 <= place < len(frames) else None
        urls = [s for s in self._trace.seen if page is None or s.page == page]
        # What a call left is told a moment after it has ended.
        until = at if before or frame is None else frame.at
        last = bisect_right(urls, until, key=lambda s: s.at) - 1
        picture = self._picture(frame.name) if frame else None
        url = clean(self._files, urls[last].url, URL_CHARS) if last >= 0 else None
        if picture is None and url is None:
            return None
        seen_at = frame.at if frame else at
        wall = moment(self._trace.wall_seconds(seen_at))
        return Observation(at=wall, url=url, screenshot=picture)

    def _picture(self, name: str) -> BlobRecord | None:
        if name not in self._pictures:
            if name in self._files.files:
                self._pictures[name] = self._files.picture(name, "screenshot")
            else:
                self._files.note("screenshot", name, "missing")
                self._pictures[name] = None
        return self._pictures[name]


def _events(tree: Tree, files: RunFiles, shown: str) -> TraceEvents:
    """The events of all traces of one zip, the one with most calls in front."""
    names = [name for name in files.files if name.endswith(TRACE)]
    names = [name for name in names if name.rpartition("/")[2] != TEST_TRACE] or names
    found: list[TraceEvents] = []
    for name in names:
        try:
            with tree.open(files.files[name]) as stream:
                events = read_events(_lines(files, stream))
        except (TraceError, TreeError, BoundError, *READ_ERRORS) as error:
            files.note("trace", name, str(error))
            continue
        if events.bad_lines:
            files.note("trace", name, f"{events.bad_lines} lines are no JSON, or cut short")
        found.append(events)
    if not found:
        reason = files.gaps[-1].why if files.gaps else "no trace that can be read"
        raise UnreadableError(shown, "trace", reason)
    return _together(found)


def _lines(files: RunFiles, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a trace one by one: snapshots make it large.

    Raises:
        BoundError: a line that is too long, or too many of them.
    """
    digest = hashlib.sha256()
    bounds = files.bounds
    for number in count():
        line = stream.readline(bounds.line_bytes + 1)
        if not line:
            break
        if len(line) > bounds.line_bytes:
            raise BoundError(f"a line of more than {bounds.line_bytes} bytes")
        if number >= bounds.lines:
            raise BoundError(f"more than {bounds.lines} lines")
        digest.update(line)
        yield line
    files.imported.append(digest.hexdigest())


def _together(found: list[TraceEvents]) -> TraceEvents:
    """Several traces of one test as one: their clock is the same."""
    first = max(found, key=lambda events: len(events.calls))
    for other in found:
        if other is not first:
            first.calls += other.calls
            first.frames += other.frames
            first.seen += other.seen
            first.console += other.console
            first.n_snapshots += other.n_snapshots
    first.calls.sort(key=lambda call: call.start)
    first.frames.sort(key=lambda frame: frame.at)
    first.seen.sort(key=lambda seen: seen.at)
    return first


def _places(tree: Tree, bounds: Bounds) -> tuple[list[Place], list[Problem]]:
    """Where traces lie, in the order of names, and zips that cannot be looked into."""
    folders = {
        name.rpartition("/")[0]
        for name in tree.names
        if name.endswith(TRACE) and _begins_like_trace(tree, name)
    }
    places = [Place(folder, is_zip=False) for folder in folders]
    unopened = []
    for name in tree.names:
        if not name.lower().endswith(".zip") or _is_part(tree, name) or not holds_zip(tree, name):
            continue
        try:
            inner = open_inner(tree, name, bounds)
        except (BoundError, TreeError) as error:
            unopened.append(Problem(tree.label, name, "archive", str(error)))
            continue
        if any(n.endswith(TRACE) and _begins_like_trace(inner, n) for n in inner.names):
            places.append(Place(name, is_zip=True))
    return sorted(places, key=lambda place: place.path), unopened


def _is_part(tree: Tree, name: str) -> bool:
    """Whether the trace belongs to a run of another format: it is kept with that one."""
    folder, _, last = name.rpartition("/")
    above = f"{folder.rpartition('/')[0]}/".lstrip("/")
    rendered = f"{above}render_{last.removesuffix('.zip')}.html"
    beside = (f"{folder}/{each}".lstrip("/") for each in _BESIDE)
    return (folder.endswith("traces") and rendered in tree) or any(each in tree for each in beside)


def _of_folder(tree: Tree, folder: str) -> dict[str, str]:
    """Path inside the trace -> name in the tree."""
    prefix = f"{folder}/" if folder else ""
    inside = {name.removeprefix(prefix): name for name in tree.names if name.startswith(prefix)}
    return {path: name for path, name in inside.items() if _OF_TRACE.match(path)}


def _begins_like_trace(tree: Tree, name: str) -> bool:
    try:
        with tree.open(name) as stream:
            line = stream.read(_HEAD_BYTES).split(b"\n", 1)[0]
        head = json.loads(line)
    except (TreeError, ValueError, RecursionError, *READ_ERRORS):
        return False
    return isinstance(head, dict) and head.get("type") == "context-options"
