"""Imports by upload: the queue of record for files that people sent."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.querysets.imports import ImportJobQuerySet


class ImportJob(models.Model):
    """One uploaded archive on its way into the database, with its progress and report."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    file_name = models.CharField(max_length=255)
    path = models.CharField(max_length=500)
    size = models.BigIntegerField()
    format = models.CharField(max_length=40, default="auto")
    experiment_name = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    n_found = models.PositiveIntegerField(null=True)
    n_done = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    lease_token = models.PositiveIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = ImportJobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_active(self) -> bool:
        return self.status in (self.Status.QUEUED, self.Status.RUNNING)
