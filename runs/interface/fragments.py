"""Telling a request for a whole page from one for a fragment of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django_htmx.middleware import HtmxDetails

from runs.models import User


class AppRequest(HttpRequest):
    """A request that passed the log-in and htmx middleware."""

    user: User
    htmx: HtmxDetails


def wants_partial(request: AppRequest) -> bool:
    """Whether only the fragment is wanted.

    A boosted link and a step back in the browser's history need the whole page. Views that
    ask this vary on `HX-Request`.
    """
    htmx = request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def redirect_whole(request: AppRequest, address: str) -> HttpResponse:
    """A redirect of the page, whether a form of it was sent by htmx or by the browser."""
    if not wants_partial(request):
        return redirect(address)
    return HttpResponse(status=204, headers={"HX-Redirect": address})
