"""Marks on a run's timeline: anomalies, rollbacks, model switches."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Event(models.Model):
    """Something over a span of steps. `detector` is empty where the run itself says so."""

    class Kind(models.TextChoices):
        LOOP = "loop", _("loop")
        FALSE_COMPLETION = "false_completion", _("false completion")
        ROLLBACK = "rollback", _("back to an earlier step")
        MODEL_SWITCH = "model_switch", _("model switch")
        REPLAY_DIVERGED = "replay_diverged", _("replay diverged")

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind)
    first_step = models.PositiveIntegerField()
    last_step = models.PositiveIntegerField()
    detector = models.CharField(max_length=100, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["first_step", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(last_step__gte=models.F("first_step")), name="event_span"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.first_step}-{self.last_step}"
