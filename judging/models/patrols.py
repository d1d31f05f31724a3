"""How far the look for runs without their evaluations has come."""

from django.db import models


class EvaluationPatrol(models.Model):
    """The one row of `judging.evaluating.overlooked`: where its walk through the runs stands.

    Lost, the walk begins anew.
    """

    begun_at = models.DateTimeField()
    came_to_at = models.DateTimeField(null=True)
    """When the run that was looked at last was made; empty where the walk is over."""
    came_to = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.begun_at}: {self.came_to_at}"
