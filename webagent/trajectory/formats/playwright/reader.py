"""Read Playwright traces, one run per trace: where they lie, and what is kept of them."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from webagent.trajectory.bundles import RunBundle, task_record
from webagent.trajectory.files.assembling import RunFiles, experiment_above, seconds_between
from webagent.trajectory.files.lines import BROKEN, bounded_lines, json_values
from webagent.trajectory.files.opening import holds_zip, open_inner
from webagent.trajectory.files.recognition import PlacesReader, RunPlace
from webagent.trajectory.files.trees import (
    READ_ERRORS,
    Tree,
    TreeError,
    given_name,
    head_of,
    read_file,
)
from webagent.trajectory.formats.playwright.events import TraceEvents, read_events
from webagent.trajectory.formats.playwright.steps import Steps, learn_passwords
from webagent.trajectory.formats.webarena_verified.folders import find_task_folders
from webagent.trajectory.intake import CUT_SHORT, NO_NUMBER, BoundError, Bounds, InputError, Problem
from webagent.trajectory.records import AgentRecord, BlobRecord, EnvironmentRecord, Totals
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import mapping, moment, text, whole

TRACE = ".trace"
TEST_TRACE = "test.trace"
"""What the test runner itself did: its calls stand in the other traces too."""

_HEAD_BYTES = 1 << 16
_OF_TRACE = re.compile(r"^(?:[^/]+\.(?:trace|network|stacks)|(?:resources|screencast)/.+)$")


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace | Problem]:
    """Zips that cannot be opened, then the traces in the order of names."""
    folders = {
        name.rpartition("/")[0]
        for name in tree.names
        if name.endswith(TRACE) and _begins_like_trace(tree, name)
    }
    traces = dict.fromkeys(folders, False)
    zips = [name for name in tree.names if name.lower().endswith(".zip")]
    of_tasks = frozenset(folder.path for folder in find_task_folders(tree)) if zips else frozenset()
    for name in zips:
        if _is_part(tree, name, of_tasks) or not holds_zip(tree, name):
            continue
        try:
            inner = open_inner(tree, name, bounds)
        except InputError as error:
            yield Problem(tree.label, name, "archive", str(error))
            continue
        if any(n.endswith(TRACE) and _begins_like_trace(inner, n) for n in inner.names):
            traces[name] = True
    for path, is_zip in sorted(traces.items()):
        inside = {} if is_zip else files_of(tree, path)
        yield RunPlace(
            path=path,
            files=inside,
            own=[path] if is_zip else inside.values(),
            file=path or given_name(tree),
            read=partial(_bundle, path, is_zip=is_zip),
        )


def _is_part(tree: Tree, name: str, of_tasks: frozenset[str]) -> bool:
    """Whether the trace belongs to a run of another format: it is kept with that one.

    Args:
        of_tasks: folders with the output of WebArena-Verified's tasks.
    """
    folder, _, last = name.rpartition("/")
    above = f"{folder.rpartition('/')[0]}/".lstrip("/")
    rendered = f"{above}render_{last.removesuffix('.zip')}.html"
    return (folder.endswith("traces") and rendered in tree) or folder in of_tasks


def files_of(tree: Tree, folder: str) -> dict[str, str]:
    """Path inside the trace -> name in the tree."""
    prefix = f"{folder}/" if folder else ""
    inside = {name.removeprefix(prefix): name for name in tree.names if name.startswith(prefix)}
    return {path: name for path, name in inside.items() if _OF_TRACE.match(path)}


def _begins_like_trace(tree: Tree, name: str) -> bool:
    try:
        head = json.loads(head_of(tree, name, _HEAD_BYTES).split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("type") == "context-options"


def events_of(files: RunFiles, shown: str) -> TraceEvents:
    """The events of all traces of one zip, the one with most calls in front."""
    names = [name for name in files.files if name.endswith(TRACE)]
    names = [name for name in names if name.rpartition("/")[2] != TEST_TRACE] or names
    found: list[TraceEvents] = []
    for name in names:
        try:
            with files.tree.open(files.files[name]) as stream:
                events = read_events(lines_of(files, stream))
        except READ_ERRORS as error:
            files.inventory.miss("trace", name, str(error))
            continue
        if events.bad_lines:
            files.note("trace", name, f"{events.bad_lines} lines are no JSON, or cut short")
        for place in range(events.bad_numbers):
            files.inventory.miss("value", f"{name}: {place + 1}", NO_NUMBER)
        found.append(events)
    if not found:
        why = (files.inventory.why("trace", name) for name in names)
        reason = next(filter(None, why), "no trace that can be read")
        raise InputError("trace", reason, file=shown)
    return _together(found)


def lines_of(files: RunFiles, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a trace one by one: snapshots make it large.

    Raises:
        BoundError: a line that is too long, or too many of them.
    """
    digest = hashlib.sha256()
    bounds = files.bounds
    for number, line in enumerate(bounded_lines(stream, bounds)):
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
            first.is_cut |= other.is_cut
    first.put_in_order()
    return first


_LINES = (".trace", ".network")
_RESOURCES = ("resources/", "screencast/")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def kept_trace(files: RunFiles, shown: str, *, is_zip: bool) -> BlobRecord | None:
    """A trace as a blob of this name; None, with a note, if it cannot be read.

    Args:
        is_zip: it is the file of that name; else the run's files are the trace.
    """
    try:
        return _kept(files.inside(files.files[shown]) if is_zip else files, shown)
    except (InputError, BoundError, TreeError) as error:
        files.note("trace", shown, str(error))
        return None


def _kept(files: RunFiles, shown: str) -> BlobRecord | None:
    limit, members = files.bounds.blob_bytes, files.files
    if sum(files.tree.size(name) for name in members.values()) > limit:
        files.drop("trace", shown, f"not kept whole: more than {limit} bytes")
        return None
    out = io.BytesIO()
    bodies: set[str] = set()
    with zipfile.ZipFile(out, "w") as archive:
        # Lines first: they tell which resources are bodies of requests.
        for path in sorted(members, key=lambda path: (not path.endswith(_LINES), path)):
            if path in bodies or not path.endswith(_LINES) and not path.startswith(_RESOURCES):
                continue
            content = read_file(files.tree, members[path], limit)
            if path.endswith(_LINES):
                content = _redacted_lines(content, files.redactor, bodies)
            entry = zipfile.ZipInfo(path, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    name = shown[: files.bounds.path_chars]
    return files.made_blob(out.getvalue(), "source", "application/zip", name=name)


def _redacted_lines(content: bytes, redactor: Redactor, bodies: set[str]) -> bytes:
    """Lines of JSON without secrets; one that is none goes: nobody can tell what it holds.

    Names of files that hold bodies of requests are added to `bodies`.
    """
    kept = []
    for value in json_values(content.splitlines()):
        if value is BROKEN:
            continue
        request = mapping(mapping(mapping(value).get("snapshot")).get("request"))
        body = mapping(request.get("postData"))
        bodies |= {name for name in (body.get("_file"), f"resources/{body.get('_sha1')}") if name}
        kept.append(json.dumps(redactor.json(value), ensure_ascii=False, separators=(",", ":")))
    return "\n".join([*kept, ""]).encode("utf-8", "replace")


FORMAT = "playwright_trace"


PLAYWRIGHT = PlacesReader(FORMAT, "trace.zip: *.trace", _places)


def _bundle(path: str, files: RunFiles, *, is_zip: bool) -> RunBundle:
    shown = path or files.given_name
    files = files.inside(path) if is_zip else files
    trace = events_of(files, shown)
    if trace.is_cut:
        raise InputError("trace", CUT_SHORT, file=shown)
    learn_passwords(files, trace.calls)
    files.run_id = bounded_name(shown)
    title, context = text(trace.context.get("title")), trace.context
    name = files.clean_name(title) or bounded_name(shown.rpartition("/")[2].removesuffix(".zip"))
    task = task_record(FORMAT, name, id=bounded_name(f"{FORMAT}:{name}"))
    steps = Steps(files, trace).records()
    files.note("goal", "trace", "a trace does not say what was to be done")
    kept = kept_trace(files, f"{name}.zip", is_zip=False)
    viewport = mapping(mapping(context.get("options")).get("viewport"))
    version = text(context.get("playwrightVersion"))
    ends = [call.end for call in trace.calls if call.end is not None]
    started = moment(trace.wall_seconds(trace.calls[0].start)) if trace.calls else None
    ended = moment(trace.wall_seconds(max(ends))) if ends else None
    lines = [line | {"text": files.clean(line["text"])} for line in trace.console]
    console = files.json_blob(lines, "log", "console.json")
    return files.assemble(
        task,
        steps,
        path or files.given_name,
        format_version=str(trace.version),
        tool="playwright",
        tool_version=version,
        originals=(kept,),
        agent=AgentRecord(name="playwright", version=bounded_name(version) if version else None),
        experiment=experiment_above(path),
        started_at=started,
        ended_at=ended,
        totals=Totals(seconds=seconds_between(started, ended)),
        environment=EnvironmentRecord(
            viewport_width=whole(viewport.get("width")),
            viewport_height=whole(viewport.get("height")),
            browser=bounded_name(text(context.get("browserName")) or "") or None,
        ),
        logs=(console,) if trace.console else (),
    )
