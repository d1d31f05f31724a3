"""Batches of evaluations, the queue of record of judges, and what models replied."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from judging.models.evaluations import EvaluatorVersion
from judging.querysets.batches import EvaluationBatchQuerySet


class EvaluationBatch(models.Model):
    """One evaluator version over the runs of a study or a selection, with progress and cost.

    Its runs are its items, chosen when it starts; what is done stays done, whoever dies over it.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")
        STOPPED_BY_BUDGET = "stopped_by_budget", _("stopped at its cost limit")
        FAILED = "failed", _("failed")

    class Again(models.TextChoices):
        """Which runs are evaluated although they have an evaluation."""

        NEVER = "never", _("only runs that it has not judged yet")
        NO_VERDICT = "no-verdict", _("also runs on which it came to no verdict")
        ALL = "all", _("all runs anew")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(
        "judging.Study", models.CASCADE, null=True, blank=True, related_name="batches"
    )
    """None for a selection of runs."""
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="batches")
    model = models.CharField(max_length=200, blank=True)
    """The language model that is asked; empty where none is."""
    again = models.CharField(max_length=12, choices=Again, default=Again.NEVER)
    limit = models.PositiveIntegerField(null=True, blank=True)
    max_cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    spent = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    n_unpriced = models.PositiveIntegerField(default=0)
    """Replies whose price is unknown, which `spent` does not hold."""
    estimate = models.JSONField(default=dict)

    state = models.CharField(max_length=17, choices=State, default=State.QUEUED)
    n_total = models.PositiveIntegerField(null=True)
    """How many runs it is about; None until they are chosen."""
    n_done = models.PositiveIntegerField(default=0)
    n_passed = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_not_applicable = models.PositiveIntegerField(default=0)
    n_already = models.PositiveIntegerField(default=0)
    """Runs that somebody else evaluated meanwhile."""
    error = models.TextField(blank=True)

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
    """Claims in a row that ended with their worker before a run was evaluated."""
    dispatched_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    objects = EvaluationBatchQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("batch of evaluations")
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running") & ~models.Q(model=""),
                name="one_running_batch_per_model",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "created_at"], name="batch_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluator_id} {self.state}"

    @property
    def is_active(self) -> bool:
        """Whether it may still change by itself."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)


class EvaluationBatchItem(models.Model):
    """One run of a batch, and whether the batch is through with it."""

    batch = models.ForeignKey(EvaluationBatch, models.CASCADE, related_name="items")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="+")
    position = models.PositiveIntegerField()
    is_done = models.BooleanField(default=False)

    class Meta:
        ordering = ["batch", "position"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "run"], name="run_once_per_batch"),
        ]
        indexes = [
            models.Index(
                fields=["batch", "position"],
                name="batch_item_waiting",
                condition=models.Q(is_done=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id} #{self.position}"


class JudgeReply(models.Model):
    """What a model replied, by everything that was asked of it. Kept so that nothing is paid twice.

    `reply` may quote a trajectory and is shown with evaluations only.
    """

    key = models.CharField(max_length=100, primary_key=True)
    reply = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("reply of a model")

    def __str__(self) -> str:
        return self.key
