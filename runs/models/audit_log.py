"""The audit log: its entries, and their kinds by name with the words that the page shows.

`judging.studies.access` adds those of judging.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from django.apps import apps
from django.db import models
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.models.people import User


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    """Entries, the newest first: by number, which is how most are found."""

    def latest_first(self) -> AuditEntryQuerySet:
        """By time, so that an index finds the last ones before a day."""
        return self.order_by("-at", "-pk")

    def before(self, pk: int | None) -> AuditEntryQuerySet:
        """Those that come after this one in their order; all where it is None."""
        if pk is None:
            return self
        if not self.query.order_by:
            return self.filter(pk__lt=pk)
        at = self.model.objects.filter(pk=pk).values("at")
        return self.filter(Q(at__lt=at) | Q(pk__lt=pk), at__lte=at)

    def update(self, **_: Any) -> NoReturn:
        raise TypeError("an audit entry never changes")

    def delete(self) -> NoReturn:
        raise TypeError("an audit entry is never deleted")


@dataclass(frozen=True, slots=True)
class AuditKind:
    """A kind of audit entry: `name` is stored, `words` say it.

    Attributes:
        is_blinded: whoever is blinded to any run reads such entries of nobody but themselves.
        is_log_in: it tells who came and went, not what changed.
    """

    name: str
    words: str | Promise
    is_blinded: bool = False
    is_log_in: bool = False


KINDS: dict[str, AuditKind] = {}


def kind(
    name: str, words: str | Promise, *, is_blinded: bool = False, is_log_in: bool = False
) -> AuditKind:
    """A kind that the page knows.

    Raises:
        ValueError: the name is taken.
    """
    if name in KINDS:
        raise ValueError(f"there is a kind of audit entry of the name {name}")
    return KINDS.setdefault(name, AuditKind(name, words, is_blinded, is_log_in))


LOGGED_IN = kind("account.logged_in", _("logged in"), is_log_in=True)
LOGGED_OUT = kind("account.logged_out", _("logged out"), is_log_in=True)
LOGIN_FAILED = kind("account.login_failed", _("failed to log in"), is_log_in=True)
LOCKED_OUT = kind("account.locked_out", _("was locked out"), is_log_in=True)
ACCOUNT_MADE = kind("account.made", _("created an account"))
ACCOUNT_CHANGED = kind("account.changed", _("changed an account"))
PASSWORD_CHANGED = kind("account.password_changed", _("changed a password"))
ROLE_CHANGED = kind("role.changed", _("changed a role"))

TOKEN_MADE = kind("token.made", _("created a token"))
TOKEN_REVOKED = kind("token.revoked", _("revoked a token"))

IMPORT_STARTED = kind("import.started", _("uploaded an import"))
IMPORT_DISCARDED = kind("import.discarded", _("discarded an import"))
UPLOAD_READ_AGAIN = kind("import.read_again", _("read an import again"))
UPLOAD_DELETED = kind("import.file_deleted", _("deleted an uploaded file"))
RUNS_IMPORTED = kind("run.imported", _("imported runs"))
RUN_COMPLETED = kind("run.completed", _("added the trajectory of a run"))
RUNS_EXPORTED = kind("run.exported", _("exported runs"))
RUNS_DELETED = kind("run.deleted", _("deleted runs"))
FILE_DOWNLOADED = kind("file.downloaded", _("downloaded a file"))
LOG_DOWNLOADED = kind("log.downloaded", _("downloaded the audit log"))
DOWNLOADS = {RUNS_EXPORTED.name, LOG_DOWNLOADED.name}
"""What says by itself that a file went out."""

EXPERIMENT_ARCHIVED = kind("experiment.archived", _("archived an experiment"))
RETENTION_CHANGED = kind("retention.changed", _("changed a retention rule"))
QUOTA_CHANGED = kind("quota.changed", _("changed a quota"))

TASKS_IMPORTED = kind("task.imported", _("imported tasks"))
TASKS_PATCHED = kind("task.patched", _("applied a task patch"))
PATCH_TAKEN_BACK = kind("task.patch_taken_back", _("undid a task patch"))
MILESTONES_CHANGED = kind("task.milestones_changed", _("changed milestones"))
POLICY_SAVED = kind("policy.saved", _("saved a retry policy"))


class AuditEntry(models.Model):
    """One thing that somebody did. Rows are only ever added: the database refuses the rest.

    It names what it was done to instead of pointing there, so that it stays when that goes. It
    tells that something changed, not the whole of what it was: labels, policies and task sets
    keep their own versions.
    """

    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=60)
    # Without a constraint: an account may go, what it did stays.
    user = models.ForeignKey(
        User, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    name = models.CharField(max_length=150, blank=True)
    """Of the account, as it was then; of a command, the person whom the system knows."""
    via = models.CharField(max_length=40)
    request_id = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True)
    about_kind = models.CharField(max_length=40, blank=True)
    about_id = models.CharField(max_length=64, blank=True)
    words = models.CharField(max_length=200, blank=True)
    before = models.CharField(max_length=500, blank=True)
    after = models.CharField(max_length=500, blank=True)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        db_table = "runs_act"
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["user", "id"], name="acts_by_person"),
            models.Index(fields=["user", "kind", "id"], name="acts_by_person_and_kind"),
            models.Index(fields=["name", "id"], name="acts_by_name"),
            models.Index(fields=["kind", "id"], name="acts_by_kind"),
            models.Index(fields=["about_kind", "id"], name="acts_by_kind_of_object"),
            models.Index(fields=["about_kind", "about_id", "id"], name="acts_by_object"),
            models.Index(fields=["at"], name="acts_by_time"),
        ]
        permissions = [("read_acts", "Can read the audit log")]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} {self.kind} {self.about_kind} {self.about_id}".strip()

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding:
            raise TypeError("an audit entry never changes")
        super().save(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        raise TypeError("an audit entry is never deleted")

    @property
    def kind_words(self) -> str | Promise:
        """What the page says of it; its name itself where the kind is gone."""
        known = KINDS.get(self.kind)
        return known.words if known else self.kind

    @property
    def about_words(self) -> str:
        """What it was done to: the kind of thing in words, or as it is stored if there is none."""
        for config in apps.get_app_configs():
            if model := config.models.get(self.about_kind):
                return str(model._meta.verbose_name)
        return self.about_kind
