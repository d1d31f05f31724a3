"""Who is told more than that the site lives."""

from __future__ import annotations

import hmac
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

from runs.telemetry.actors import client_address


def may_watch(request: HttpRequest) -> bool:
    """Whether the request holds the token of the settings, or comes from a network named there.

    Where neither is set nobody may.
    """
    return _holds_token(request) or _comes_from_within(request)


def _holds_token(request: HttpRequest) -> bool:
    token = settings.ENV.METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _comes_from_within(request: HttpRequest) -> bool:
    if "X-Forwarded-For" in request.headers:
        address = client_address(request)
    else:
        address = request.META.get("REMOTE_ADDR")  # called directly, past the proxy
    if not address:
        return False
    return any(ip_address(address) in ip_network(name) for name in settings.ENV.METRICS_NETWORKS)
