"""Pages for what went wrong: what happened, and what to do."""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.contrib.auth.models import Group
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader
from django.urls import ResolverMatch, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from runs.accounts.actors import acting
from runs.accounts.log_in import wait_of
from runs.interface.requests import RoleNeededError
from runs.interface.sentences import labelled, listed
from runs.interface.words import duration
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


@contextmanager
def bad_queries(name: str = "") -> Iterator[None]:
    """Within it, a value of an address that raises ValueError raises BadQueryError."""
    try:
        yield
    except ValueError as error:
        raise BadQueryError(error, name) from error


def _message(
    request: HttpRequest,
    status: int,
    title: str,
    text: str,
    *,
    address: str = "/",
    label: str = "",
    others: Sequence[tuple[str, str]] = (),
) -> HttpResponse:
    context = {
        "title": title,
        "text": text,
        "address": address,
        "label": label or _("Home"),
        "others": others,
    }
    return render(request, "errors/message.html", context, status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, also for what exists but may not be seen."""
    if isinstance(exception, BadQueryError):
        return _bad_query(request, exception)
    address, label = _way_on(request.resolver_match)
    others = [("/", _("Home"))] if address != "/" else []
    title, text = _("Not found"), _("This no longer exists, or you may not see it.")
    return _message(request, 404, title, text, address=address, label=label, others=others)


KINDS = {
    "audit/batches": gettext_noop("Evaluation batches"),
    "disputes": gettext_noop("Disputes"),
    "experiments": gettext_noop("Experiments"),
    "hints": gettext_noop("hints"),
    "imports": gettext_noop("Imports"),
    "knowledge": gettext_noop("web knowledge"),
    "policies": gettext_noop("Retry policies"),
    "replications": gettext_noop("Replications"),
    "runs": gettext_noop("runs"),
    "studies": gettext_noop("studies"),
    "tasks": gettext_noop("tasks"),
    "tasks/sets": gettext_noop("tasks"),
}
"""The list of what an address with a key is of, by its head."""
_KEYED = re.compile(r"([a-z/]+)/<\w+:\w+>/?.*")


def _way_on(match: ResolverMatch | None) -> tuple[str, str]:
    """Where to go, by the address alone: alike for what is hidden and for what was never there."""
    if match is not None and match.view_name == "runs:run_compare":
        return reverse("runs:run_list"), capfirst(_("runs"))
    keyed = _KEYED.fullmatch(match.route) if match is not None else None
    if keyed is None or keyed[1] not in KINDS:
        return "/", _("Home")
    return f"/{keyed[1].removesuffix('/sets')}/", capfirst(_(KINDS[keyed[1]]))


def _bad_query(request: HttpRequest, error: BadQueryError) -> HttpResponse:
    """Which value is wrong, and the way to the page without it."""
    rest = request.GET.copy()
    given = "&".join(f"{error.name}={value}" for value in rest.pop(error.name, []))
    query = f"?{rest.urlencode()}" if error.name and rest else ""
    given = Truncator(given or error.name).chars(80).replace("\0", "\N{REPLACEMENT CHARACTER}")
    told = labelled(given, error.takes)
    return _message(
        request,
        404,
        _("Unknown value in the address"),
        told if error.name else "",
        address=request.path + query,
        label=_("Open the page without it"),
    )


TOO_LARGE = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 where more was sent than is taken."""
    is_too_large = isinstance(exception, TOO_LARGE)
    context = {
        "title": _("This could not be read"),
        "text": _(
            "The request is damaged or meant for another site. Nothing was saved. Reload the page "
            "and try again."
        ),
    }
    if is_too_large:
        context["title"] = _("This is too large")
        context["text"] = _(
            "The request is too large or has too many fields. Nothing was saved. Send less, such "
            "as a file in parts."
        )
    # Without the request: it may come before anybody is known, and under another site's name.
    page = loader.render_to_string("errors/bare.html", context)
    return HttpResponse(page, status=413 if is_too_large else 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the account's role does not allow this, and which does; with the way back."""
    text = _("Ask an administrator for the role that you need.")
    if isinstance(exception, RoleNeededError):
        roles = [_(name) for name in _roles_with(exception.permissions)]
        told = _("Ask an administrator for one of these roles: %(roles)s.")
        text = told % {"roles": listed(roles)} if roles else text
    before = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(before, {request.get_host()})
    back = urlsplit(before).path if is_ours else ""
    title = _("Your role does not allow this")
    if back in ("", "/", request.path):
        return _message(request, 403, title, text)
    others = [("/", _("Home"))]
    return _message(request, 403, title, text, address=back, label=_("Back"), others=others)


ROLES = (gettext_noop("engineer"), gettext_noop("admin"))
"""Names of groups that nothing else marks for translation."""


def _roles_with(permissions: Sequence[str]) -> list[str]:
    """Names of the groups that have all of the permissions."""
    groups = Group.objects.order_by("name")
    for permission in permissions:
        app, _dot, codename = permission.partition(".")
        groups = groups.filter(
            permissions__content_type__app_label=app, permissions__codename=codename
        )
    return list(groups.values_list("name", flat=True))


def form_only(request: HttpRequest, refused: HttpResponse) -> HttpResponse:
    """405 of an address that only takes forms: where logging in again after sending one ends."""
    answer = _message(
        request,
        405,
        _("The form was not sent"),
        _("This address only takes forms. Nothing was saved. Go back and send the form again."),
    )
    answer["Allow"] = refused["Allow"]
    return answer


def server_error(request: HttpRequest, error: BaseException | None = None) -> HttpResponse:
    """500, without touching the database; 503 where that cannot be reached, 507 without room.

    Args:
        error: what was raised; by default what is being handled, as Django calls this.
    """
    missing = outage(error or sys.exc_info()[1])
    if missing is Outage.ROOM:
        return _bare(
            request,
            507,
            _("Storage full"),
            _(
                "What you just sent was not saved. Tell an administrator that the disk is "
                "full, then send it again."
            ),
        )
    if missing:
        answer = _bare(
            request,
            503,
            _("The file storage is temporarily unavailable")
            if missing is Outage.FILES
            else _("The database is temporarily unavailable"),
            _(
                "What you just sent may not be saved: go back and send it again. A form sent "
                "twice is saved once."
            ),
        )
        answer["Retry-After"] = str(RETRY_AFTER_S)
        return answer
    return _bare(
        request,
        500,
        _("Something went wrong"),
        _(
            "The error was logged. Try again. If it happens again, tell an administrator "
            "what you did and when."
        ),
        request_id=acting().request_id,
    )


def _bare(request: HttpRequest, status: int, title: str, text: str, **more: str) -> HttpResponse:
    """A page that asks the database nothing."""
    context = {"title": title, "text": text, **more}
    return render(request, "errors/bare.html", context, status=status)


def locked_out(request: HttpRequest, *_args: object) -> HttpResponse:
    """429 after too many failed tries to log in; called by django-axes."""
    seconds = wait_of(request)
    words = _(
        "Too many wrong passwords were entered for this name or from your address. Try again in "
        "%(time)s. If this was not you, tell an administrator."
    )
    wait = math.ceil(seconds / A_MINUTE) * A_MINUTE if seconds >= A_MINUTE else seconds
    answer = _message(
        request,
        429,
        _("Too many log-in attempts"),
        words % {"time": duration(wait)},
        address=reverse("login"),
        label=_("Back to log-in"),
    )
    answer["Retry-After"] = str(seconds)
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 after a lost or stale form token."""
    return _message(
        request,
        403,
        _("Form out of date"),
        _(
            "You logged in after opening it, or the browser blocks cookies. Nothing was "
            "saved. Reload the page and send it again."
        ),
    )
