"""Small rules that hold for every request."""

import logging
import sys

from csp.utils import build_policy
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url

from runs.accounts.audit_log import record_download
from runs.operations.error_views import bad_request, not_found, server_error
from runs.operations.health.probes import PROBES
from runs.telemetry.actors import acting_as, of_request
from runs.telemetry.logs import GetResponse

logger = logging.getLogger("django.request")

NO_DEVICES = ", ".join(
    f"{name}=()"
    for name in (
        *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope"),
        *("hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb"),
    )
)
"""No page of ours uses a device, and nothing that is slipped into one may."""


class ActingMiddleware:
    """Everything done while a request is answered is done by whoever sent it.

    The answer carries the request's id, which the audit log and the log lines hold too.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting_as(of_request(request)) as now:
            response = self.get_response(request)
            disposition = response.get("Content-Disposition", "")
            if response.status_code == 200 and disposition.startswith("attachment"):
                # Here rather than in each view, of which one would be forgotten.
                record_download(name=disposition.partition("filename=")[2], path=request.path)
        response["X-Request-ID"] = now.request_id
        return response


class HeaderMiddleware:
    """What every answer says to browsers, also one that was made before others had their say.

    Nothing is kept by caches between, and by browsers only to be asked about again, unless a view
    says otherwise.

    The policy of what a page may load is one for all pages, without exceptions or nonces, so it is
    put together once; a view that says its own is left to it.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
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


class ProbeMiddleware:
    """Answers the probes before anything else is looked at: names of hosts, TLS, sessions."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return PROBES.get(request.path, self.get_response)(request)


class SessionCookieMiddleware:
    """Drops a session cookie that can be none of ours.

    A cookie in quotes may hold any character, also the null character, which PostgreSQL refuses.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").isalnum():
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        return self.get_response(request)


class FragmentLoginMiddleware:
    """Turns the redirect to the log-in page into one of the whole page for htmx requests.

    Without it a lost session would swap a log-in form into the middle of a page.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.login_url = resolve_url(settings.LOGIN_URL)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        location = response.get("Location", "")
        if location.startswith(self.login_url) and request.headers.get("HX-Request"):
            redirect = HttpResponse(status=401)
            redirect["HX-Redirect"] = self.login_url
            return redirect
        return response


BROKE = "broke_on"


@receiver(got_request_exception)
def _remember(request: HttpRequest | None = None, **_: object) -> None:
    if request is not None:
        request.__dict__[BROKE] = sys.exception()


class OwnErrorPagesMiddleware:
    """Shows our own pages for errors even where DEBUG is on.

    The technical pages hold local variables and every address: more than people who must stay
    blind may see. What broke goes to the log.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 404 and request.resolver_match is None:
            return not_found(request, Http404())
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
