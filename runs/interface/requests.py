"""What all views need of a request: who may make it, whole page or fragment, the page's frame."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django_htmx.middleware import HtmxDetails

from runs.models import User


class AppRequest(HttpRequest):
    """A request that passed the log-in and htmx middleware."""

    user: User
    htmx: HtmxDetails


P = ParamSpec("P")
View = Callable[Concatenate[AppRequest, P], HttpResponseBase]


class RoleNeededError(PermissionDenied):
    """403 of what needs permissions that the person lacks; its page names the roles that do."""

    def __init__(self, permissions: tuple[str, ...]) -> None:
        super().__init__()
        self.permissions = permissions


def demand(user: User, *permissions: str) -> None:
    """Raises RoleNeededError for who lacks one of the permissions."""
    if not user.has_perms(permissions):
        raise RoleNeededError(permissions)


def needs(*permissions: str) -> Callable[[View[P]], View[P]]:
    """Admits to a view who has all of the permissions."""

    def guard(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: AppRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            demand(request.user, *permissions)
            return view(request, *args, **kwargs)

        return guarded

    return guard


def wants_partial(request: HttpRequest) -> bool:
    """Whether only the fragment is wanted.

    A boosted link and a step back in the browser's history need the whole page. Views that
    ask this vary on `HX-Request`.
    """
    htmx: HtmxDetails | None = getattr(request, "htmx", None)  # none before the middleware
    if htmx is None or not htmx:
        return False
    return not htmx.boosted and not htmx.history_restore_request


def view_at(route: str, view: Callable[..., HttpResponseBase]) -> URLPattern:
    """The address of a view, which is named as the view."""
    return path(route, view, name=view.__name__)


def redirect_whole(request: AppRequest, address: str) -> HttpResponse:
    """A redirect of the page, whether a form of it was sent by htmx or by the browser."""
    if not wants_partial(request):
        return redirect(address)
    return HttpResponse(status=204, headers={"HX-Redirect": address})


_ROOMS = (
    ("experiments", re.compile(r"^/studies/\d+/audit/(?:progress|detectors|failures)/")),
    ("audit", re.compile(r"^/audit/|^/studies/\d+/audit/")),
    ("studies", re.compile(r"^/studies/|^/disputes/")),
    ("runs", re.compile(r"^/runs/|^/imports/|^/reruns/|^/policies/")),
    (
        "experiments",
        re.compile(r"^/experiments/|^/hints/|^/knowledge/|^/learning/|^/replications/"),
    ),
    ("tasks", re.compile(r"^/tasks/")),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    """What stands around the page: theme, layout, room of the top bar ("" for none).

    A page that extends `layout` is shown whole, or as its block `part` where only that is wanted.
    """
    theme = request.COOKIES.get("theme", "auto")
    return {
        "layout": "part.html" if wants_partial(request) else "base.html",
        "theme": theme if theme in ("light", "dark") else "auto",
        "room": next((room for room, path in _ROOMS if path.match(request.path)), ""),
    }
