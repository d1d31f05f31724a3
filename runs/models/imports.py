"""Imports by upload: the queue of record for files that people sent."""

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from runs.models.leased_work import LeasedWork


class ImportJob(LeasedWork):
    """One uploaded file on its way into the database, run by run, with its report.

    One that only looks ends with a survey and its file kept: then its owner says whether it is
    imported, with answers to what the survey asks.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    file_name = models.CharField(max_length=255)
    path = models.CharField(max_length=500)
    size = models.BigIntegerField()
    format = models.CharField(max_length=40, default="auto")
    experiment_name = models.CharField(max_length=200, blank=True)
    only_looks = models.BooleanField(default=False)
    survey = models.JSONField(default=dict)
    """What a first look found; see `webagent.trajectory.surveys`."""
    answers = models.JSONField(default=dict)
    report = models.JSONField(default=dict)

    class Meta(LeasedWork.Meta):
        verbose_name = _("import")

    def __str__(self) -> str:
        return self.file_name

    def get_absolute_url(self) -> str:
        return reverse("runs:import_detail", args=[self.pk])

    @property
    def awaits_word(self) -> bool:
        """Whether it was looked at and its owner is to say what becomes of it."""
        return self.only_looks and self.state == self.State.FINISHED

    @property
    def title(self) -> str:
        return gettext("import of %(name)s") % {"name": self.file_name}
