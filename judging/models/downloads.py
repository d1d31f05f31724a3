"""What is made in the background to be taken away: reports and bundles of studies."""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.models.studies import Study
from runs.models.leased_work import LeasedWork


class StudyDownload(LeasedWork):
    """One file of a study on its way, made for one person, and kept for some days."""

    class Kind(models.TextChoices):
        REPORT = "report", _("report")
        BUNDLE = "bundle", _("bundle")

    study = models.ForeignKey(Study, models.CASCADE, related_name="downloads")
    kind = models.CharField(max_length=10, choices=Kind)
    choices = models.JSONField(default=dict)
    """What a report leaves out, and its language: `judging.portability.study_report.choices`."""
    size = models.BigIntegerField(default=0)

    class Meta(LeasedWork.Meta):
        verbose_name = _("download of a study")

    def __str__(self) -> str:
        return f"{self.kind} of {self.study_id}"

    title_reads = ("study",)

    def get_absolute_url(self) -> str:
        return reverse("judging:study_downloads", args=[self.study_id])

    @property
    def title(self) -> str:
        words = {
            self.Kind.REPORT: gettext("report of %(study)s"),
            self.Kind.BUNDLE: gettext("bundle of %(study)s"),
        }
        return words[self.Kind(self.kind)] % {"study": self.study}


class StudyDownloadPart(models.Model):
    """A piece of the file, so that none is ever whole in memory."""

    download = models.ForeignKey(StudyDownload, models.CASCADE, related_name="parts")
    position = models.PositiveIntegerField()
    blob = models.ForeignKey("runs.Blob", models.PROTECT, related_name="+")

    class Meta:
        ordering = ["download", "position"]
        constraints = [
            models.UniqueConstraint(fields=["download", "position"], name="one_part_per_place"),
        ]

    def __str__(self) -> str:
        return f"{self.download_id} #{self.position}"
