"""Who asks, and what their token is for."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from runs.api.bodies import body_of
from runs.api.limits import count_request
from runs.api.problems import Problem, forbidden
from runs.interface.fragments import AppRequest
from runs.models import ApiToken, Scope
from runs.models.api import KEY_START, PREFIX_CHARS


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
