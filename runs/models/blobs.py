"""Content-addressed files: rows hold hashes, never megabytes."""

from django.db import models


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
