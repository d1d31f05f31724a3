"""Reads of API tokens, and the count of their requests."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

TokenRow = TypeVar("TokenRow", bound=models.Model, covariant=True)


class ApiTokenQuerySet(models.QuerySet[TokenRow]):
    """Queries over tokens. Generic, since the model is defined above this layer."""

    def live(self) -> Self:
        """Tokens that open something now."""
        return self.filter(revoked_at=None, expires_at__gt=Now())

    def set_aside(self, token_id: Any, *, minute: int, requests: int, limit: int) -> bool:
        """Take so many requests of a token's minute; False where fewer than these are left.

        One statement, so that the limit holds whatever other processes take at the same time.
        The first of a minute also notes that the token is used.
        """
        goes_on = Q(counted_minute=minute)
        left = ~goes_on | Q(counted__lte=limit - requests)
        taken = self.filter(left, pk=token_id).update(
            counted=Case(When(goes_on, then=F("counted")), default=Value(0)) + requests,
            last_used_at=Case(When(goes_on, then=F("last_used_at")), default=Now()),
            counted_minute=minute,
        )
        return bool(taken)
