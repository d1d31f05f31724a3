"""Steps of a run: what was seen, thought, done, and caused."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.blobs import Blob
from webagent.trajectory.records import StepRecord

BLOBS = ("screenshot", "marked_screenshot", "after_screenshot", "tree", "after_tree")
"""Columns that name a file."""


def _blob() -> models.ForeignKey[Blob | None, Blob | None]:
    """A reference to a file, looked up by an index of those that are there (see `Meta`).

    An index that comes by itself holds every row, and on PostgreSQL it comes twice, the second
    time for patterns: ten of them took more room than the steps' texts, and half of the time that
    storing steps took.
    """
    return models.ForeignKey(
        "runs.Blob", models.PROTECT, null=True, related_name="+", db_index=False
    )


class Step(models.Model):
    """One step. The columns are what the timeline draws; `record` holds the rest, losslessly."""

    class State(models.TextChoices):
        LIVE = "live", _("live")
        SUPERSEDED = "superseded", _("superseded")
        REPLAYED = "replayed", _("replayed")

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="steps", db_index=False)
    """Looked up by the index of `one_step_per_index`."""
    index = models.PositiveIntegerField()
    branch = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State, default=State.LIVE)
    kind = models.CharField(max_length=12, blank=True)
    """For badge and colour: click, type, nav, scroll, key, message, wait, tab, other."""
    action = models.TextField(blank=True)
    """What the agent wrote as its action(s), verbatim; empty where it chose none."""
    thought = models.TextField(blank=True)
    url = models.TextField(blank=True)
    title = models.TextField(blank=True)
    error = models.TextField(blank=True)
    reward = models.FloatField(null=True)
    box = models.JSONField(null=True)
    """[x, y, width, height] of the acted-on element, in pixels of the screenshot."""
    point = models.JSONField(null=True)
    """[x, y] of the click, in pixels of the screenshot."""
    target = models.TextField(blank=True)
    """The acted-on element in words: its role and text."""
    screenshot = _blob()
    marked_screenshot = _blob()
    after_screenshot = _blob()
    tree = _blob()
    after_tree = _blob()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    seconds = models.FloatField(null=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    record = models.JSONField(default=dict)

    class Meta:
        ordering = ["run", "index"]
        indexes = [
            models.Index(
                fields=[name],
                name=f"step_by_{name}",
                condition=models.Q(**{f"{name}__isnull": False}),
            )
            for name in BLOBS
        ]
        constraints = [
            models.UniqueConstraint(fields=["run", "index"], name="one_step_per_index"),
        ]

    def __str__(self) -> str:
        return f"step {self.index}"

    def to_record(self) -> StepRecord:
        """The step as it came in."""
        return StepRecord.model_validate(
            self.record | {"run_id": str(self.run_id), "index": self.index}
        )
