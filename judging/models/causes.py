"""Why an evaluator was wrong about a run, and where the repair belongs."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from judging.models.evaluations import EvaluatorVersion
from judging.models.studies import StudyItem


class Cause(models.TextChoices):
    """What made the evaluator's verdict differ from the reference. An error may have several."""

    OUTPUT_FORMAT = "output_format", _("output format not stated")
    WRONG_REFERENCE = "wrong_reference", _("wrong reference")
    SEVERAL_ANSWERS = "several_answers", _("several correct answers")
    URL_FORM = "url_form", _("URL form")
    TOO_STRICT = "too_strict", _("judge too strict")
    TOO_LENIENT = "too_lenient", _("judge too lenient")
    AMBIGUOUS_TASK = "ambiguous_task", _("ambiguous task")
    CONTRADICTORY_TASK = "contradictory_task", _("contradictory task")
    INFEASIBLE = "infeasible", _("infeasible")
    ENVIRONMENT = "environment", _("environment")
    LABEL_ERROR = "label_error", _("label error")


class Repair(models.TextChoices):
    """Where the repair belongs."""

    TASK_DATA = "task_data", _("task data")
    EVALUATION_LOGIC = "evaluation_logic", _("evaluation logic")
    NEITHER = "neither", _("neither")


class CauseTag(models.Model):
    """What an auditor says of one error, appended and never edited; the newest is current.

    An error is a run of a study, an evaluator by *name*, and the kind of error. Not the version:
    the same run fails for the same reason when the evaluator is made again or configured anew,
    so its tag goes on counting for every version that still errs there, and waits for those that
    do not. `evaluator` is the version before the auditor's eyes. A tag without causes and repair
    says that the error is untagged (again).
    """

    class Error(models.TextChoices):
        FN = "fn", _("false negative")
        FP = "fp", _("false positive")

    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="cause_tags")
    evaluator_name = models.CharField(max_length=100)
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="cause_tags")
    error = models.CharField(max_length=2, choices=Error)
    causes = models.JSONField(default=list)
    """Values of `Cause`, in its order."""
    repair = models.CharField(max_length=20, choices=Repair, blank=True)
    note = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="cause_tags")
    at = models.DateTimeField(auto_now_add=True)
    batch = models.UUIDField(default=uuid.uuid4, db_index=True)
    """What was tagged together is undone together."""
    replaces = models.OneToOneField("self", models.RESTRICT, null=True, related_name="replaced_by")
    is_undo = models.BooleanField(default=False)
    is_current = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "evaluator_name", "error"],
                condition=models.Q(is_current=True),
                name="one_current_cause_tag",
            ),
        ]
        ordering = ["item", "at", "id"]
        verbose_name = _("cause of an error")

    def __str__(self) -> str:
        return f"{self.error} of {self.evaluator_name}: {', '.join(self.causes)}"

    @property
    def cause_names(self) -> list[str]:
        """The causes for people."""
        return [str(Cause(cause).label) for cause in self.causes]
