"""Making and revoking tokens of the API."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from runs.accounts.audit_log import record_act
from runs.models import ApiToken, Scope, User
from runs.models.api import KEY_START, PREFIX_CHARS, digest_of
from runs.models.audit_kinds import TOKEN_MADE, TOKEN_REVOKED

LONGEST_LIFE_DAYS = 365
SECRET_BYTES = 32


@transaction.atomic
def create_token(
    *, owner: User, name: str, scopes: Collection[Scope], days: int
) -> tuple[ApiToken, str]:
    """A new token, and its key, which nobody can read again."""
    key = KEY_START + secrets.token_urlsafe(SECRET_BYTES)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        prefix=key[:PREFIX_CHARS],
        digest=digest_of(key),
        scopes=[scope.value for scope in Scope if scope in scopes],
        expires_at=timezone.now() + timedelta(days=days),
    )
    record_act(TOKEN_MADE, about=token, words=_words(token), after=", ".join(token.scopes))
    return token, key


@transaction.atomic
def revoke_token(*, token: ApiToken) -> bool:
    """Make the token open nothing from now on; False if it was revoked already."""
    revoked = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())
    if revoked:
        record_act(TOKEN_REVOKED, about=token, words=_words(token))
    return bool(revoked)


def _words(token: ApiToken) -> str:
    return f"{token.prefix}… {token.name} ({token.owner})"
