"""What people judge: labels, disagreements about them, and the reference verdict."""

import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from judging.models.studies import Guideline, Study, StudyItem


class LabelQuerySet(models.QuerySet["Label"]):
    def independent(self) -> Self:
        """Without hidden repeats, which only measure how steady one person is."""
        return self.filter(is_repeat=False)

    def with_version(self) -> Self:
        """Adds `version`: how often the label was changed; a form that changes it states it."""
        return self.annotate(version=Count("revisions"))


UNDO_S = 10
"""Seconds in which a label just submitted can be taken back, unless it was the last one awaited."""
UNDO_GRACE_S = 5
"""Seconds more for the way to the browser and back: what the page still offers is done."""


class Success(models.TextChoices):
    """What a person may say of a run."""

    SUCCESS = "success", _("success")
    FAILURE = "failure", _("failure")
    UNSURE = "unsure", _("unsure")
    NOT_EXECUTABLE = "not_executable", _("not executable")


class Label(models.Model):
    """One person's judgement of one run. Open to change until the last label of the run arrives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="labels")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="labels")
    is_repeat = models.BooleanField(default=False)
    """A hidden repeat of a run already labelled: for intra-annotator agreement only."""
    success = models.CharField(max_length=15, choices=Success)
    confidence = models.PositiveSmallIntegerField(null=True, blank=True)
    causes = models.JSONField(default=list)
    failure_step = models.PositiveIntegerField(null=True, blank=True)
    rationale = models.TextField(blank=True)
    seconds = models.FloatField(default=0.0)
    guideline = models.ForeignKey(Guideline, models.RESTRICT, null=True)
    submitted_at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=64, blank=True)
    seen = models.TextField(blank=True, default="", db_default="")
    """What of the run was on screen before, such as `0-3 end answer`; empty where no page told."""
    extra = models.JSONField(default=dict)
    """What an import carried beside: side effect, optimality, looping, raw values."""

    objects = LabelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "annotator", "is_repeat"], name="one_label_per_person"
            )
        ]
        verbose_name = "label"

    def __str__(self) -> str:
        return f"{self.success} by {self.annotator_id}"


class LabelRevision(models.Model):
    """A label as it was before a change."""

    label = models.ForeignKey(Label, models.CASCADE, related_name="revisions")
    at = models.DateTimeField(auto_now_add=True)
    content = models.JSONField()

    class Meta:
        ordering = ["label", "at"]

    def __str__(self) -> str:
        return f"{self.label_id} at {self.at}"


class StepComment(models.Model):
    """An annotator's remark on a step. Seen by others only once the run's labels are open."""

    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    is_repeat = models.BooleanField(default=False)
    """Made during a hidden repeat, which must not show the first label."""
    step_index = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item", "step_index", "id"]

    def __str__(self) -> str:
        return f"step {self.step_index}: {self.text[:40]}"


class Unblinding(models.Model):
    """The record that somebody viewed blinded data, when, and where."""

    study = models.ForeignKey(Study, models.CASCADE)
    item = models.ForeignKey(StudyItem, models.CASCADE, null=True, related_name="unblindings")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "item"],
                condition=models.Q(item__isnull=False),
                name="one_unblinding_per_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.reason}"


class MilestoneTick(models.Model):
    """One milestone in one person's label: reached or not, and where. Blinded as the label is."""

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
            models.UniqueConstraint(fields=["label", "milestone"], name="one_tick_per_milestone")
        ]
        verbose_name = "tick of a milestone"

    def __str__(self) -> str:
        return f"{self.milestone_id}: {'reached' if self.achieved else 'not reached'}"


class DisputeQuerySet(models.QuerySet["Dispute"]):
    def waiting(self) -> Self:
        """Not decided yet, in studies that are still open; the longest waiting first."""
        return self.filter(
            item__status=StudyItem.Status.DISPUTED, item__study__is_open=True
        ).order_by("opened_at")

    def decided(self) -> Self:
        """Decided ones, the latest first."""
        return self.filter(item__status=StudyItem.Status.SETTLED).order_by(
            "-item__verdict__decided_at"
        )

    def with_message_counts(self) -> Self:
        """Adds `n_messages`: how many comments the discussion has; counted for each row alone."""
        messages = DisputeMessage.objects.filter(dispute=OuterRef("pk")).order_by()
        counts = messages.values("dispute").annotate(n=Count("pk")).values("n")
        return self.annotate(n_messages=Coalesce(Subquery(counts), 0))

    def with_hidden(self, hidden: Q) -> Self:
        """Adds `is_hidden`: whether the condition holds."""
        return self.annotate(is_hidden=hidden)

    def for_list(self) -> Self:
        """With everything a row shows; nothing of the run that may be hidden."""
        return self.select_related("item__study", "item__run__task", "item__verdict").defer(
            "item__run__record", "item__run__evidence", "item__run__task__record"
        )


class Dispute(models.Model):
    """Labels of one run that differ (or hold an unsure or a not executable).

    `version` grows when a verdict ends it, and so tells that it has ended.
    """

    item = models.OneToOneField(StudyItem, models.CASCADE, related_name="dispute")
    opened_at = models.DateTimeField(auto_now_add=True)
    order_seed = models.BigIntegerField()
    """Decides which label is shown as A and which as B: says nothing about who gave it."""
    version = models.PositiveIntegerField(default=0)
    is_hidden: bool
    """Only `DisputeQuerySet.with_hidden` adds this."""

    objects = DisputeQuerySet.as_manager()

    class Meta:
        verbose_name = "dispute"

    def __str__(self) -> str:
        return f"dispute over {self.item_id}"


class DisputeMessage(models.Model):
    """A contribution to the discussion. `proposal` is the author's own verdict after it, if any."""

    dispute = models.ForeignKey(Dispute, models.CASCADE, related_name="messages")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    text = models.TextField()
    proposal = models.CharField(max_length=15, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["dispute", "created_at", "id"]

    def __str__(self) -> str:
        return self.text[:60]


class ReferenceVerdict(models.Model):
    """The verdict that evaluators are held against. A run never has two authoritative ones."""

    class Verdict(models.TextChoices):
        SUCCESS = "success", _("success")
        FAILURE = "failure", _("failure")
        NOT_EXECUTABLE = "not_executable", _("not executable")

    class Origin(models.TextChoices):
        AGREED = "agreed", _("all annotators agreed")
        CONSENSUS = "consensus", _("agreed in discussion")
        ADJUDICATED = "adjudicated", _("adjudicated")
        IMPORTED = "imported", _("imported")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    item = models.OneToOneField(StudyItem, models.CASCADE, related_name="verdict")
    run = models.ForeignKey("runs.Run", models.PROTECT, related_name="verdicts")
    verdict = models.CharField(max_length=15, choices=Verdict)
    origin = models.CharField(max_length=12, choices=Origin)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    rationale = models.TextField(blank=True)
    decided_at = models.DateTimeField()
    is_authoritative = models.BooleanField(default=True)
    run_created_at = models.DateTimeField(null=True, editable=False)
    """The run's own `created_at`, which never changes: a list of the runs that have a verdict is
    read in its order by an index. Empty where an older version stored it, until the next `migrate`.
    """
    record = models.JSONField(default=dict)
    """The adjudication as it came in; empty where it was made here."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(is_authoritative=True),
                name="one_authoritative_verdict_per_run",
            )
        ]
        indexes = [
            models.Index(
                # With the verdict last, so that one index serves one kind and several.
                fields=["-run_created_at", "-run", "verdict"],
                name="verdict_by_age_of_run",
                condition=models.Q(is_authoritative=True),
            ),
            models.Index(fields=["-decided_at", "-id"], name="verdict_newest"),
            models.Index(
                fields=["run_created_at"],
                name="verdict_without_age",
                condition=models.Q(is_authoritative=True, run_created_at=None),
            ),
        ]
        verbose_name = "reference verdict"

    def __str__(self) -> str:
        return self.verdict
