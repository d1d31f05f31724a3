"""A HAR as loads of pages, each with the requests that followed it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from webagent.trajectory.assembling import iso_moment
from webagent.trajectory.untyped import items, mapping, number, text, whole

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
