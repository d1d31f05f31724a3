"""Loads of pages as steps: what was done on them is not in the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webagent.trajectory.assembling import URL_CHARS, UnreadableError, clean
from webagent.trajectory.records import Observation, StepRecord
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.webarena_verified.har import Load, Request

_MOST_REQUESTS = 2_000


def step_records(files: RunFiles, loads: list[Load], run_id: str) -> Iterator[StepRecord]:
    """Each load of a page as a step without an action: what was done is not in the file."""
    for index, load in enumerate(loads):
        if index >= files.bounds.steps_per_run:
            raise UnreadableError("", "entries", f"more than {files.bounds.steps_per_run} pages")
        page = load.page
        shown = [page, *load.requests] if page else load.requests
        times = [request.at for request in shown if request.at]
        yield StepRecord(
            run_id=run_id,
            index=index,
            before=Observation(
                at=page.at,
                url=clean(files, page.url, URL_CHARS),
                title=clean(files, load.title, URL_CHARS),
            )
            if page
            else None,
            events=network_events(files, shown, f"page {index}"),
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
        )


def network_events(
    files: RunFiles, requests: Sequence[Request], where: str
) -> tuple[dict[str, Any], ...]:
    """Requests as a step's events; so many that nobody reads them are cut, with a note."""
    if len(requests) > _MOST_REQUESTS:
        files.note("network", where, f"{len(requests)} requests, {_MOST_REQUESTS} shown")
    return tuple(_event(files, request) for request in requests[:_MOST_REQUESTS])


def _event(files: RunFiles, request: Request) -> dict[str, Any]:
    found = {
        "type": "network",
        "method": request.method[:40],
        "url": clean(files, request.url, URL_CHARS),
        "status": request.status,
        "at": request.at.isoformat() if request.at else None,
        "seconds": request.seconds,
        "kind": request.kind[:40] if request.kind else None,
    }
    return {key: value for key, value in found.items() if value is not None}
