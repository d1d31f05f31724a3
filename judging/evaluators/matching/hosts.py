"""Which URLs name one and the same site, and when two URLs are equal."""

from collections.abc import Mapping
from urllib.parse import urlsplit

HostAliases = tuple[tuple[str, ...], ...]
"""Groups of base URLs that name one site each, the deployment's own first."""

DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ANNOTATORS_HOST = "metis.lti.cs.cmu.edu"
"""Where the annotators' own instance ran; no other deployment can show this name."""

PUBLIC_NAMES: Mapping[str, tuple[str, ...]] = {
    "shopping": ("http://onestopmarket.com", "http://www.onestopmarket.com"),
    "shopping_admin": ("http://luma.com/admin", "http://www.luma.com/admin"),
    "reddit": ("http://reddit.com", "http://www.reddit.com"),
    "gitlab": ("http://gitlab.com", "http://www.gitlab.com"),
    "map": ("http://openstreetmap.org", "http://www.openstreetmap.org"),
    "wikipedia": ("http://wikipedia.org", "http://www.wikipedia.org", "http://en.wikipedia.org"),
    "homepage": ("http://homepage.com", "http://www.homepage.com"),
}
"""The names that the published prompts put in place of a deployment's own hosts."""

_USUAL_PORTS = {
    "shopping": ":7770",
    "shopping_admin": ":7780/admin",
    "reddit": ":9999",
    "gitlab": ":8023",
    "map": ":3000",
    "wikipedia": ":8888",
    "homepage": ":4399",
}


def site_aliases(hosts: Mapping[str, str]) -> HostAliases:
    """Groups of names for a deployment, given its base URL per site ("reddit": "http://h:9999").

    Each group holds the deployment's own URL, the annotators' instance and the public names.
    """
    return tuple(
        (
            base.rstrip("/"),
            *((f"http://{ANNOTATORS_HOST}{_USUAL_PORTS[site]}",) if site in _USUAL_PORTS else ()),
            *PUBLIC_NAMES.get(site, ()),
        )
        for site, base in hosts.items()
    )


USUAL_ALIASES = site_aliases(
    {site: f"http://localhost{port}" for site, port in _USUAL_PORTS.items()}
)
"""The groups of a deployment on this machine with the usual ports."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})  # noqa: S104 (a name to compare)


def loopback(netloc: str) -> str:
    """The netloc with any name of this machine replaced by localhost."""
    host, _, port = netloc.rpartition(":")
    if not host or "]" in port:
        host, port = netloc, ""
    if host in _LOOPBACK:
        host = "localhost"
    return f"{host}:{port}" if port else host


def canonical_url(url: str, aliases: HostAliases) -> tuple[str, str, str]:
    """Host, path and query of a URL with every name of a site replaced by its first one.

    The scheme may be missing and is dropped; so are user names, default ports, the final slash
    and the fragment. The host is in lower case.

    Raises:
        ValueError: it is no URL.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    netloc = loopback(parts.netloc.rpartition("@")[2].lower())
    netloc = netloc.removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
    path = parts.path.rstrip("/")
    for group in aliases:
        for name in group:
            base = urlsplit(name)
            root = base.path.rstrip("/")
            if loopback(base.netloc.lower()) == netloc and (
                path == root or path.startswith(f"{root}/")
            ):
                own = urlsplit(group[0])
                tail = path[len(root) :]
                return loopback(own.netloc.lower()), own.path.rstrip("/") + tail, parts.query
    return netloc, path, parts.query


def is_stand_in(netloc: str) -> bool:
    """Whether a host is only a name that stands for a deployment's: public or the annotators'.

    Public names are of real sites, where no run of a deployment can end.
    """
    public = {urlsplit(name).netloc for names in PUBLIC_NAMES.values() for name in names}
    return netloc.partition(":")[0] == ANNOTATORS_HOST or netloc in public
