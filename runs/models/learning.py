"""Long work that asks a language model and is no evaluation: its queue of record."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.querysets.learning import LearningJobQuerySet


class LearningJob(models.Model):
    """One piece of learning from runs, such as extracting knowledge, with progress and cost.

    It consists of items, chosen when it starts; what is done stays done, whoever dies over it.
    """

    class Kind(models.TextChoices):
        EXTRACT = "extract", _("extract web knowledge")
        SUMMARISE = "summarise", _("summarise web knowledge")
        HINTS = "hints", _("write hints")
        MILESTONES = "milestones", _("propose milestones")

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")
        STOPPED_BY_BUDGET = "stopped_by_budget", _("stopped at its cost limit")
        FAILED = "failed", _("failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20, choices=Kind)
    model = models.CharField(max_length=200)
    """The language model that is asked, by its name in the file of models."""
    params = models.JSONField(default=dict)
    """What the job is about, in the words of its kind."""
    estimate = models.JSONField(default=dict)
    report = models.JSONField(default=dict)
    """What came of it, in the words of its kind; empty until it is through."""

    state = models.CharField(max_length=17, choices=State, default=State.QUEUED)
    n_total = models.PositiveIntegerField(null=True)
    """How many items it has; None until they are chosen."""
    n_done = models.PositiveIntegerField(default=0)
    n_problems = models.PositiveIntegerField(default=0)
    """Items that nothing came of."""
    max_cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    spent = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    n_unpriced = models.PositiveIntegerField(default=0)
    """Replies whose price is unknown, which `spent` does not hold."""
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
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
    """Claims in a row that ended with their worker before an item was done."""
    dispatched_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    objects = LearningJobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("learning job")
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running"),
                name="one_running_learning_job_per_model",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "created_at"], name="learning_job_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"

    @property
    def is_active(self) -> bool:
        """Whether it may still change by itself."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)


class LearningItem(models.Model):
    """One piece of a job, done at one go: what it is about, and what came of it."""

    job = models.ForeignKey(LearningJob, models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200)
    """What it is about, in the words of the job's kind, such as the id of a run."""
    is_done = models.BooleanField(default=False)
    result = models.JSONField(default=dict)
    problem = models.TextField(blank=True)
    """Why nothing came of it, in words; empty where something did."""

    class Meta:
        ordering = ["job", "position"]
        constraints = [
            models.UniqueConstraint(fields=["job", "key"], name="item_once_per_learning_job"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} #{self.position}"
