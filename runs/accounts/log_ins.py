"""Log-ins, failed ones and lock-outs, written into the log of acts."""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from runs.accounts.audit_log import record_act
from runs.models import User
from runs.models.audit_kinds import LOCKED_OUT, LOGGED_IN, LOGGED_OUT, LOGIN_FAILED, ActKind

UNKNOWN = "an unknown name"
"""Instead of what was typed for a name, which may well be a password."""


@receiver(user_logged_in, dispatch_uid="runs.logged_in")
def on_log_in(sender: object, user: User, **_: Any) -> None:
    record_act(LOGGED_IN, about=user, words=user.username, user=user)


@receiver(user_logged_out, dispatch_uid="runs.logged_out")
def on_log_out(sender: object, user: User | None, **_: Any) -> None:
    if user is not None:
        record_act(LOGGED_OUT, about=user, words=user.username, user=user)


@receiver(user_login_failed, dispatch_uid="runs.login_failed")
def on_failure(
    sender: object,
    credentials: dict[str, Any],
    request: HttpRequest | None = None,
    **_: Any,
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


def _record(kind: ActKind, username: object) -> None:
    user = User.objects.filter(username=str(username)[:150]).first() if username else None
    record_act(kind, about=user, words=user.username if user else UNKNOWN)
