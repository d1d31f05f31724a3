"""Long work in the background: leased by one worker at a time, resumed where it stopped."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.leased_work_queries import DEFAULT, LeasedWorkQuerySet, queue_of


class LeasedWork(models.Model):
    """A row of a queue of record: how far the work is, and who may write to it."""

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")
        STOPPED_BY_BUDGET = "stopped_by_budget", _("stopped at its cost limit")
        FAILED = "failed", _("failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=17, choices=State, default=State.QUEUED)
    n_total = models.PositiveIntegerField(null=True)
    """How many pieces it has; None until that is known."""
    n_done = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    """Why it stopped, in words; empty while it goes well."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    lease_token = models.PositiveIntegerField(default=0)
    """Fencing token: grows with every claim, and writes carry it; a stale one is refused."""
    lease_expires_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True)
    n_done_at_claim = models.PositiveIntegerField(default=0)
    n_barren = models.PositiveSmallIntegerField(default=0)
    """Claims in a row that ended with their worker before a piece was done."""
    dispatched_at = models.DateTimeField(null=True)
    """When a worker was last told of it."""
    cancel_requested_at = models.DateTimeField(null=True)

    objects = LeasedWorkQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["-created_at"]
        indexes = [
            # What the top bar of every page counts; few rows, however many have ended. Of two
            # states with "or", as `active` asks: SQLite takes no partial index for a list.
            models.Index(
                fields=["created_by", "created_at"],
                name="%(class)s_active",
                condition=models.Q(state="queued") | models.Q(state="running"),
            ),
        ]

    title_reads: ClassVar[tuple[str, ...]] = ()
    """Relations that `title` reads."""

    def get_absolute_url(self) -> str:
        """The page on which it can be watched."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """What is being done, in words."""
        raise NotImplementedError

    @property
    def queue(self) -> str:
        """The queue whose workers carry it out."""
        return DEFAULT

    @property
    def is_active(self) -> bool:
        """Whether it may still change by itself."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def can_resume(self) -> bool:
        """Whether it stopped before it was through, so that it can go on from there."""
        return not self.is_active and self.state != self.State.FINISHED


class PaidWork(LeasedWork):
    """Leased work that asks a language model, with what that may cost and has cost.

    It consists of items, chosen when it starts; what is done stays done, whoever dies over it.
    """

    model = models.CharField(max_length=200, blank=True)
    """The language model that is asked, by its name in the file of models; empty where none is."""
    max_cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    """US dollars, as are all costs here; None for no limit."""
    spent = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    n_unpriced = models.PositiveIntegerField(default=0)
    """Replies whose price is unknown, which `spent` does not hold."""
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    estimate = models.JSONField(default=dict)
    """What it was expected to take, as it was shown."""

    class Meta(LeasedWork.Meta):
        abstract = True

    @property
    def queue(self) -> str:
        return queue_of(self.model)
