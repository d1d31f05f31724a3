"""Steps of a run, marks on its timeline, content-addressed files, and the space these take."""

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext_lazy as _

from runs.models.runs.run import Run
from webagent.trajectory.records import StepRecord


class Event(models.Model):
    """Something over a span of steps. `detector` is empty where the run itself says so."""

    class Kind(models.TextChoices):
        LOOP = "loop", _("loop")
        FALSE_COMPLETION = "false_completion", _("false completion")
        ROLLBACK = "rollback", _("back to an earlier step")
        MODEL_SWITCH = "model_switch", _("model switch")
        REPLAY_DIVERGED = "replay_diverged", _("replay diverged")

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind)
    first_step = models.PositiveIntegerField()
    last_step = models.PositiveIntegerField()
    detector = models.CharField(max_length=100, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["first_step", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(last_step__gte=models.F("first_step")), name="event_span"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.first_step}-{self.last_step}"


class Blob(models.Model):
    """A file in the store, named by the SHA-256 of its (uncompressed) bytes."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    media_type = models.CharField(max_length=100)
    size = models.BigIntegerField()
    """Bytes of the content, before compression."""
    stored_size = models.BigIntegerField(null=True)
    """Bytes that it takes in the store; empty for rows older than this column."""
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    compressed = models.BooleanField(default=False)
    """Whether the store holds it zstd-compressed."""
    thumbnail = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    awaits_thumbnail = models.BooleanField(default=False, db_default=False)
    """Whether its thumbnail is still to be made, in the background."""
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [
            models.Index(
                "sha256", condition=models.Q(awaits_thumbnail=True), name="blob_awaits_thumbnail"
            )
        ]

    def __str__(self) -> str:
        return self.sha256


class Attachment(models.Model):
    """Any file of a run beside the timeline's own pictures and trees.

    `role` is the record's role (log, artefact, video, html, dom, elements, messages, request,
    response, goal_image, evidence); `step_index` is null where it belongs to the whole run.
    """

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="attachments")
    step_index = models.PositiveIntegerField(null=True)
    role = models.CharField(max_length=40)
    name = models.CharField(max_length=500, blank=True)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="attachments")

    class Meta:
        indexes = [models.Index(fields=["run", "step_index"])]

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


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


def last_screenshot(run: str = "pk", *, is_small: bool = False) -> Subquery:
    """The file of the last screenshot of the run at this path of a row, or its thumbnail."""
    pictures = Step.objects.filter(run=OuterRef(run), screenshot__isnull=False)
    file = "screenshot__thumbnail" if is_small else "screenshot"
    return Subquery(pictures.order_by("-index").values(file)[:1])


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
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="one_step_per_index")]

    def __str__(self) -> str:
        return f"step {self.index}"

    def to_record(self) -> StepRecord:
        """The step as it came in."""
        return StepRecord.model_validate(
            self.record | {"run_id": str(self.run_id), "index": self.index}
        )


class RunSpace(models.Model):
    """Bytes in the store of the files that one ended run refers to, by kind.

    Follows from the run's rows, so it can always be worked out anew. A file that two runs share
    counts for both.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="space")
    n_files = models.PositiveIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    screenshots = models.BigIntegerField(default=0)
    thumbnails = models.BigIntegerField(default=0)
    trees = models.BigIntegerField(default=0)
    sources = models.BigIntegerField(default=0)
    """The files that it was imported from, as far as they are kept."""
    evidence = models.BigIntegerField(default=0)
    """All other files: logs, messages, videos, what the page showed in the end."""

    class Meta:
        indexes = [models.Index(fields=["-total"], name="run_space_largest")]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.total}"


class DeletedRun(models.Model):
    """A run that was deleted: that it was there, and who had it go and why.

    Only a run that is named here can be deleted: the database refuses all others.
    """

    run_id = models.UUIDField(primary_key=True, editable=False)
    deleted_at = models.DateTimeField(auto_now_add=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    reason = models.CharField(max_length=200)
    experiment = models.CharField(max_length=200, blank=True)
    task = models.CharField(max_length=300, blank=True)
    n_steps = models.PositiveIntegerField(default=0)
    content_hash = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-deleted_at"]

    def __str__(self) -> str:
        return str(self.run_id)


class SpaceMeasurement(models.Model):
    """How full the store was on a day, as last measured on it."""

    day = models.DateField(primary_key=True)
    measured_at = models.DateTimeField()
    seconds = models.FloatField()
    n_files = models.BigIntegerField()
    stored = models.BigIntegerField()
    """Bytes of all blobs in the store."""
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["-day"]

    def __str__(self) -> str:
        return f"{self.day}: {self.stored}"


class PendingDeletion(models.Model):
    """A blob that a deleted run referred to, to be looked at by the clean-up."""

    blob = models.OneToOneField(Blob, models.CASCADE, primary_key=True, related_name="+")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "runs_doomedblob"

    def __str__(self) -> str:
        return self.blob_id
