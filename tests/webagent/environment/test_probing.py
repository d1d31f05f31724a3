"""The probes ask real servers: what is ready, what is not and why."""

import threading
import time
from collections.abc import Iterator

import pytest

from tests.webagent.moody_site import MoodySite
from tests.webagent.sites import Sites
from webagent.environment.probing import SiteState, probe_sites, tile_of

pytestmark = pytest.mark.slow


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running


def states(sites: Sites) -> dict[str, SiteState]:
    return {state.site: state for state in probe_sites(sites.hosts, sites.backends, timeout_s=2)}


def test_sites_that_are_as_they_should_be_are_ready(sites: Sites) -> None:
    found = states(sites)
    assert list(found) == list(sites.hosts)
    assert {site: state.why for site, state in found.items()} == dict.fromkeys(sites.hosts, "")
    aspects = {site: [str(p.aspect) for p in state.probes] for site, state in found.items()}
    assert aspects["shopping"] == ["status", "login", "search"]
    assert aspects["map"] == ["status", "login", "search", "routing", "routing", "routing", "tiles"]
    assert aspects["homepage"] == ["status"]


@pytest.mark.parametrize(
    ("site", "path", "status", "content", "why"),
    [
        ("shopping", "/customer/account/login/", 200, b"Installing", "login: name="),
        ("gitlab", "/users/sign_in", 502, b"Whoops", "login: HTTP 502"),
        ("homepage", "/", 200, b"", "status: the page is empty"),
        ("map", "/nominatim/search", 200, b"[]", "search: no place was found"),
        ("map", "/nominatim/search", 200, b"<html>", "search: no place was found"),
        ("map", "/tiles/tile/12/1137/1544.png", 404, b"", "tiles: HTTP 404"),
        ("map", "/tiles/tile/12/1137/1544.png", 200, b"GIF89a", "tiles: the tile is no PNG"),
    ],
)
def test_a_site_that_answers_but_does_not_work_is_not_ready(
    sites: Sites, site: str, path: str, status: int, content: bytes, why: str
) -> None:
    sites.answers[path] = (status, {}, content)
    found = states(sites)[site]
    assert not found.is_ready
    assert why in found.why


def test_a_router_that_finds_no_way_is_not_ready(sites: Sites) -> None:
    ends = "-79.9959,40.4406;-79.9436,40.4433"
    sites.answers[f"/bike/route/v1/cycling/{ends}"] = (200, {}, b'{"code": "NoRoute"}')
    assert states(sites)["map"].why == "routing (bike): no way was found"


def test_only_configured_addresses_are_asked(sites: Sites) -> None:
    with MoodySite() as elsewhere:
        sites.answers["/"] = (302, {"location": f"{elsewhere.url}/"}, b"")
        sites.answers["/users/sign_in"] = (302, {"location": "/signed"}, b"")
        sites.answers["/signed"] = (200, {}, b'<input name="user[login]">')
        found = states(sites)["gitlab"]
        assert elsewhere.asked == []
    assert [probe.is_well for probe in found.probes] == [False, True, True]
    assert f"sends to another address: {elsewhere.url}" in found.why


def test_a_redirect_in_a_circle_ends(sites: Sites) -> None:
    sites.answers["/"] = (302, {"location": "/"}, b"")
    assert "again and again" in states(sites)["homepage"].why


def test_a_site_that_is_not_there_or_silent_is_told_in_time() -> None:
    it_answers = threading.Event()
    with MoodySite() as silent:
        silent.before_answer = lambda path: it_answers.wait(30)
        started = time.monotonic()
        hosts = {"homepage": silent.url, "reddit": "http://127.0.0.1:9"}
        home, reddit = probe_sites(hosts, timeout_s=0.5)
        assert time.monotonic() - started < 25  # before the site said anything
        it_answers.set()
    assert home.why == "status: no answer within 0.5 s"
    assert "cannot be reached" in reddit.why


def test_the_tile_of_a_place() -> None:
    # By hand: asinh(tan 40.4406°) is 0.7729, so (1 - 0.24602) / 2 * 4096 is 1544.1.
    assert tile_of(0.0, 0.0, 1) == (1, 1)
    assert tile_of(40.4406, -79.9959, 12) == (1137, 1544)


FOUND = b"""<title>Search: Pittsburgh</title>
<div class="header"> Results <b> 1-1 </b> of <b> 1 </b> for <b> "Pittsburgh" </b> </div>
<div class="results"> <ul> <li>
<a href="/wikipedia_en_all_maxi_2022-05/index.html"> Pittsburgh </a>
<cite><b>Pittsburgh</b> <b>Pittsburgh</b> is a city in Pennsylvania with three rivers....</cite>
<div class="book-title">from Small</div> <div class="informations">10 words</div>
</li> </ul> </div>"""
NOTHING = b"""<title>Search: Pittsburgh</title>
<div class="header"> No results were found for <b>"Pittsburgh"</b> </div>
<div class="results"> <ul> </ul> </div>"""
"""Recorded from kiwix-serve 3.3.0, which WebArena's Wikipedia is, with a book of one page: the
title and what was found, blanks shortened."""


@pytest.mark.parametrize(("answer", "why"), [(FOUND, ""), (NOTHING, "search: no page was found")])
def test_what_wikipedias_server_answered(sites: Sites, answer: bytes, why: str) -> None:
    """It says 200 to both, and repeats what was asked for."""
    sites.answers["/search"] = (200, {"content-type": "text/html; charset=utf-8"}, answer)
    (state,) = probe_sites({"wikipedia": sites.url}, timeout_s=2)
    assert state.why == why
    assert [probe.status for probe in state.probes] == [200, 200]


SLEEPING = b"""<!doctype html><title>Instance Hibernating page</title>
<p>Your instance is <b>hibernating</b>. Sign in to wake your instance.</p>"""
"""Answered with 200 by a sleeping developer instance; these are our own words for it."""


@pytest.mark.parametrize(
    ("site", "answers", "why"),
    [
        ("servicenow", {"/login.do": b'<input id="user_password">'}, ""),
        ("servicenow", {"/": SLEEPING, "/login.do": SLEEPING}, "the instance is hibernating"),
        ("servicenow", {"/login.do": b"Maintenance"}, "login: user_password is not on the page"),
        ("classifieds", {"/index.php": b'<input id="email">'}, ""),
        ("classifieds", {"/index.php": b"Installer"}, 'login: id="email" is not on the page'),
    ],
)
def test_sites_of_other_benchmarks(
    sites: Sites, site: str, answers: dict[str, bytes], why: str
) -> None:
    sites.answers |= {path: (200, {}, content) for path, content in answers.items()}
    (state,) = probe_sites({site: sites.url}, timeout_s=2)
    assert why in state.why
    assert state.is_ready == (why == "")
