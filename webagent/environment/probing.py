"""Ask a benchmark's sites whether they are ready: not only that they answer, but what.

A server that says 200 may still show its installer, and a map without routes or tiles fails
tasks through no fault of the agent. So every kind of site has probes of its own. Asked are only
the addresses that were configured: a redirect elsewhere is followed nowhere and told, because a
site that sends its visitors away is not set up.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import urljoin, urlsplit

import httpx2

TIMEOUT_S = 10.0
MAX_REDIRECTS = 5
MAX_BYTES = 2**20
AT_ONCE = 8

# Two places in the extract of the north-eastern United States that the benchmark's map holds.
PITTSBURGH = (40.4406, -79.9959)
CARNEGIE_MELLON = (40.4433, -79.9436)
ZOOM = 12
WIKIPEDIA_BOOK = "wikipedia_en_all_maxi_2022-05"


class Aspect(StrEnum):
    """What of a site is looked at."""

    STATUS = "status"
    LOGIN = "login"
    SEARCH = "search"
    ROUTING = "routing"
    TILES = "tiles"


Check = Callable[[bytes], str | None]
"""What is wrong with the content of an answer of status 200; None if nothing is."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a site; `why` says what is wrong, empty where nothing is.

    `part` tells apart what there are several of: the map's routers.
    """

    aspect: Aspect
    url: str
    why: str
    seconds: float
    status: int | None = None
    part: str = ""

    @property
    def is_well(self) -> bool:
        return not self.why

    @property
    def name(self) -> str:
        return f"{self.aspect} ({self.part})" if self.part else str(self.aspect)


@dataclass(frozen=True, slots=True)
class SiteState:
    """How a site was when it was asked."""

    site: str
    url: str
    at: datetime
    probes: tuple[Probe, ...]

    @property
    def is_ready(self) -> bool:
        return all(probe.is_well for probe in self.probes)

    @property
    def why(self) -> str:
        """What is wrong, in one line; empty where nothing is."""
        return "; ".join(f"{probe.name}: {probe.why}" for probe in self.probes if probe.why)


@dataclass(frozen=True, slots=True)
class _Question:
    aspect: Aspect
    url: str
    check: Check
    part: str = ""


def probe_sites(
    hosts: Mapping[str, str],
    backends: Mapping[str, str] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> list[SiteState]:
    """The state of every site, in the order given; all are asked at the same time.

    Args:
        hosts: base URL by site, as `SITE_HOSTS` names them.
        backends: base URL by part of what stands behind the map: `tiles`, `search` (Nominatim),
            and OSRM's `car`, `bike` and `foot`.
    """
    questions = {site: list(_questions(site, url, backends or {})) for site, url in hosts.items()}
    with (
        # Neither proxies nor credentials of this machine have a part in it.
        httpx2.Client(timeout=timeout_s, follow_redirects=False, trust_env=False) as client,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        asked = {
            site: [pool.submit(_ask, client, question, timeout_s) for question in its]
            for site, its in questions.items()
        }
        return [
            SiteState(site, url, datetime.now(UTC), tuple(one.result() for one in asked[site]))
            for site, url in hosts.items()
        ]


def _questions(site: str, base: str, backends: Mapping[str, str]) -> Iterator[_Question]:
    base = base.rstrip("/")
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(base))
    lives = _is_awake if site == "servicenow" else _anything
    yield _Question(Aspect.STATUS, f"{base}/" if base == origin else base, lives)
    match site:
        case "shopping":
            form = _contains('name="login[username]"')
            yield _Question(Aspect.LOGIN, f"{base}/customer/account/login/", form)
            found = _contains("search results")
            yield _Question(Aspect.SEARCH, f"{base}/catalogsearch/result/?q=shirt", found)
        case "shopping_admin":
            yield _Question(Aspect.LOGIN, base, _contains('name="login[username]"'))
        case "reddit":
            yield _Question(Aspect.LOGIN, f"{base}/login", _contains('name="_username"'))
            yield _Question(Aspect.SEARCH, f"{base}/search?q=book", _anything)
        case "gitlab":
            yield _Question(Aspect.LOGIN, f"{base}/users/sign_in", _contains('name="user[login]"'))
            yield _Question(Aspect.SEARCH, f"{base}/explore/projects?name=a", _anything)
        case "classifieds":
            login = f"{base}/index.php?page=login"
            yield _Question(Aspect.LOGIN, login, _contains('id="email"'))
            search = f"{base}/index.php?page=search&sPattern=bike"
            yield _Question(Aspect.SEARCH, search, _anything)
        case "servicenow":
            yield _Question(Aspect.LOGIN, f"{base}/login.do", _contains("user_password"))
        case "wikipedia":
            query = f"search?pattern=Pittsburgh&content={WIKIPEDIA_BOOK}"
            yield _Question(Aspect.SEARCH, f"{origin}/{query}", _found_a_page)
        case "map":
            yield _Question(Aspect.LOGIN, f"{base}/login", _contains("username"))
            yield from _map_questions(backends)
        case _:
            return


def _map_questions(backends: Mapping[str, str]) -> Iterator[_Question]:
    if url := backends.get("search"):
        yield _Question(Aspect.SEARCH, f"{url}/search?q=Pittsburgh&format=json", _found_a_place)
    ends = ";".join(f"{lon},{lat}" for lat, lon in (PITTSBURGH, CARNEGIE_MELLON))
    for name, profile in (("car", "driving"), ("bike", "cycling"), ("foot", "walking")):
        if url := backends.get(name):
            way = f"{url}/route/v1/{profile}/{ends}?overview=false"
            yield _Question(Aspect.ROUTING, way, _found_a_way, name)
    if url := backends.get("tiles"):
        x, y = tile_of(*PITTSBURGH, ZOOM)
        yield _Question(Aspect.TILES, f"{url}/tile/{ZOOM}/{x}/{y}.png", _is_picture)


def tile_of(latitude: float, longitude: float, zoom: int) -> tuple[int, int]:
    """Column and row of the map tile that shows the place (Web Mercator, degrees)."""
    tiles = 2**zoom
    x = (longitude + 180) / 360 * tiles
    y = (1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2 * tiles
    return int(x), int(y)


def _ask(client: httpx2.Client, question: _Question, timeout_s: float) -> Probe:
    started = time.monotonic()
    status: int | None = None
    try:
        status, content = _answer(client, question.url, started + timeout_s)
        why = f"HTTP {status}" if status != 200 else question.check(content) or ""
    except _Elsewhere as elsewhere:
        why = f"sends to another address: {elsewhere}"
    except httpx2.TimeoutException:
        why = f"no answer within {timeout_s:g} s"
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = f"cannot be reached: {error}" if str(error) else "cannot be reached"
    seconds = round(time.monotonic() - started, 3)
    return Probe(question.aspect, question.url, why, seconds, status, question.part)


class _Elsewhere(Exception):
    """A redirect to where nobody said that we may ask."""


def _answer(client: httpx2.Client, url: str, deadline: float) -> tuple[int, bytes]:
    """Status after redirects on the same host and port, and the first part of the content."""
    for _ in range(MAX_REDIRECTS + 1):
        with client.stream("GET", url) as response:
            to = response.headers.get("location")
            if not (response.is_redirect and to):
                return response.status_code, _beginning(response, deadline)
        target = urljoin(url, to)
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            raise _Elsewhere(target[:200])
        url = target
    raise _Elsewhere(f"{url[:200]}, again and again")


def _beginning(response: httpx2.Response, deadline: float) -> bytes:
    content = b""
    for part in response.iter_bytes():
        content += part
        if time.monotonic() > deadline:  # each part may come in time, and all together never
            raise httpx2.ReadTimeout("the content does not end")
        if len(content) >= MAX_BYTES:
            break
    return content


def _anything(content: bytes) -> str | None:
    return None if content else "the page is empty"


def _is_awake(content: bytes) -> str | None:
    """ServiceNow's developer instances sleep, and then answer 200 with a page that says so."""
    if b"hibernating" in content.lower():
        return "the instance is hibernating; open it in a browser to wake it up"
    return _anything(content)


def _contains(text: str) -> Check:
    def check(content: bytes) -> str | None:
        is_there = text.lower() in content.decode("utf-8", "replace").lower()
        return None if is_there else f"{text} is not on the page"

    return check


def _found_a_page(content: bytes) -> str | None:
    """Kiwix cites each page that it found; what was asked for stands on an empty answer too."""
    return None if b"<cite>" in content else "no page was found"


def _found_a_place(content: bytes) -> str | None:
    places = _json(content)
    return None if isinstance(places, Sequence) and places else "no place was found"


def _found_a_way(content: bytes) -> str | None:
    way = _json(content)
    found = isinstance(way, Mapping) and way.get("code") == "Ok" and way.get("routes")
    return None if found else "no way was found"


def _is_picture(content: bytes) -> str | None:
    return None if content.startswith(b"\x89PNG\r\n\x1a\n") else "the tile is no PNG"


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None
