"""The log of acts: who did what."""

from django.db import models
from django.utils.functional import Promise

from runs.models.audit_kinds import words_of
from runs.models.audit_log_queries import ActQuerySet
from runs.models.people import User


class ActKeptError(TypeError):
    """An act is written once and kept."""


class Act(models.Model):
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

    objects = ActQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["user", "id"], name="acts_by_person"),
            models.Index(fields=["user", "kind", "id"], name="acts_by_person_and_kind"),
            models.Index(fields=["name", "id"], name="acts_by_name"),
            models.Index(fields=["kind", "id"], name="acts_by_kind"),
            models.Index(fields=["about_kind", "about_id", "id"], name="acts_by_object"),
            models.Index(fields=["at"], name="acts_by_time"),
        ]
        permissions = [("read_acts", "Can read the log of who did what")]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} {self.kind} {self.about_kind} {self.about_id}".strip()

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding:
            raise ActKeptError("an act never changes")
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        raise ActKeptError("an act is never deleted")

    @property
    def said(self) -> str | Promise:
        return words_of(self.kind)
