"""Playwright traces in place of HARs, or beside them: what was done, and its requests."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from webagent.trajectory.assembling import UnreadableError
from webagent.trajectory.bounds import BoundError
from webagent.trajectory.nested import open_inner
from webagent.trajectory.playwright.calls import learn_passwords
from webagent.trajectory.playwright.places import events_of, lines_of
from webagent.trajectory.playwright.steps import Steps
from webagent.trajectory.records import StepRecord
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError
from webagent.trajectory.untyped import mapping
from webagent.trajectory.webarena_verified.har import Request, requests_of
from webagent.trajectory.webarena_verified.steps import network_events

_NETWORK = ".network"


def read_trace(
    tree: Tree, files: RunFiles, path: str, run_id: str
) -> tuple[list[StepRecord], list[Request]] | None:
    """Steps and requests of the zipped trace under a path; None, with a note, if it is none."""
    try:
        inner = open_inner(tree, files.files[path], files.bounds)
        own = files.inside(inner)
        trace = events_of(inner, own, path)
    except (BoundError, TreeError, UnreadableError) as error:
        files.note("trace", path, str(error))
        return None
    learn_passwords(own, trace.calls)
    steps = list(Steps(own, trace, run_id).records())
    return steps, requests_of({"log": {"entries": list(_snapshots(inner, own))}})


def with_requests(
    files: RunFiles, steps: Sequence[StepRecord], requests: Sequence[Request]
) -> Iterator[StepRecord]:
    """The steps, each with the requests that were sent after it began."""
    starts = [step.started_at for step in steps if step.started_at]
    timed = len(starts) == len(steps)
    sent: list[list[Request]] = [[] for _ in steps]
    for request in requests:
        place = bisect_right(starts, request.at) - 1 if timed and request.at else -1
        # Without a time, or before anything was done: nothing better is known.
        sent[max(place, 0)].append(request)
    for index, step in enumerate(steps):
        found = network_events(files, sent[index], f"step {index}")
        yield step.model_copy(update={"events": (*step.events, *found)}) if found else step


def _snapshots(tree: Tree, files: RunFiles) -> Iterator[dict[str, Any]]:
    """The entries of a trace's network files, which are those of a HAR."""
    for name in tree.names:
        if not name.endswith(_NETWORK):
            continue
        try:
            with tree.open(name) as stream:
                for line in lines_of(files, stream):
                    yield _snapshot(line)
        except (BoundError, TreeError, *READ_ERRORS) as error:
            files.note("network", name, str(error))


def _snapshot(line: bytes) -> dict[str, Any]:
    try:
        value = mapping(json.loads(line))
    except (ValueError, RecursionError):
        return {}
    return mapping(value.get("snapshot")) if value.get("type") == "resource-snapshot" else {}
