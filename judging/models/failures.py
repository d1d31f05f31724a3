"""What people say of failed runs: their failure mode, and its cause."""

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


class FailureCause(models.TextChoices):
    """Why a run failed, of an agent that sees by screenshots alone."""

    VISION = "vision", _("vision")
    REASONING = "reasoning", _("reasoning")
    OTHER = "other", _("other")

    @classmethod
    def known(cls, value: str | None) -> FailureCause | None:
        """The cause of that value; None for none."""
        return cls(value) if value in cls.values else None


class FailureSample(models.Model):
    """Failures of one configuration drawn at random; the newest of a configuration counts.

    The same seed from the same failures draws the same runs.
    """

    experiment = models.ForeignKey(
        "runs.Experiment", models.CASCADE, related_name="failure_samples"
    )
    agent = models.ForeignKey(
        "runs.AgentConfiguration", models.PROTECT, related_name="failure_samples"
    )
    seed = models.BigIntegerField()
    wanted = models.PositiveIntegerField()
    among = models.PositiveIntegerField()
    """How many failures there were to draw from."""
    drawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    drawn_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["experiment", "agent", "-id"]
        verbose_name = _("sample of failures")

    def __str__(self) -> str:
        return f"sample {self.pk}"


class SampledFailure(models.Model):
    """One run of a sample, in the order in which it was drawn."""

    sample = models.ForeignKey(FailureSample, models.CASCADE, related_name="failures")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="sampled_as")
    position = models.PositiveIntegerField()
    proposal = models.JSONField(null=True)
    """`cause`, and `findings` that say so: see `judging.analysis.miniwob.proposing`; empty for
    none, and null until the run's screens were looked at."""

    class Meta:
        ordering = ["sample", "position"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "run"], name="a_failure_is_drawn_once"),
        ]

    def __str__(self) -> str:
        return f"failure {self.position} of sample {self.sample_id}"

    @property
    def proposed(self) -> FailureCause | None:
        return FailureCause.known((self.proposal or {}).get("cause"))


class FailureCauseTag(models.Model):
    """One person's word on why a run failed, appended and never edited; the newest is current."""

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="failure_cause_tags")
    cause = models.CharField(max_length=10, blank=True, choices=FailureCause)
    """Empty where it was taken back."""
    note = models.TextField(blank=True)
    proposed = models.CharField(max_length=10, blank=True)
    """The cause that was proposed before the person's eyes; empty for none."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="failure_cause_tags"
    )
    at = models.DateTimeField(auto_now_add=True)
    replaces = models.OneToOneField("self", models.RESTRICT, null=True, related_name="replaced_by")
    is_current = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(is_current=True),
                name="one_current_failure_cause",
            ),
        ]
        ordering = ["run", "at", "id"]
        verbose_name = _("cause of a failure")

    def __str__(self) -> str:
        return self.cause or "taken back"
