"""What comes and goes as a file: imports of labels, downloads of studies, replications."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.models.studies import Study
from runs.models.imports import SentFile
from runs.models.leased_work import LeasedWork


class StudyDownload(LeasedWork):
    """One file of a study on its way, made for one person, and kept for some days."""

    class Kind(models.TextChoices):
        REPORT = "report", _("report")
        BUNDLE = "bundle", _("bundle")

    study = models.ForeignKey(Study, models.CASCADE, related_name="downloads")
    kind = models.CharField(max_length=10, choices=Kind)
    choices = models.JSONField(default=dict)
    """What a report leaves out, and its language: `judging.portability.study_report.downloads`."""
    size = models.BigIntegerField(default=0)

    class Meta(LeasedWork.Meta):
        verbose_name = "download of a study"

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
            models.UniqueConstraint(fields=["download", "position"], name="one_part_per_place")
        ]

    def __str__(self) -> str:
        return f"{self.download_id} #{self.position}"


class LabelImport(SentFile):
    """One sent file: looked at first, and stored on its owner's word.

    Its pieces are rows, all of which are stored, or none. Its report says what the file would
    bring while it is only looked at, and what it brought afterwards.
    """

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="label_imports"
    )
    study_name = models.CharField(max_length=200)
    makes_stubs = models.BooleanField(default=False)
    """Whether rows of runs that are not here are taken: see `runs.imports.rows`."""
    only_looks = models.BooleanField(default=True)

    class Meta(SentFile.Meta):
        verbose_name = "import of labels"
        indexes = [
            *SentFile.Meta.indexes,
            models.Index(fields=["created_by", "-created_at"], name="label_import_newest"),
        ]

    def get_absolute_url(self) -> str:
        return reverse("judging:label_import_detail", args=[self.pk])

    @property
    def awaits_confirmation(self) -> bool:
        """Whether it was looked at, would bring something, and its owner is to say whether."""
        looked = self.only_looks and self.state == self.State.FINISHED
        return looked and not self.is_refused and self.n_new > 0

    @property
    def is_refused(self) -> bool:
        """Whether rows are bad, so that nothing of it is stored."""
        return bool(self.report.get("counts", {}).get("bad"))

    @property
    def n_new(self) -> int:
        """Rows that say something new."""
        counts = self.report.get("counts", {})
        return sum(counts.get(kind, 0) for kind in ("labels", "verdicts", "adjudications"))


_STATES = {
    "failed": _("stopped"),
    "finished": _("carried out"),
    "running": _("under way"),
    "queued": _("not started"),
}


class Replication(models.Model):
    """A study file as it was sent. What it made is known by `parts`; the rest follows from rows."""

    name = models.CharField("name", max_length=120, unique=True)
    file_name = models.CharField(max_length=200)
    content = models.TextField()
    """The file's text, byte for byte."""
    sha256 = models.CharField(max_length=64)
    """Of the content."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    """When somebody first had it run; empty while it is only a plan."""
    ended_at = models.DateTimeField(null=True)
    """When nothing was left to start; people may still have labels to give."""
    problem = models.TextField(blank=True)
    """Why it stands still; empty while it goes on."""
    made_elsewhere = models.JSONField(default=dict)
    """Of one that came in a bundle: the versions of everything where it was made."""

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = "replication"
        indexes = [models.Index(fields=["-created_at", "-id"], name="replication_newest")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("judging:replication_detail", args=[self.pk])

    @property
    def state(self) -> str:
        """A word that style sheets know."""
        if self.problem:
            return "failed"
        if self.ended_at:
            return "finished"
        return "running" if self.started_at else "queued"

    def get_state_display(self) -> str:
        """The same for people."""
        return str(_STATES[self.state])


class ReplicationPart(models.Model):
    """The experiment, the study or the learning job that a part of the file became."""

    class Kind(models.TextChoices):
        EXPERIMENT = "experiment", _("experiment")
        LEARNING = "learning", _("learning")
        JUDGING = "judging", _("judging")

    replication = models.ForeignKey(Replication, models.CASCADE, related_name="parts")
    kind = models.CharField(max_length=10, choices=Kind)
    key = models.CharField(max_length=200)
    """Of an experiment its arms between commas, else the part's key in the file."""
    experiment = models.ForeignKey(
        "runs.Experiment", models.CASCADE, null=True, related_name="replication_parts"
    )
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="replication_parts")
    job = models.ForeignKey(
        "runs.LearningJob", models.CASCADE, null=True, related_name="replication_parts"
    )
    configurations = models.JSONField(default=dict)
    """Of an experiment: by arm, the hash of its agent's configuration."""

    class Meta:
        ordering = ["replication", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["replication", "kind", "key"], name="one_row_per_part_of_replication"
            ),
            models.CheckConstraint(
                condition=(
                    Q(kind="experiment", experiment__isnull=False, study=None, job=None)
                    | Q(kind="judging", study__isnull=False, experiment=None, job=None)
                    | Q(kind="learning", job__isnull=False, experiment=None, study=None)
                ),
                name="part_of_replication_is_of_its_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.replication_id} {self.kind} {self.key}"
