"""What went wrong is said on pages of our own, which show nothing of the inside."""

import errno
import io
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
from django.conf import LazySettings
from django.core.files.uploadhandler import FileUploadHandler
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from tests.runs.factories import make_user
from webagent.urls import urlpatterns as site_urls

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

handler500 = "runs.operations.error_views.server_error"
SECRET = "what-blind-people-must-not-see"


def breaks(request: HttpRequest) -> HttpResponse:
    hidden = SECRET
    raise RuntimeError(hidden)


def has_no_room(request: HttpRequest) -> HttpResponse:
    raise OperationalError("database or disk is full")


def has_no_database(request: HttpRequest) -> HttpResponse:
    raise OperationalError(SECRET)


class WithoutDatabase:
    """As if it were gone when the session is read or written."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        raise InterfaceError(SECRET)


urlpatterns = [
    *site_urls,
    path("breaks/", breaks),
    path("has-no-database/", has_no_database),
    path("has-no-room/", has_no_room),
]


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


@pytest.mark.parametrize("address", ["/audit/evaluate/", "/runs/rerun/", "/studies/1/close/"])
def test_an_address_of_forms_says_that_nothing_was_sent(person: Client, address: str) -> None:
    """Who logs in again after sending a form is led there."""
    answer = person.get(address)
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert b"Nothing was saved. Go back" in answer.content


@pytest.mark.fault(3, "the database is away while a page is made, or before")
@pytest.mark.parametrize("is_gone_before", [True, False])
def test_database_that_is_away_is_503_and_no_query(
    person: Client,
    settings: LazySettings,
    is_gone_before: bool,
    django_assert_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    if is_gone_before:
        settings.DEBUG = False  # Django's own page shows what broke outside of views
        settings.MIDDLEWARE = [f"{__name__}.WithoutDatabase"]
    with django_assert_num_queries(0) if is_gone_before else nullcontext():
        answer = person.get("/has-no-database/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert SECRET not in answer.content.decode()
    assert b"send it again" in answer.content


class NoRoom(FileUploadHandler):
    """Where a file that is sent would be kept, on a disk that is full."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        raise OSError(errno.ENOSPC, SECRET)

    def file_complete(self, file_size: int) -> None: ...


@pytest.mark.fault(9, "no room to take in what is sent, and none in the database")
@pytest.mark.parametrize("is_in_view", [True, False])
@pytest.mark.slow
def test_full_disk_is_507_in_plain_words(
    person: Client, settings: LazySettings, is_in_view: bool
) -> None:
    if is_in_view:
        answer = person.get("/has-no-room/")
    else:
        settings.FILE_UPLOAD_HANDLERS = [f"{__name__}.NoRoom"]
        careful = Client(enforce_csrf_checks=True, raise_request_exception=False)
        careful.cookies = person.cookies
        careful.cookies["csrftoken"] = "x" * 32
        answer = careful.post("/imports/", {"file": io.BytesIO(b"a file")})
    assert answer.status_code == 507
    assert SECRET not in answer.content.decode()
    assert b"disk is full" in answer.content


def test_who_lacks_a_role_reads_which_it_takes_and_gets_back(client: Client) -> None:
    client.force_login(make_user("annotator"))
    answer = client.get("/imports/", headers={"Referer": "http://testserver/studies/?page=2"})
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Ask an administrator for one of these roles: admin, engineer." in page
    assert '<a class="button primary" href="/studies/">Back</a>' in page
    elsewhere = client.get("/imports/", headers={"Referer": "http://elsewhere.test/studies/"})
    assert "/studies/" not in elsewhere.content.decode().partition("<main")[2]
