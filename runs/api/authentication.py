"""Who asks, and what their token is for.

How many requests a token may make in a minute, over all processes of the site.

A process sets aside a few requests of a token's minute in the database and counts these down in
memory, so that reading writes only now and then. What a process sets aside and does not use is
lost to the others, a few requests in a minute at most.
"""

import threading
import time

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from runs.api.bodies import body_of
from runs.api.problems import Problem, forbidden
from runs.interface.requests import AppRequest
from runs.models import ApiToken, Scope
from runs.models.people import KEY_START, PREFIX_CHARS

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


class ApiRequest(AppRequest):
    """A request that showed a token: `user` is the token's owner."""

    auth: ApiToken


class Bearer(HttpBearer):
    """Demands a live token with a scope, whose owner has the permissions; then reads the body.

    Sessions count for nothing here, so no other site can have a browser ask in somebody's name.
    """

    def __init__(self, scope: Scope, *permissions: str) -> None:
        super().__init__()
        self.scope = scope
        self.permissions = permissions

    def __call__(self, request: HttpRequest) -> ApiToken:
        kind, _space, key = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise _unknown(f"Send a token: `Authorization: Bearer {KEY_START}…`.")
        return self.authenticate(request, key.strip())

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """The token of this key.

        Raises:
            Problem: 401 where it opens nothing, 403 where not this, 429 where it is used up.
        """
        found = token_of(token)
        if found is None:
            raise _unknown("This token is unknown, expired or revoked.")
        count_request(found)
        request.user = found.owner
        vars(request)["acts_via"] = f"token {found.prefix}"
        if self.scope not in found.scopes:
            raise Problem(
                403, f"This token lacks the scope {self.scope.value}.", kind="scope-missing"
            )
        if not found.owner.has_perms(self.permissions):
            raise forbidden()
        if request.content_type == "application/json":
            body_of(request)
        return found


def token_of(key: str) -> ApiToken | None:
    """The live token that has this key, with its owner, if the account is in use."""
    row = (
        ApiToken.objects.live()
        .select_related("owner")
        .filter(prefix=key[:PREFIX_CHARS], owner__is_active=True)
        .first()
    )
    return row if row is not None and row.opens(key) else None


def _unknown(detail: str) -> Problem:
    return Problem(
        401,
        detail,
        kind="unauthenticated",
        headers={"WWW-Authenticate": 'Bearer realm="Crosscheck"'},
    )
