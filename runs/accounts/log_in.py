"""Logging in: limits on tries that are spread over addresses or names, entries in the audit log,
passwords, and the addresses of these pages.
"""

import math
from datetime import datetime, timedelta
from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt, AccessLog
from axes.signals import user_locked_out
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.auth.views import (
    LoginView,
    LogoutView,
    PasswordChangeDoneView,
    PasswordChangeView,
)
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Q, Sum
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from runs.accounts.actors import client_address
from runs.accounts.audit_log import record_entry
from runs.models import User
from runs.models.audit_log import (
    LOCKED_OUT,
    LOGGED_IN,
    LOGGED_OUT,
    LOGIN_FAILED,
    PASSWORD_CHANGED,
    AuditKind,
)

MOST_TRIES = 100
"""Failed ones of a name from everywhere before it is slowed down, or from an address with all names
before that is locked, within the time that a lock lasts. An address may be a whole laboratory's."""
PAUSE = timedelta(seconds=10)
"""Between two tries at a name that is slowed down."""


class SpreadTriesBackend:
    """Authenticates nobody; refuses where too many tries have failed lately."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **_: Any
    ) -> None:
        if request is None or not getattr(request, "axes_attempt_time", None):
            return
        address = client_address(request)
        wait = _lock_of_address(address) or _pause_of_name(username, address)
        if wait is not None:
            request.axes_locked_out = True  # type: ignore[attr-defined]  # axes reads it
            request.log_in_wait = wait  # type: ignore[attr-defined]  # for the page
            raise PermissionDenied


def wait_of(request: HttpRequest) -> int:
    """Seconds until the next try of a request that was refused is looked at, at most."""
    wait: timedelta = getattr(request, "log_in_wait", None) or get_cool_off(request) or timedelta()
    return math.ceil(wait.total_seconds())


def _lock_of_address(address: str | None) -> timedelta | None:
    if address is None or _failures(Q(ip_address=address))[0] < MOST_TRIES:
        return None
    lock: timedelta | None = get_cool_off()
    return lock


def _pause_of_name(name: str | None, address: str | None) -> timedelta | None:
    """What is left of the pause after the last failed try; None where the next one may come."""
    count, last = _failures(Q(username=name))
    if count < MOST_TRIES or last is None:
        return None
    left = last + PAUSE - timezone.now()
    if left <= timedelta():
        return None
    # Whoever has logged in from there before need not wait.
    known = AccessLog.objects.filter(username=name, ip_address=address)
    return None if address is not None and known.exists() else left


def _failures(of: Q) -> tuple[int, datetime | None]:
    """How many there were lately, and when the last one was."""
    cool_off = get_cool_off()
    recent = AccessAttempt.objects.filter(of)
    if cool_off is not None:
        recent = recent.filter(attempt_time__gte=timezone.now() - cool_off)
    found = recent.aggregate(n=Sum("failures_since_start"), last=Max("attempt_time"))
    return found["n"] or 0, found["last"]


UNKNOWN = "an unknown name"
"""Instead of what was typed for a name, which may well be a password."""


@receiver(user_logged_in, dispatch_uid="runs.logged_in")
def on_log_in(sender: object, user: User, **_: Any) -> None:
    record_entry(LOGGED_IN, about=user, words=user.username, user=user)


@receiver(user_logged_out, dispatch_uid="runs.logged_out")
def on_log_out(sender: object, user: User | None, **_: Any) -> None:
    if user is not None:
        record_entry(LOGGED_OUT, about=user, words=user.username, user=user)


@receiver(user_login_failed, dispatch_uid="runs.login_failed")
def on_failure(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Not what is refused unread, while nobody may try: that would fill the log."""
    if not getattr(request, "axes_locked_out", False):
        _record(LOGIN_FAILED, credentials.get("username"))


@receiver(user_locked_out, dispatch_uid="runs.locked_out")
def on_lock_out(
    sender: object, request: HttpRequest, username: str | None = None, **_: Any
) -> None:
    """Once for each time: when a try goes over the limit, not when one is refused unread."""
    if getattr(request, "axes_failures_since_start", None) is not None:
        _record(LOCKED_OUT, username)


def _record(kind: AuditKind, username: object) -> None:
    user = User.objects.filter(username=str(username)[:150]).first() if username else None
    record_entry(kind, about=user, words=user.username if user else UNKNOWN)


class WrittenDown:
    """Among the validators, because those are told of every password once it is set.

    It finds no password wrong. A hash that is only made anew at log-in is no change.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Whatever it is."""

    def get_help_text(self) -> str:
        return ""

    def password_changed(self, password: str, user: User | None = None) -> None:
        """Write down whose it was, never which."""
        if user is not None:
            record_entry(PASSWORD_CHANGED, about=user, words=user.username)


class OwnPasswordForm(PasswordChangeForm):
    """Django's own, with the rules in one sentence."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["new_password1"].help_text = _(
            "Ten characters or more; not a common one, not like your name, not digits alone."
        )


urlpatterns = [
    path("login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path(
        "account/password/",
        PasswordChangeView.as_view(
            template_name="password_change.html", form_class=OwnPasswordForm
        ),
        name="password_change",
    ),
    path(
        "account/password/done/",
        PasswordChangeDoneView.as_view(template_name="password_change_done.html"),
        name="password_change_done",
    ),
]
"""They carry no namespace, as Django's."""
