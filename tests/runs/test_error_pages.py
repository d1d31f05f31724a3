"""What went wrong is said on pages of our own, which show nothing of the inside."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from tests.runs.factories import make_user
from webagent.urls import urlpatterns as site_urls

pytestmark = pytest.mark.django_db

SECRET = "what-blind-people-must-not-see"


def breaks(request: HttpRequest) -> HttpResponse:
    hidden = SECRET
    raise RuntimeError(hidden)


urlpatterns = [*site_urls, path("breaks/", breaks)]


@pytest.fixture(params=[True, False], ids=["DEBUG", "no DEBUG"])
def person(request: pytest.FixtureRequest, settings: LazySettings) -> Client:
    settings.DEBUG = request.param
    settings.ROOT_URLCONF = __name__
    client = Client(raise_request_exception=False)
    client.force_login(make_user())
    return client


def test_broken_page_says_so_and_shows_nothing_of_the_inside(
    person: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = person.get("/breaks/")
    assert answer.status_code == 500
    assert SECRET not in answer.content.decode()
    assert b"Traceback" not in answer.content
    assert SECRET in caplog.text


@pytest.mark.parametrize("address", ["/no/such/page/", "/studies/999999/"])
def test_missing_page_lists_no_addresses(person: Client, address: str) -> None:
    answer = person.get(address)
    assert answer.status_code == 404
    assert b"URLconf" not in answer.content
    assert b"studies/&lt;int" not in answer.content


def test_forgotten_slash_is_added(person: Client) -> None:
    assert person.get("/studies").status_code == 301
