"""Checks of final URLs and of the contents of pages; which URLs name one and the same site."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from judging.evaluators.matching import strict
from judging.evaluators.matching.repaired import quantities as q
from judging.evaluators.matching.repaired.amounts import read_amount
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import fold_plain, lower
from judging.evaluators.matching.specification import ALTERNATIVES
from judging.evaluators.matching.strict import split_url

HostAliases = tuple[tuple[str, ...], ...]
"""Groups of base URLs that name one site each, the deployment's own first."""


def content_passes(
    reference: str, content: str, *, exact: bool, aliases: HostAliases, rules: Rules
) -> bool:
    """Whether a page's text holds (or, exactly, is) one reference without alternatives.

    Words are not bounded here: forms of a word on a page are the same content. Numbers are.
    """
    if exact:
        return strict.exact_match(reference, content) or _equal(reference, content, rules)
    if strict.must_include(reference, content):
        return not _only_in_longer_numbers(reference, content, rules)
    return any(_holds(name, content, rules) for name in _names(reference, aliases, rules))


def _equal(reference: str, content: str, rules: Rules) -> bool:
    wanted, own = (lower(fold_plain(text, rules)) for text in (reference, content))
    if wanted == own:
        return True
    amounts = read_amount(wanted), read_amount(own)
    if amounts[0] and amounts[1] and not amounts[0].is_code and not amounts[1].is_code:
        return amounts[0].equals(amounts[1]) and rules.allow(Rule.NUMBER_FORMAT)
    days = [[d for d in q.days(text) if d.end - d.start == len(text)] for text in (wanted, own)]
    return all(days) and days[0][0].says(days[1][0]) and rules.allow(Rule.DATES)


def _holds(reference: str, content: str, rules: Rules) -> bool:
    wanted, own = (lower(fold_plain(text, rules)) for text in (reference, content))
    return wanted in own and not _only_in_longer_numbers(wanted, own, rules)


def _only_in_longer_numbers(reference: str, content: str, rules: Rules) -> bool:
    cleaned = strict.clean_answer(reference)
    if not cleaned or not (cleaned[0].isdigit() or cleaned[-1].isdigit()):
        return False
    left = r"(?<!\d)(?<!\d[.,])" if cleaned[0].isdigit() else ""
    right = r"(?!\d|[.,]\d)" if cleaned[-1].isdigit() else ""
    found = re.search(left + re.escape(cleaned) + right, lower(content))
    return found is None and rules.allow(Rule.NUMBER_BOUNDARIES)


def _names(reference: str, aliases: HostAliases, rules: Rules) -> list[str]:
    """The reference, and where it begins with a site's URL also with the site's other names."""
    names = [reference]
    for group in aliases or USUAL_ALIASES:
        for name in group:
            if re.match(rf"{re.escape(name)}(?![\w.:-])", reference) and rules.allow(
                Rule.URL_HOSTS
            ):
                names += [other + reference[len(name) :] for other in group if other != name]
    return names


_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ANNOTATORS_HOST = "metis.lti.cs.cmu.edu"
"""Where the annotators' own instance ran; no other deployment can show this name."""

_PUBLIC_NAMES: Mapping[str, tuple[str, ...]] = {
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
            *_PUBLIC_NAMES.get(site, ()),
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
    netloc = netloc.removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))
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
    public = {urlsplit(name).netloc for names in _PUBLIC_NAMES.values() for name in names}
    return netloc.partition(":")[0] == ANNOTATORS_HOST or netloc in public


_DEFAULTS = {"product_list_dir": "asc"}


@dataclass(frozen=True, slots=True)
class _Address:
    host: str
    path: str
    query: dict[str, list[str]]

    @property
    def base(self) -> str:
        return self.host + self.path


def url_passes(reference: str, page: str, aliases: HostAliases, rules: Rules) -> tuple[bool, str]:
    """Whether the page is where the reference says, and if not, why in words.

    Raises:
        ValueError: the page's or a reference's URL is none.
    """
    own = _read(page, rules)
    wanted = [
        _read(_at_home(each, page, aliases, rules), rules) for each in reference.split(ALTERNATIVES)
    ]
    placed = [each for each in wanted if _leads_to(each, own, rules)]
    if not placed:
        return False, "no reference's host and path lead to the page"
    if rules.allow(Rule.URL_ALTERNATIVE_QUERIES):
        lacking: list[list[str]] = [_lacking(each.query, own.query, rules) for each in placed]
    else:
        pooled: defaultdict[str, list[str]] = defaultdict(list)
        for each in wanted:
            for key, values in each.query.items():
                pooled[key] += values
        lacking = [_lacking(pooled, own.query, rules)]
    if all(lacking):
        fewest = min(lacking, key=len)
        return False, f"the query lacks the wanted value of {', '.join(fewest)}"
    return True, ""


def _read(url: str, rules: Rules) -> _Address:
    base, query = split_url(url)
    parts = urlsplit(url.rstrip("/"))
    host = parts.netloc
    path = base[len(host) :] if base.startswith(host) else base
    if rules.allow(Rule.URL_SEGMENTS):
        host = host.rpartition("@")[2]
    if rules.allow(Rule.URL_HOST_CASE):
        host = host.lower()
    if rules.allow(Rule.URL_DEFAULT_PORT):
        host = host.removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))
    if rules.allow(Rule.URL_SLASH_BEFORE_QUERY):
        path = path.rstrip("/")
    if rules.allow(Rule.URL_DOUBLE_SLASHES):
        path = re.sub(r"//+", "/", path)
    if rules.allow(Rule.URL_PERCENT_ENCODING):
        path = "/".join(_decoded(segment) for segment in path.split("/"))
    if rules.allow(Rule.URL_FORUM_CASE):
        path = re.sub(r"(?<=/f/)[^/]+", lambda match: match[0].lower(), path)
    if rules.allow(Rule.URL_QUERY_BLANKS):
        query = {key: [value.strip() for value in values] for key, values in query.items()}
    return _Address(host=host, path=path, query=query)


def _decoded(segment: str) -> str:
    """The segment in plain characters; an encoded slash separates none and stays encoded."""
    return unquote(segment).replace("/", "%2F")


def _at_home(reference: str, page: str, aliases: HostAliases, rules: Rules) -> str:
    """The reference on the page's host, if both hosts are names of one site.

    A page on the real site behind a public name is no page of the deployment.
    """
    own = urlsplit(page)
    if is_stand_in(own.netloc.lower()) or not urlsplit(reference).netloc:
        return reference
    known = aliases or USUAL_ALIASES
    try:
        host, path, _ = canonical_url(page, known)
        wanted_host, wanted_path, _ = canonical_url(reference, known)
    except ValueError:  # a page without a scheme that is no host either
        return reference
    moved = host == wanted_host and _plain_host(page) != _plain_host(reference)
    if not moved or not rules.allow(Rule.URL_HOSTS):
        return reference
    prefix = len(path) - len(own.path.rstrip("/"))
    local = wanted_path[prefix:] if prefix >= 0 else wanted_path
    slash = "/" if urlsplit(reference).path.endswith("/") else ""
    return (
        urlsplit(reference)
        ._replace(scheme=own.scheme, netloc=own.netloc, path=local + slash)
        .geturl()
    )


def _plain_host(url: str) -> str:
    """The host without what other rules look after: user name, case, default port."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return host.removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))


def _leads_to(reference: _Address, page: _Address, rules: Rules) -> bool:
    if not reference.host or not rules.allow(Rule.URL_SEGMENTS):
        return reference.base in page.base
    if reference.host != page.host:
        return False
    below = reference.path if reference.path.endswith("/") else f"{reference.path}/"
    return page.path == reference.path or page.path.startswith(below)


def _lacking(wanted: dict[str, list[str]], own: dict[str, list[str]], rules: Rules) -> list[str]:
    return [
        key
        for key, values in wanted.items()
        if not set(values) & set(own.get(key, ()))
        and not (
            key not in own
            and _DEFAULTS.get(key) in values
            and rules.allow(Rule.URL_DEFAULT_PARAMETERS)
        )
    ]
