"""Imports by upload: the queue of record for files that people sent."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.leased_work import LeasedWork


class ImportJob(LeasedWork):
    """One uploaded archive on its way into the database, run by run, with its report."""

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    file_name = models.CharField(max_length=255)
    path = models.CharField(max_length=500)
    size = models.BigIntegerField()
    format = models.CharField(max_length=40, default="auto")
    experiment_name = models.CharField(max_length=200, blank=True)
    report = models.JSONField(default=dict)

    class Meta(LeasedWork.Meta):
        verbose_name = _("import")

    def __str__(self) -> str:
        return self.file_name
