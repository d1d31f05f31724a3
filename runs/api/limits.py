"""How many requests a token may make in a minute, over all processes of the site.

A process sets aside a few requests of a token's minute in the database and counts these down in
memory, so that reading writes only now and then. What a process sets aside and does not use is
lost to the others, a few requests in a minute at most.
"""

from __future__ import annotations

import threading
import time

from django.conf import settings

from runs.api.problems import Problem
from runs.models import ApiToken

AT_A_TIME = 20
MINUTE_S = 60

_left: dict[str, int] = {}
_minute = 0
_lock = threading.Lock()


def count_request(token: ApiToken) -> None:
    """Count one more request of the token.

    Raises:
        Problem: 429 where its minute is used up, with `Retry-After`.
    """
    now = time.time()
    minute = int(now // MINUTE_S)
    if _take(token.digest, minute):
        return
    limit = settings.ENV.API_REQUESTS_PER_MINUTE
    # Near the limit one by one, so that all of it can be used.
    for n in (AT_A_TIME, 1):
        if ApiToken.objects.set_aside(token.pk, minute=minute, requests=n, limit=limit):
            _keep(token.digest, minute, n - 1)
            return
    wait = max(1, int((minute + 1) * MINUTE_S - now) + 1)
    raise Problem(
        429,
        f"This token has made its {limit} requests of this minute; wait {wait} s.",
        headers={"Retry-After": str(wait)},
    )


def _take(digest: str, minute: int) -> bool:
    global _minute
    with _lock:
        if minute != _minute:
            _left.clear()
            _minute = minute
        left = _left.get(digest, 0)
        if left:
            _left[digest] = left - 1
        return left > 0


def _keep(digest: str, minute: int, n: int) -> None:
    with _lock:
        if minute == _minute:
            _left[digest] = _left.get(digest, 0) + n
