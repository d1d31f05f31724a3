"""Studies: which runs are judged, by whom, under which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from runs.models import User


class StudyQuerySet(models.QuerySet["Study"]):
    def of(self, user: User, part: str | None = None) -> Self:
        """Studies in which the person has a part now."""
        if part:
            return self.filter(members__user=user, members__left_at=None, members__part=part)
        return self.filter(members__user=user, members__left_at=None)

    def listed_for(self, user: User) -> Self:
        """Studies that the person may open: all with the permission, else their own."""
        return self.all() if user.has_perm("judging.view_study") else self.of(user)


class Study(models.Model):
    """A sample of runs that people judge under one protocol."""

    name = models.CharField("name", max_length=200, unique=True)
    description = models.TextField("description", blank=True)
    is_demo = models.BooleanField(default=False)
    is_open = models.BooleanField("open", default=True)
    """Closing is for good: nobody labels any more, and nobody is blinded by it."""
    labels_per_run = models.PositiveSmallIntegerField(
        "labels per run", default=2, validators=[MinValueValidator(2), MaxValueValidator(5)]
    )
    hides_identity = models.BooleanField("hide agent and model", default=True)
    repeat_share = models.FloatField(
        "share of hidden repeats",
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(0.5)],
    )
    asks_milestones = models.BooleanField("ask for milestones", default=False)
    """Whether annotators say of each milestone of a run's task if and where it was reached."""
    asks_failure_details = models.BooleanField("ask for details of failures", default=False)
    """Whether a failure needs its step, a cause and a reason."""
    taxonomy = models.JSONField("failure causes", default=list)
    """Causes of failure to choose from: [{"key", "name"}]."""
    run_filter = models.JSONField(default=dict)
    """The filter the sample was drawn from, as the query of the runs table."""
    sample_seed = models.BigIntegerField(default=0)
    sample_size = models.PositiveIntegerField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "study"
        verbose_name_plural = "studies"
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="study_newest"),
            models.Index(fields=["-is_open", "-created_at", "-id"], name="study_open_first"),
        ]
        permissions = [
            ("view_audit", "Can read evaluators' verdicts and audits"),
            ("adjudicate", "Can adjudicate disputes"),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def newest_guideline(self) -> Guideline | None:
        """The guidelines in force."""
        return self.guidelines.order_by("-version").first()


class Guideline(models.Model):
    """One version of a study's guidelines (Markdown). Versions are never edited."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one_guideline_version")
        ]

    def __str__(self) -> str:
        return f"v{self.version}"


class StudyMember(models.Model):
    """A person's role in a study, which blinds them.

    The row stays when they leave, and so does their blindness: whoever left can come back.
    """

    class Part(models.TextChoices):
        ANNOTATOR = "annotator", _("annotator")
        ADJUDICATOR = "adjudicator", _("adjudicator")

    study = models.ForeignKey(Study, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="study_parts")
    part = models.CharField(max_length=12, choices=Part)
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_part_per_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.part}"


class StudyItem(models.Model):
    """One run in a study, and how far its judgement has come.

    open -> (labels_per_run labels) -> settled if they agree, else disputed -> settled.
    """

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        DISPUTED = "disputed", _("disputed")
        SETTLED = "settled", _("settled")

    study = models.ForeignKey(Study, models.CASCADE, related_name="items")
    run = models.ForeignKey("runs.Run", models.PROTECT, related_name="study_items")
    position = models.PositiveIntegerField()
    """Its number on every page and in every table of the study, from 1."""
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    n_labels = models.PositiveSmallIntegerField(default=0)
    """Submitted labels (hidden repeats apart); kept by the services, never above the protocol's."""
    run_created_at = models.DateTimeField(null=True, editable=False)
    """The run's own `created_at`, which never changes: the newest runs of somebody who sees only
    those of their studies are found by it. None: stored by an older version."""

    class Meta:
        ordering = ["study", "position"]
        constraints = [models.UniqueConstraint(fields=["study", "run"], name="run_once_per_study")]
        indexes = [
            models.Index(fields=["study", "status"], name="item_by_status"),
            models.Index(fields=["study", "position"], name="item_by_position"),
            models.Index(
                fields=["study"], name="item_in_dispute", condition=models.Q(status="disputed")
            ),
            models.Index(
                fields=["study", "-run_created_at", "-run"],
                name="item_by_age_of_run",
                condition=~models.Q(status="open"),
            ),
            models.Index(
                fields=["study"], name="item_without_age", condition=models.Q(run_created_at=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id} #{self.position}"


class Assignment(models.Model):
    """A run assigned to an annotator: reserved while leased; it keeps the draft for good."""

    class State(models.TextChoices):
        LEASED = "leased", _("in work")
        SUBMITTED = "submitted", _("submitted")
        SKIPPED = "skipped", _("skipped")

    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="assignments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="assignments")
    is_repeat = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.LEASED)
    leased_until = models.DateTimeField()
    opened_at = models.DateTimeField()
    draft = models.JSONField(default=dict)
    draft_saved_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0.0)
    """Time with the page open and active, as the page reports it, bounded by the clock."""
    skip_reason = models.TextField(blank=True)
    skipped_at = models.DateTimeField(null=True)
    n_skips = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "user", "is_repeat"], name="one_assignment_per_person"
            )
        ]
        indexes = [
            models.Index(fields=["user", "state"], name="assignment_by_user"),
            models.Index(
                fields=["leased_until"],
                name="assignment_in_work",
                condition=models.Q(state="leased"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} for {self.user_id}"
