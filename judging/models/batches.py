"""Batches of evaluations, the queue of record of judges, and what models replied."""

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.models.evaluations import EvaluatorVersion
from runs.models.leased_work import PaidWork


class EvaluationBatch(PaidWork):
    """One evaluator version over the runs of a study or a selection, with progress and cost.

    Its items are its runs.
    """

    class Again(models.TextChoices):
        """Which runs are evaluated although they have an evaluation."""

        NEVER = "never", _("only runs that it has not judged yet")
        NO_VERDICT = "no-verdict", _("also runs on which it came to no verdict")
        ALL = "all", _("all runs anew")

    study = models.ForeignKey(
        "judging.Study", models.CASCADE, null=True, blank=True, related_name="batches"
    )
    """None for a selection of runs."""
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="batches")
    again = models.CharField(max_length=12, choices=Again, default=Again.NEVER)
    limit = models.PositiveIntegerField(null=True, blank=True)
    n_passed = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_not_applicable = models.PositiveIntegerField(default=0)
    n_already = models.PositiveIntegerField(default=0)
    """Runs that somebody else evaluated meanwhile."""

    class Meta(PaidWork.Meta):
        verbose_name = _("batch of evaluations")
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running") & ~models.Q(model=""),
                name="one_running_batch_per_model",
            ),
        ]
        indexes = [
            *PaidWork.Meta.indexes,
            models.Index(fields=["state", "created_at"], name="batch_by_state"),
            models.Index(fields=["-created_at", "-id"], name="batch_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluator_id} {self.state}"

    title_reads = ("evaluator",)

    def get_absolute_url(self) -> str:
        return reverse("judging:batch_detail", args=[self.pk])

    @property
    def title(self) -> str:
        return gettext("evaluation by %(evaluator)s") % {"evaluator": self.evaluator}


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
