"""Read Playwright traces, one run per trace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from webagent.trajectory.assembling import (
    clean,
    clean_name,
    experiment_above,
    last_url,
    seconds_between,
    source_record,
    task_record,
)
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import CUT_SHORT, InputError, Problem, RunBundle
from webagent.trajectory.opening import open_inner
from webagent.trajectory.playwright.events import TraceEvents
from webagent.trajectory.playwright.places import Place, events_of, files_of, find_places, kept_tree
from webagent.trajectory.playwright.steps import Steps, learn_passwords
from webagent.trajectory.recognition import PlacesReader, RunPlace
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EnvironmentRecord,
    RunRecord,
    StepRecord,
    TaskRecord,
    Totals,
)
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.trees import Tree, TreeError, given_name
from webagent.trajectory.values import mapping, moment, text, whole

FORMAT = "playwright_trace"


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace | Problem]:
    places, unopened = find_places(tree, bounds)
    yield from unopened
    for place in places:
        inside = {} if place.is_zip else files_of(tree, place.path)
        yield RunPlace(
            path=place.path,
            files=inside,
            own=[place.path] if place.is_zip else inside.values(),
            file=place.path or given_name(tree),
            read=partial(_bundle, tree, place),
        )


PLAYWRIGHT = PlacesReader(FORMAT, "a trace.zip with .trace files (Playwright)", _places)


def _bundle(tree: Tree, place: Place, files: RunFiles) -> RunBundle:
    path, shown = place.path, place.path or given_name(tree)
    if place.is_zip:
        try:
            tree = open_inner(tree, path, files.bounds)
        except (BoundError, TreeError) as error:
            raise InputError("", str(error), file=path) from error
        files = files.inside(tree)
    trace = events_of(tree, files, shown)
    if trace.is_cut:
        raise InputError("trace", CUT_SHORT, file=shown)
    learn_passwords(files, trace.calls)
    run_id = bounded_name(shown)
    title = text(trace.context.get("title"))
    name = clean_name(files, title) or bounded_name(shown.rpartition("/")[2].removesuffix(".zip"))
    task = task_record(FORMAT, name, id=bounded_name(f"{FORMAT}:{name}"))
    steps = tuple(Steps(files, trace, run_id).records())
    files.note("goal", "trace", "a trace does not say what was to be done")
    kept = kept_tree(tree, files, f"{name}.zip")
    return files.bundle(
        task=task,
        run=_run(files, trace, task, run_id, steps, path, kept),
        steps=steps,
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
    return RunRecord(
        id=run_id,
        task_id=task.id,
        agent=AgentRecord(name="playwright", version=bounded_name(version) if version else None),
        experiment=experiment_above(path),
        started_at=started,
        ended_at=ended,
        final_url=last_url(steps),
        totals=Totals(seconds=seconds_between(started, ended)),
        environment=EnvironmentRecord(
            viewport_width=whole(viewport.get("width")),
            viewport_height=whole(viewport.get("height")),
            browser=bounded_name(text(context.get("browserName")) or "") or None,
        ),
        logs=(console,) if trace.console else (),
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
