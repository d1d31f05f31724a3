"""A limit on tries to log in that are spread: over addresses, or over names.

django-axes stops one address that tries one name. Whoever has many addresses, or tries one
password with every name, stays below that; here such tries are counted together.
"""

from __future__ import annotations

from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.core.exceptions import PermissionDenied
from django.db.models import Q, Sum
from django.http import HttpRequest
from django.utils import timezone

from runs.acting import client_address

MOST_TRIES = 100
"""Failed ones of a name from everywhere, or from an address with all names, while a lock lasts.
An address may be that of a whole laboratory."""


class SpreadTriesBackend:
    """Authenticates nobody; refuses where too many tries have failed lately."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **_: Any
    ) -> None:
        if request is None or not getattr(request, "axes_attempt_time", None):
            return
        if _failures(Q(username=username)) >= MOST_TRIES or (
            (address := client_address(request)) and _failures(Q(ip_address=address)) >= MOST_TRIES
        ):
            request.axes_locked_out = True  # type: ignore[attr-defined]
            raise PermissionDenied


def _failures(of: Q) -> int:
    cool_off = get_cool_off()
    recent = AccessAttempt.objects.filter(of)
    if cool_off is not None:
        recent = recent.filter(attempt_time__gte=timezone.now() - cool_off)
    return recent.aggregate(n=Sum("failures_since_start"))["n"] or 0
