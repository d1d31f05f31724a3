"""People, their tokens of the API, and answers kept for requests that are sent twice."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from datetime import datetime


class User(AbstractUser):
    """An account. What it may do comes from its groups; how it likes things from here."""

    preferences = models.JSONField(default=dict, blank=True)


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def offered_to(self, user: User, list_name: str | None = None) -> Self:
        """The person's own, and those that others share; the latter for who may see all runs.

        A name may tell what an annotator is blinded to.

        Args:
            list_name: only those of this list.
        """
        shared = Q(is_shared=True) if user.has_perm("runs.view_run") else Q()
        of_list = Q() if list_name is None else Q(list_name=list_name)
        return self.filter(Q(owner=user) | shared, of_list).select_related("owner")


class SavedView(models.Model):
    """Filters and order of a list under a name."""

    list_name = models.CharField(max_length=20, default="run")
    """Of the list: see `runs.interface.lists`."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=100)
    query = models.CharField(max_length=2000)
    """What the address of the table ends with."""
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        verbose_name = "saved view"
        constraints = [
            models.UniqueConstraint(fields=["owner", "list_name", "name"], name="one_view_per_list")
        ]

    def __str__(self) -> str:
        return self.name


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
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


KEY_START = "cck_"
"""By which scanners of source code can tell a key of ours."""
PREFIX_CHARS = 12
ANSWERS_KEPT = timedelta(hours=24)
"""How long the answer to a request is given again under its key."""


class Scope(models.TextChoices):
    """What a token may be used for, at most: its owner must be allowed the same."""

    RUNS_READ = "runs:read", _("read runs, tasks and experiments")
    RUNS_WRITE = "runs:write", _("push runs")
    RERUNS_LAUNCH = "reruns:launch", _("launch and cancel reruns")
    VERDICTS_READ = "verdicts:read", _("read verdicts, evaluations and matrices")
    EVALUATIONS_LAUNCH = "evaluations:launch", _("launch and cancel evaluations")


SCOPE_NEEDS: dict[Scope, tuple[str, ...]] = {
    Scope.RUNS_READ: (),
    Scope.RUNS_WRITE: ("runs.import_run",),
    Scope.RERUNS_LAUNCH: ("runs.rerun_run",),
    Scope.VERDICTS_READ: (),
    Scope.EVALUATIONS_LAUNCH: ("judging.view_audit",),
}
"""The permissions without which a scope opens nothing."""


class ApiToken(models.Model):
    """A key to the API in its owner's name. The key itself is nowhere kept."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, unique=True)
    """The open beginning of the key, by which its row is found."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the whole key, which is random enough to need no slow hash."""
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    """To the minute."""
    counted_minute = models.BigIntegerField(default=0)
    """The minute since 1970 that `counted` is of."""
    counted = models.PositiveIntegerField(default=0)
    """Requests that processes have set aside for themselves in that minute."""

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name

    def opens(self, key: str) -> bool:
        """Whether this is its key; takes as long for a wrong one."""
        return hmac.compare_digest(self.digest, digest_of(key))

    def is_live(self, now: datetime | None = None) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > (now or timezone.now())

    @property
    def scope_words(self) -> list[str]:
        """Its scopes in words, in their order."""
        return [str(scope.label) for scope in Scope if scope.value in self.scopes]


class ApiAnswer(models.Model):
    """The answer to a request that carried an `Idempotency-Key`, to be given again.

    Written in the transaction of the effect, so that there is one exactly where there is the other.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    location = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = "answer of the API"
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return self.key


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()
