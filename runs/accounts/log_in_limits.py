"""Limits on tries to log in that are spread: over addresses, or over names.

django-axes locks one name for one address. Whoever has many addresses, or tries one password with
every name, stays below that; here such tries are counted together. A name is never locked for
everybody, or anybody could lock out anyone: tries at it are slowed down, except from addresses that
have logged in under it before.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt, AccessLog
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Q, Sum
from django.http import HttpRequest
from django.utils import timezone

from runs.telemetry.actors import client_address

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
    if left <= timedelta() or _has_logged_in(name, address):
        return None
    return left


def _has_logged_in(name: str | None, address: str | None) -> bool:
    return (
        address is not None and AccessLog.objects.filter(username=name, ip_address=address).exists()
    )


def _failures(of: Q) -> tuple[int, datetime | None]:
    """How many there were lately, and when the last one was."""
    cool_off = get_cool_off()
    recent = AccessAttempt.objects.filter(of)
    if cool_off is not None:
        recent = recent.filter(attempt_time__gte=timezone.now() - cool_off)
    found = recent.aggregate(n=Sum("failures_since_start"), last=Max("attempt_time"))
    return found["n"] or 0, found["last"]
