"""Evaluators and their verdicts."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _


class EvaluatorVersion(models.Model):
    """One evaluator with one configuration. Any change of either is another version."""

    class Kind(models.TextChoices):
        REWARD = "reward", _("imported reward")
        MATCHER = "matcher", _("matcher")
        JUDGE = "judge", _("LLM judge")
        SELF_JUDGE = "self_judge", _("agent's own judge")
        NETWORK = "network", _("network trace")
        PIPELINE = "pipeline", _("pipeline")

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=Kind)
    version = models.CharField(max_length=100)
    config = models.JSONField(default=dict)
    config_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "version"]
        verbose_name = _("evaluator")

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Evaluation(models.Model):
    """One evaluator's verdict on one run. Appended, never edited; `is_current` marks the newest."""

    class Verdict(models.TextChoices):
        PASSED = "passed", _("passed")
        FAILED = "failed", _("failed")
        ERROR = "error", _("no verdict")
        NOT_APPLICABLE = "not_applicable", _("not applicable")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="evaluations", db_index=False)
    """Looked up by the index `evaluation_by_run`."""
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="evaluations")
    verdict = models.CharField(max_length=15, choices=Verdict)
    score = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    """Why there is no verdict, in a few words; empty where there is one."""
    details = models.JSONField(default=dict)
    """Checks with expected, actual and normalised values, and the rule that decided."""
    rationale = models.TextField(blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    seconds = models.FloatField(null=True)
    record = models.JSONField(default=dict)
    task = models.ForeignKey(
        "runs.Task", models.SET_NULL, null=True, blank=True, related_name="evaluations"
    )
    """The version of the task that was judged, which need not be the run's own."""
    batch = models.ForeignKey(
        "judging.EvaluationBatch",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="evaluations",
    )
    is_current = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "evaluator"],
                condition=models.Q(is_current=True),
                name="one_current_evaluation",
            ),
        ]
        indexes = [
            models.Index(fields=["evaluator", "verdict", "run"], name="evaluation_cells"),
            # Matrices of all evaluators over a study's runs are counted from this alone.
            models.Index(
                fields=["run", "evaluator", "verdict", "is_current"], name="evaluation_by_run"
            ),
            models.Index(
                fields=["batch", "verdict"],
                name="evaluation_by_batch",
                condition=models.Q(batch__isnull=False),
            ),
        ]
        verbose_name = _("evaluation")

    def __str__(self) -> str:
        return f"{self.evaluator_id}: {self.verdict}"
