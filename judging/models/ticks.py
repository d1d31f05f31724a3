"""What people say of each milestone."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from judging.models.labels import Label


class MilestoneTick(models.Model):
    """One milestone in one person's label: reached or not, and where. As blind as the label."""

    label = models.ForeignKey(Label, models.CASCADE, related_name="ticks")
    milestone = models.ForeignKey("runs.Milestone", models.PROTECT, related_name="ticks")
    achieved = models.BooleanField()
    step = models.PositiveIntegerField(null=True)
    """Index of the step whose action reached it; None where none did."""
    lost_step = models.PositiveIntegerField(null=True)
    """Index of the step whose action lost it again; None where it held to the end."""

    class Meta:
        ordering = ["label", "milestone__position", "milestone"]
        constraints = [
            models.UniqueConstraint(fields=["label", "milestone"], name="one_tick_per_milestone"),
        ]
        verbose_name = _("tick of a milestone")

    def __str__(self) -> str:
        return f"{self.milestone_id}: {'reached' if self.achieved else 'not reached'}"
