"""What people say of how a run failed: confirming, changing or rejecting what was proposed."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from webagent.recovery.failure_kinds import Mode, Side


class FailureReview(models.Model):
    """One person's word on how a run failed, appended and never edited; the newest is current.

    It is about the run, whatever study or experiment it is looked at in. `proposed` keeps what
    was before the person's eyes, so that it can be told how often proposals were right.
    """

    class Decision(models.TextChoices):
        CONFIRMED = "confirmed", _("confirmed")
        CHANGED = "changed", _("changed")
        REJECTED = "rejected", _("rejected")
        OWN = "own", _("said without a proposal")
        WITHDRAWN = "withdrawn", _("taken back")

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="failure_reviews")
    decision = models.CharField(max_length=10, choices=Decision)
    modes = models.JSONField(default=dict)
    """An object whose keys are values of `Mode`, so that databases can look for one."""
    side = models.CharField(max_length=10, blank=True)
    """A value of `Side`; empty where it is neither or nobody knows."""
    note = models.TextField(blank=True)
    proposed = models.JSONField(default=dict)
    """`modes` (values of `Mode`), `side`, and `evaluations`, the ids of those that said so."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="failure_reviews")
    at = models.DateTimeField(auto_now_add=True)
    batch = models.UUIDField(default=uuid.uuid4, db_index=True)
    """What was said together is undone together."""
    replaces = models.OneToOneField("self", models.RESTRICT, null=True, related_name="replaced_by")
    is_current = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(is_current=True),
                name="one_current_failure_review",
            ),
        ]
        ordering = ["run", "at", "id"]
        verbose_name = _("word on a failure")

    def __str__(self) -> str:
        return f"{self.decision}: {', '.join(self.modes)}"

    @property
    def named(self) -> list[Mode]:
        """The modes, in their order."""
        return [mode for mode in Mode if mode in self.modes]

    @property
    def known_side(self) -> Side | None:
        return Side(self.side) if self.side in set(Side) else None
