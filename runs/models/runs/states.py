"""The states of a run in the queue."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class RunStatus(models.TextChoices):
    """Where a run is on its way through the queue; says nothing about success."""

    QUEUED = "queued", _("queued")
    LEASED = "leased", _("leased")
    RUNNING = "running", _("running")
    FINISHED = "finished", _("finished")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")

    @classmethod
    def active(cls) -> list[str]:
        return [cls.QUEUED, cls.LEASED, cls.RUNNING]

    @classmethod
    def ended(cls) -> list[str]:
        return [cls.FINISHED, cls.FAILED, cls.CANCELLED]

    @classmethod
    def held(cls) -> list[str]:
        """States in which a worker, or the side that pushes the run, holds it."""
        return [cls.LEASED, cls.RUNNING]


class RunPriority(models.IntegerChoices):
    """What goes first: lower numbers do."""

    BY_HAND = 0, _("by hand")
    EXPERIMENT = 1, _("experiment")
    BACKGROUND = 2, _("when nothing else waits")
