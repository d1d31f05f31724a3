"""Writing entries of the audit log."""

from django.db import models

from runs.accounts.actors import acting
from runs.models import AuditEntry, User
from runs.models.audit_log import DOWNLOADS, FILE_DOWNLOADED, AuditKind


def record_entry(
    kind: AuditKind,
    *,
    about: models.Model | tuple[str, object] | None = None,
    words: str = "",
    before: str = "",
    after: str = "",
    user: User | None = None,
    via: str = "",
) -> AuditEntry:
    """Write an entry. Call it in the transaction of what it records: both are kept or neither.

    Args:
        about: what it was done to, or its kind and key, which alone are kept.
        words: how a person knows that. Never a secret, a verdict or what a label says.
        before, after: what changed, in a few words, under the same rule.
        user: who did it, where that is not who sent the request.
        via: by way of what, where that is neither a page, a command nor a worker.
    """
    now = acting()
    if now.request is not None:
        now.kinds.append(kind.name)
    person = user or now.user
    about_kind, about_id = _kind_and_key(about)
    return AuditEntry.objects.create(
        kind=kind.name,
        user_id=person.pk if person else None,
        name=person.username if person else _cut(now.name, 150),
        via=via or now.by_way_of,
        request_id=now.request_id,
        address=now.address,
        about_kind=about_kind,
        about_id=about_id,
        words=_cut(words, 200),
        before=_cut(before, 500),
        after=_cut(after, 500),
    )


def record_download(*, name: str, path: str) -> None:
    """A file that went out, unless an entry of the same request says so already."""
    if not DOWNLOADS.intersection(acting().kinds):
        record_entry(FILE_DOWNLOADED, words=name, after=path)


def _kind_and_key(about: models.Model | tuple[str, object] | None) -> tuple[str, str]:
    if isinstance(about, models.Model):
        return about._meta.model_name or "", str(about.pk)
    return (about[0], str(about[1])) if about else ("", "")


def _cut(text: str, length: int) -> str:
    """So much of the text; without the null character, which PostgreSQL does not take."""
    whole = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return whole if len(whole) <= length else f"{whole[: length - 1]}…"
