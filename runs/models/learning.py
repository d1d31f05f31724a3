"""Long work that asks a language model and is no evaluation: its queue of record."""

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from runs.models.hooks import LinkedPage, address_above
from runs.models.leased_work import PaidWork


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
        verbose_name = _("learning job")
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running"),
                name="one_running_learning_job_per_model",
            ),
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
            models.UniqueConstraint(fields=["job", "key"], name="item_once_per_learning_job"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} #{self.position}"
