"""Telling a request for a whole page from one for a fragment of it."""

from django.http import HttpRequest
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
