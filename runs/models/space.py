"""What runs take of the store, and what became of those that were deleted."""

from django.conf import settings
from django.db import models

from runs.models.runs.run import Run
from runs.models.steps import Blob


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
    """How full the store was on a day, as last measured on it; see `runs.space_figures`."""

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
