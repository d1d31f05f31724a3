"""A network trace as steps: loads of pages out of a HAR, or calls of a Playwright trace."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from webagent.trajectory.files.assembling import URL_CHARS, RunFiles
from webagent.trajectory.files.lines import json_values
from webagent.trajectory.files.trees import READ_ERRORS
from webagent.trajectory.formats.playwright.reader import events_of, lines_of
from webagent.trajectory.formats.playwright.steps import Steps, learn_passwords
from webagent.trajectory.intake import InputError
from webagent.trajectory.records import Observation, StepRecord
from webagent.trajectory.values import iso_moment, items, mapping, not_none, number, text, whole

_DOCUMENT = "document"
_HTML = "text/html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    url: str
    status: int | None
    at: datetime | None
    seconds: float | None
    kind: str | None
    """As the browser names it: document, script, xhr; None if the writer trimmed it away."""
    is_page: bool


@dataclass(slots=True, kw_only=True)
class Load:
    """A page that was asked for. The first may be None: requests before any page."""

    page: Request | None
    title: str | None = None
    requests: list[Request] = field(default_factory=list)


def requests_of(har: dict[str, Any]) -> list[Request]:
    """Every request in the HAR, in order of time."""
    entries = (mapping(entry) for entry in items(mapping(har.get("log")).get("entries")))
    found = [request for entry in entries if (request := _request(entry))]
    # Stable: what bears no time keeps its place behind what came before it.
    last = datetime.min.replace(tzinfo=UTC)
    keys = []
    for request in found:
        last = request.at or last
        keys.append(last)
    return [request for _, request in sorted(zip(keys, found, strict=True), key=lambda p: p[0])]


def page_loads(requests: Iterable[Request], titles: dict[str, str]) -> list[Load]:
    """The requests grouped under the page that was loaded before them.

    Args:
        titles: of the pages that the HAR lists, by URL.
    """
    loads: list[Load] = []
    for request in requests:
        if request.is_page:
            loads.append(Load(page=request, title=titles.get(request.url)))
        else:
            if not loads:
                loads.append(Load(page=None))
            loads[-1].requests.append(request)
    return loads


def titles_of(har: dict[str, Any]) -> dict[str, str]:
    """Titles by URL: a HAR tells the title that a tab had in the end, so of its last page."""
    last: dict[str, str] = {}
    for entry in map(mapping, items(mapping(har.get("log")).get("entries"))):
        if entry.get("_resourceType") == "document" and (tab := text(entry.get("pageref"))):
            last[tab] = text(mapping(entry.get("request")).get("url")) or ""
    pages = map(mapping, items(mapping(har.get("log")).get("pages")))
    titles = {last.get(str(page.get("id"))): text(page.get("title")) for page in pages}
    return {url: title for url, title in titles.items() if url and title}


def _request(entry: dict[str, Any]) -> Request | None:
    request, response = mapping(entry.get("request")), mapping(entry.get("response"))
    url = text(request.get("url"))
    if url is None:
        return None
    kind = text(entry.get("_resourceType"))
    status = whole(response.get("status"))
    took = number(entry.get("time"))
    return Request(
        method=text(request.get("method")) or "GET",
        url=url,
        status=status if status is not None and status > 0 else None,
        at=iso_moment(entry.get("startedDateTime")),
        seconds=took / 1000 if took is not None and took >= 0 else None,
        kind=kind,
        is_page=kind == _DOCUMENT if kind else _looks_like_page(request, response),
    )


def _looks_like_page(request: dict[str, Any], response: dict[str, Any]) -> bool:
    """For HARs whose resource types were trimmed away: HTML that a navigation asked for."""
    sent = {
        str(mapping(header).get("name")).lower(): str(mapping(header).get("value"))
        for header in items(request.get("headers"))
    }
    if "sec-fetch-dest" in sent:
        return sent["sec-fetch-dest"] == _DOCUMENT
    if sent.get("x-requested-with"):
        return False
    kind = text(mapping(response.get("content")).get("mimeType")) or ""
    return kind.startswith(_HTML) and _HTML in sent.get("accept", _HTML)


_MOST_REQUESTS = 2_000


def step_records(files: RunFiles, loads: list[Load]) -> Iterator[StepRecord]:
    """Each load of a page as a step without an action: what was done is not in the file."""
    for index, load in enumerate(loads):
        files.check_steps(index + 1, "entries", "pages")
        page = load.page
        shown = [page, *load.requests] if page else load.requests
        times = [request.at for request in shown if request.at]
        yield StepRecord(
            run_id=files.run_id,
            index=index,
            before=Observation(
                at=page.at,
                url=files.clean(page.url, URL_CHARS),
                title=files.clean(load.title, URL_CHARS),
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
    event = {
        "type": "network",
        "method": request.method[:40],
        "url": files.clean(request.url, URL_CHARS),
        "status": request.status,
        "at": request.at.isoformat() if request.at else None,
        "seconds": request.seconds,
        "kind": request.kind[:40] if request.kind else None,
    }
    return not_none(event)


_NETWORK = ".network"


def read_trace(files: RunFiles, path: str) -> tuple[tuple[StepRecord, ...], list[Request]] | None:
    """Steps and requests of the zipped trace under a path; None, with a note, if it is none."""
    try:
        own = files.inside(files.files[path])
        trace = events_of(own, path)
    except InputError as error:
        files.note("trace", path, str(error))
        return None
    learn_passwords(own, trace.calls)
    steps = Steps(own, trace).records()
    return steps, requests_of({"log": {"entries": list(_snapshots(own))}})


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


def _snapshots(files: RunFiles) -> Iterator[dict[str, Any]]:
    """The entries of a trace's network files, which are those of a HAR."""
    for name in files.tree.names:
        if not name.endswith(_NETWORK):
            continue
        try:
            with files.tree.open(name) as stream:
                for value in map(mapping, json_values(lines_of(files, stream))):
                    if value.get("type") == "resource-snapshot":
                        yield mapping(value.get("snapshot"))
        except READ_ERRORS as error:
            files.note("network", name, str(error))
