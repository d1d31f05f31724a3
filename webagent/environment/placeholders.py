"""Site placeholders: tasks name sites as `__REDDIT__`, a deployment says where they are.

Stored tasks keep their placeholders; whoever compares, shows or opens what a task says resolves
them here. Pure: knows neither Django nor the database.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from webagent.trajectory.values import every

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")
"""Sites that a placeholder can name, as WebArena names them in `sites`."""

MAP_PARTS = ("tiles", "search", "car", "bike", "foot")
"""What the map asks behind its pages: tile server, Nominatim, and OSRM for each way to travel."""

_PLACEHOLDER = re.compile(r"__([A-Z][A-Z0-9_]*?)(_HOST)?__")
"""Of any site: benchmarks add their own (`__CLASSIFIEDS__`)."""


def resolve_text(text: str, hosts: Mapping[str, str]) -> str:
    """The text with every placeholder of a site that is given replaced; others stay as they are.

    `__REDDIT__` becomes the site's base URL without a final slash, `__REDDIT_HOST__` its host
    name alone, without scheme and port, for addresses of other schemes (`ssh://git@…:2222`).

    Args:
        hosts: base URL by site, such as `{"reddit": "http://localhost:9999"}`.
    """

    def replaced(found: re.Match[str]) -> str:
        base = hosts.get(found[1].lower())
        if base is None:
            return found[0]
        if found[2]:
            return urlsplit(base).hostname or base
        return base.rstrip("/")

    return _PLACEHOLDER.sub(replaced, text)


def resolve(value: Any, hosts: Mapping[str, str]) -> Any:
    """The same for every string inside a JSON value; keys stay as they are."""
    if isinstance(value, str):
        return resolve_text(value, hosts)
    if isinstance(value, list | tuple):
        return [resolve(item, hosts) for item in value]
    if isinstance(value, Mapping):
        return {key: resolve(item, hosts) for key, item in value.items()}
    return value


def placeholders(value: Any) -> list[str]:
    """Placeholders inside a JSON value, each once, in the order in which they come."""
    texts = (each for each in every(value) if isinstance(each, str))
    return list(dict.fromkeys(found[0] for text in texts for found in _PLACEHOLDER.finditer(text)))


def sites_named(value: Any) -> list[str]:
    """Known sites whose placeholders stand in a JSON value, each once."""
    names = (_PLACEHOLDER.fullmatch(word) for word in placeholders(value))
    found = dict.fromkeys(name[1].lower() for name in names if name)
    return [site for site in found if site in SITES]


def parse_hosts(text: str) -> dict[str, str]:
    """Base URL by site from `shopping=http://h:7770,reddit=http://h:9999`.

    Raises:
        ValueError: a part is not of this form, or a site is named twice.
    """
    hosts: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        site, equals, url = (word.strip() for word in part.partition("="))
        if not equals or not site or not url:
            raise ValueError(f"{part!r} is not of the form site=http://host:port")
        if site in hosts:
            raise ValueError(f"{site} is named twice")
        hosts[site] = url
    return hosts


def checked_hosts(hosts: Mapping[str, str], names: tuple[str, ...] = SITES) -> dict[str, str]:
    """The hosts with names in lower case and URLs without a final slash.

    Raises:
        ValueError: a name that is none of `names`, or a URL that is no base of a site.
    """
    checked = {}
    for name, url in hosts.items():
        site = name.lower()
        if site not in names:
            raise ValueError(f"{name!r} is no site that is known; they are {', '.join(names)}")
        if problem := _problem_of_base(url):
            raise ValueError(f"{site}: {url!r} {problem}")
        checked[site] = url.rstrip("/")
    return checked


def _problem_of_base(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"is no URL ({error})"
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", url):
        return "is no URL that begins with http:// or https:// and names a host"
    if parts.query or parts.fragment or parts.username:
        return "must be a base URL, without user name, query and fragment"
    return None
