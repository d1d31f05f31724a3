"""Long work that asks a language model and is no evaluation; the hints that it writes.

A hint is what a successful run taught; a choice says which of them a run was told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from runs.models.hooks import LinkedPage, address_above
from runs.models.leased_work import PaidWork

if TYPE_CHECKING:
    from runs.models.people import User


class LearningJob(PaidWork):
    """One piece of learning from runs, such as extracting knowledge, with progress and cost."""

    class Kind(models.TextChoices):
        EXTRACT = "extract", _("extract web knowledge")
        SUMMARISE = "summarise", _("summarise web knowledge")
        HINTS = "hints", _("write hints")
        MILESTONES = "milestones", _("propose milestones")

    kind = models.CharField(max_length=20, choices=Kind)
    params = models.JSONField(default=dict)
    """What the job is about, in the words of its kind."""
    report = models.JSONField(default=dict)
    """What came of it, in the words of its kind; empty until it is through."""
    n_problems = models.PositiveIntegerField(default=0)
    """Items that nothing came of."""

    class Meta(PaidWork.Meta):
        verbose_name = "learning job"
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running"),
                name="one_running_learning_job_per_model",
            )
        ]
        indexes = [
            *PaidWork.Meta.indexes,
            models.Index(fields=["state", "created_at"], name="learning_job_by_state"),
            models.Index(fields=["kind", "-created_at"], name="learning_job_by_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"

    def get_absolute_url(self) -> str:
        if self.kind == self.Kind.MILESTONES:
            return address_above(LinkedPage.MILESTONE_PROPOSALS, self.params["task"])
        page = "hint_job" if self.kind == self.Kind.HINTS else "learning_job"
        return reverse(f"runs:{page}", args=[self.pk])

    @property
    def title(self) -> str:
        name = self.params.get("name")
        return f"{self.get_kind_display()}: {name}" if name else str(self.get_kind_display())


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
            models.UniqueConstraint(fields=["job", "key"], name="item_once_per_learning_job")
        ]

    def __str__(self) -> str:
        return f"{self.job_id} #{self.position}"


class HintQuerySet(models.QuerySet["Hint"]):
    def visible_to(self, user: User) -> Self:
        """Hints whose source hides nothing from the person: each tells that it succeeded.

        Those on tasks that the person still judges are left out too: they tell a way to succeed.
        """
        runs: Any = self.model._meta.get_field("source").related_model
        tasks: Any = runs._meta.get_field("task").related_model
        told = runs.objects.visible_to(user).not_blind().not_anonymous().order_by()
        open_to = self.filter(Exists(told.filter(pk=OuterRef("source"))))
        further: Any = self.model._meta.get_field("further").related_model
        hidden = further.objects.exclude(Exists(told.filter(pk=OuterRef("run"))))
        open_to = open_to.exclude(Exists(hidden.filter(hint=OuterRef("pk"))))
        return open_to.exclude(tasks.objects.is_sealed(user, "source__task"))

    def for_list(self) -> Self:
        """With all that a list shows."""
        return self.select_related("source__task__task_set", "job")


class HintLevel(models.TextChoices):
    """How far a hint is from the run that it was written from."""

    CONCRETE = "concrete", _("concrete procedure")
    ABSTRACT = "abstract", _("abstract procedure")
    INSIGHTS = "insights", _("general insights")


class HintRelatedness(models.TextChoices):
    """How near the source of a hint is to the task that gets it."""

    SAME_TASK = "same_task", _("same task")
    SAME_SITE_HIGHEST = "same_site_highest", _("same site, highest BM25")
    SAME_SITE_LOWEST = "same_site_lowest", _("same site, lowest BM25")
    OTHER_SITE_LOWEST = "other_site_lowest", _("other site, lowest BM25")


class Hint(models.Model):
    """A text for agents, written from one successful run. It never changes: see `triggers`.

    That there is one tells that its source succeeded, so it is as hidden as that run's outcome.
    """

    job = models.ForeignKey(LearningJob, models.PROTECT, related_name="hints")
    """What had it written; names model and who said that the source succeeded."""
    source = models.ForeignKey("runs.Run", models.PROTECT, related_name="hints")
    level = models.CharField(max_length=10, choices=HintLevel)
    text = models.TextField()
    model = models.CharField(max_length=200)
    """The model by the name that its provider returned."""
    prompt_version = models.CharField(max_length=20)
    prompt_hash = models.CharField(max_length=64)
    asks = models.PositiveSmallIntegerField()
    """How often the model was asked until the text passed the checks."""
    faults = models.JSONField(default=list)
    """What was wrong with the texts before, a list for each."""
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    """US dollars; empty where the price is unknown."""
    seconds = models.FloatField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = HintQuerySet.as_manager()

    class Meta:
        ordering = ["job", "source", "level"]
        verbose_name = "hint"
        constraints = [
            models.UniqueConstraint(fields=["job", "source", "level"], name="one_hint_per_level")
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.source_id}"


class HintSource(models.Model):
    """A further run that a hint was written from, beside its `source`: of the same task."""

    hint = models.ForeignKey(Hint, models.CASCADE, related_name="further")
    run = models.ForeignKey("runs.Run", models.PROTECT, related_name="further_hints")

    class Meta:
        ordering = ["hint", "pk"]
        verbose_name = "further source of a hint"
        constraints = [
            models.UniqueConstraint(fields=["hint", "run"], name="one_hint_source_per_run")
        ]

    def __str__(self) -> str:
        return f"{self.hint_id}: {self.run_id}"


class HintSet(models.Model):
    """Which hint each of some tasks is given, under a key that agents' configurations name.

    It never changes, and neither do its choices; the key holds a hash of them.
    """

    key = models.CharField(max_length=100, unique=True)
    job = models.ForeignKey(LearningJob, models.PROTECT, related_name="hint_sets")
    level = models.CharField(max_length=10, choices=HintLevel)
    relatedness = models.CharField(max_length=20, choices=HintRelatedness)
    method = models.CharField(max_length=100)
    """What the scores were computed by."""
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at", "pk"]
        verbose_name = "hint set"

    def __str__(self) -> str:
        return f"{self.get_level_display()}, {self.get_relatedness_display()}"


class HintChoice(models.Model):
    """The hint that one task is given, and how its source was found."""

    hint_set = models.ForeignKey(HintSet, models.CASCADE, related_name="choices")
    task = models.ForeignKey("runs.Task", models.PROTECT, related_name="hint_choices")
    hint = models.ForeignKey(Hint, models.PROTECT, related_name="choices")
    score = models.FloatField()
    """BM25 of the source's text for the task's."""
    n_tied = models.PositiveIntegerField()
    """How many sources had this very score; one was drawn."""

    class Meta:
        ordering = ["hint_set", "task"]
        verbose_name = "choice of a hint"
        constraints = [
            models.UniqueConstraint(fields=["hint_set", "task"], name="one_hint_per_task")
        ]

    def __str__(self) -> str:
        return f"{self.hint_set_id}: {self.task_id}"
