"""Imports by upload: the queue of record for files that people sent."""

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext

from runs.models.leased_work import LeasedWork


class SentFile(LeasedWork):
    """A file that somebody sent, to be looked at first or stored at once, with its report."""

    file_name = models.CharField(max_length=255)
    path = models.CharField(max_length=500)
    size = models.BigIntegerField()
    only_looks = models.BooleanField(default=False)
    report = models.JSONField(default=dict)

    class Meta(LeasedWork.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.file_name

    @property
    def title(self) -> str:
        return gettext("import of %(name)s") % {"name": self.file_name}

    def looked_at(self) -> models.QuerySet[Any]:
        """Its row, if it was looked at and nobody has decided over it yet."""
        rows = type(self)._default_manager.filter(pk=self.pk)
        return rows.filter(only_looks=True, state=self.State.FINISHED)


class ImportJob(SentFile):
    """One uploaded file on its way into the database, run by run, with its report.

    One that only looks ends with a survey and its file kept: then its owner says whether it is
    imported, with answers to what the survey asks.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    format = models.CharField(max_length=40, default="auto")
    experiment_name = models.CharField(max_length=200, blank=True)
    survey = models.JSONField(default=dict)
    """What a first look found; see `webagent.trajectory.surveys`."""
    answers = models.JSONField(default=dict)
    keeps_file = models.BooleanField(default=False, db_default=False)
    """Whether the file rests here when its runs are in, for better importers to read again."""
    reads_again = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="readings"
    )
    """The import whose file this one reads once more."""

    class Meta(SentFile.Meta):
        verbose_name = "import"

    def get_absolute_url(self) -> str:
        return reverse("runs:import_detail", args=[self.pk])

    @property
    def awaits_confirmation(self) -> bool:
        """Whether it was looked at and its owner is to say what becomes of it."""
        return self.only_looks and self.state == self.State.FINISHED

    @property
    def owns_kept_file(self) -> bool:
        """Whether it is through, and its file is to rest here."""
        ended = self.state in (self.State.FINISHED, self.State.FAILED)
        return (
            self.keeps_file and ended and not self.awaits_confirmation and not self.reads_again_id
        )


class RunOfImport(models.Model):
    """Which run a run in a kept file became, so that reading it again knows it.

    While a file is imported: the new ones, for a worker that takes up after a dead one.

    No foreign key: that a run was deleted must not make it come back.
    """

    job = models.ForeignKey(ImportJob, models.CASCADE, related_name="runs_of_file")
    id_in_file = models.CharField(max_length=200)
    run_id = models.UUIDField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "id_in_file"], name="run_of_import_once")
        ]

    def __str__(self) -> str:
        return self.id_in_file
