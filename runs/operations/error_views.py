"""Pages for what went wrong: what happened, and what to do."""

import math
import sys

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader

from runs.accounts.actors import acting
from runs.accounts.log_in import wait_of
from runs.models.parsing import QueryError
from runs.storage.file_storage import RETRY_AFTER_S, Outage, outage

A_MINUTE = 60


class BadQueryError(Http404):
    """404 of a page that is there, asked for with a value that it does not know.

    Args:
        error: why; a QueryError tells which value it is.
        name: of the value in the address, where the error does not tell.
    """

    def __init__(self, error: ValueError, name: str = "") -> None:
        super().__init__(str(error))
        self.name = error.name if isinstance(error, QueryError) else name
        self.takes = error.takes if isinstance(error, QueryError) else ""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, also for what exists but may not be seen."""
    if isinstance(exception, BadQueryError):
        return _bad_query(request, exception)
    return render(request, "errors/404.html", status=404)


def _bad_query(request: HttpRequest, error: BadQueryError) -> HttpResponse:
    """Which value is wrong, and the way to the page without it."""
    rest = request.GET.copy()
    rest.pop(error.name, None)
    query = f"?{rest.urlencode()}" if error.name and rest else ""
    context = {"name": error.name, "takes": error.takes, "without": request.path + query}
    return render(request, "errors/bad_query.html", context, status=404)


TOO_LARGE = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 where more was sent than is taken."""
    is_too_large = isinstance(exception, TOO_LARGE)
    # Without the request: it may come before anybody is known, and under another site's name.
    page = loader.render_to_string("errors/400.html", {"is_too_large": is_too_large})
    return HttpResponse(page, status=413 if is_too_large else 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the account's role does not allow this."""
    return render(request, "errors/403.html", status=403)


def server_error(request: HttpRequest, error: BaseException | None = None) -> HttpResponse:
    """500, without touching the database; 503 where that cannot be reached, 507 without room.

    Args:
        error: what was raised; by default what is being handled, as Django calls this.
    """
    missing = outage(error or sys.exc_info()[1])
    if missing is Outage.ROOM:
        return render(request, "errors/507.html", status=507)
    if missing:
        of_files = missing is Outage.FILES
        answer = render(request, "errors/503.html", {"of_files": of_files}, status=503)
        answer["Retry-After"] = str(RETRY_AFTER_S)
        return answer
    return render(request, "errors/500.html", {"request_id": acting().request_id}, status=500)


def locked_out(request: HttpRequest, *_: object) -> HttpResponse:
    """429 after too many failed tries to log in; called by django-axes."""
    seconds = wait_of(request)
    context = {
        "is_pause": seconds < A_MINUTE,
        "seconds": seconds,
        "minutes": math.ceil(seconds / A_MINUTE),
    }
    answer = render(request, "errors/locked.html", context, status=429)
    answer["Retry-After"] = str(seconds)
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 after a lost or stale form token."""
    return render(request, "errors/csrf.html", status=403)
