"""Small rules that hold for every request, and its line in the log."""

import logging
import sys
import time
from collections.abc import Callable

from csp.utils import build_policy
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url

from runs.accounts.actors import acting, acting_as, client_address, of_request
from runs.accounts.audit_log import record_download
from runs.operations.error_views import bad_request, form_only, not_found, server_error
from runs.operations.health.probes import PROBES
from webagent.process import counters
from webagent.process.logs import PROBE_PATHS, logged_with

GetResponse = Callable[[HttpRequest], HttpResponse]
logger = logging.getLogger("django.request")

NO_DEVICES = ", ".join(
    f"{name}=()"
    for name in (
        *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope"),
        *("hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb"),
    )
)
"""No page of ours uses a device, and nothing that is slipped into one may."""


class _Middleware:
    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class ActingMiddleware(_Middleware):
    """Everything done while a request is answered is done by whoever sent it.

    The answer carries the request's id, which the audit log and the log lines hold too.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting_as(of_request(request)) as now:
            response = self.get_response(request)
            disposition = response.get("Content-Disposition", "")
            if response.status_code == 200 and disposition.startswith("attachment"):
                # Here rather than in each view, of which one would be forgotten.
                record_download(name=disposition.partition("filename=")[2], path=request.path)
        response["X-Request-ID"] = now.request_id
        return response


METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
access = logging.getLogger("access")


class RequestLogMiddleware(_Middleware):
    """Has the lines of a request say whose they are, and writes one when it is answered.

    Addresses are logged without what follows the question mark, which may be a search.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with logged_with(request_id=acting().request_id, user_id=lambda: _user_id(request)):
            begun = time.monotonic()
            response = self.get_response(request)
            seconds = time.monotonic() - begun
            _count(request, response, seconds)
            is_quiet = request.path in PROBE_PATHS or request.path.startswith(settings.STATIC_URL)
            if not is_quiet or response.status_code >= 500:
                access.info("request", extra=_facts(request, response, seconds))
        return response


def _count(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    found = request.resolver_match
    view = (found.view_name if found else "") or "none"
    method = request.method if request.method in METHODS else "other"
    counters.requests.labels(view, method, str(response.status_code)).inc()
    counters.request_seconds.labels(view).observe(seconds)


def _user_id(request: HttpRequest) -> int | None:
    """Who it is, if that was looked up: a log line asks the database nothing."""
    user = getattr(request, "_cached_user", None)
    return user.pk if user is not None else None


def _facts(request: HttpRequest, response: HttpResponse, seconds: float) -> dict[str, object]:
    found = request.resolver_match
    facts: dict[str, object] = {
        "method": request.method,
        "path": request.path,
        "view": found.view_name if found else None,
        "status": response.status_code,
        "ms": round(1000 * seconds, 1),
        "bytes": None if response.streaming else len(response.content),
        "client": client_address(request),
    }
    if found and "run_id" in found.kwargs:
        facts["run_id"] = str(found.kwargs["run_id"])
    return facts


class HeaderMiddleware(_Middleware):
    """What every answer says to browsers, also one that was made before others had their say.

    Nothing is kept by caches between, and by browsers only to be asked about again, unless a view
    says otherwise.

    The policy of what a page may load is one for all pages, without exceptions or nonces, so it is
    put together once; a view that says its own is left to it.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.headers = {
            "Content-Security-Policy": build_policy(),
            "Permissions-Policy": NO_DEVICES,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": settings.SECURE_REFERRER_POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cache-Control": "private, no-cache",
        }

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in self.headers.items():
            response.headers.setdefault(name, value)
        return response


class ProbeMiddleware(_Middleware):
    """Answers the probes before anything else is looked at: names of hosts, TLS, sessions."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return PROBES.get(request.path, self.get_response)(request)


class SessionCookieMiddleware(_Middleware):
    """Drops a session cookie that can be none of ours.

    A cookie in quotes may hold any character, also the null character, which PostgreSQL refuses.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").isalnum():
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        return self.get_response(request)


class FragmentLoginMiddleware(_Middleware):
    """Tells htmx requests of a lost session so, instead of the redirect to the log-in page.

    The page stays, with what is typed in it, and no log-in form is swapped into its middle.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.login_url = resolve_url(settings.LOGIN_URL)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        location = response.get("Location", "")
        if location.startswith(self.login_url) and request.headers.get("HX-Request"):
            return HttpResponse(status=401)
        return response


BROKE = "broke_on"


@receiver(got_request_exception)
def _remember(request: HttpRequest | None = None, **_: object) -> None:
    if request is not None:
        request.__dict__[BROKE] = sys.exception()


class OwnErrorPagesMiddleware(_Middleware):
    """Shows our own pages for errors even where DEBUG is on.

    The technical pages hold local variables and every address: more than people who must stay
    blind may see. What broke goes to the log.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if settings.DEBUG and response.status_code == 404 and request.resolver_match is None:
            return not_found(request, Http404())
        if response.status_code == 405 and request.method == "GET" and not response.content:
            return form_only(request, response)
        # What broke before a view had the request: a form that could not be taken in, for instance.
        if (error := request.__dict__.pop(BROKE, None)) is not None:
            return server_error(request, error)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for what a view raised; None for what Django shows no technical page of."""
        if isinstance(error, Http404):
            return not_found(request, error)
        if isinstance(error, PermissionDenied):
            return None
        if isinstance(error, BadRequest | SuspiciousOperation):
            logger.warning("Bad Request: %s", request.path, exc_info=error)
            return bad_request(request, error)
        logger.error("Internal Server Error: %s", request.path, exc_info=error)
        return server_error(request, error)
