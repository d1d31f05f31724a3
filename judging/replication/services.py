"""Taking up a study file, and having what it describes run, learned and judged: once each."""

import hashlib
from pathlib import PurePath

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.models import Replication, ReplicationPart, Study
from judging.replication.sources import check_reports
from judging.replication.study_file import StudyFile, read_study_file
from judging.replication.study_parts import StudyFileError
from runs.accounts.audit_log import record_entry
from runs.models import Experiment, User
from runs.models.audit_log import kind

REPLICATION_MADE = kind("replication.made", gettext_lazy("added a study file"))
REPLICATION_CHANGED = kind("replication.changed", gettext_lazy("changed a study file"))
REPLICATION_STARTED = kind("replication.started", gettext_lazy("started a replication"))


@transaction.atomic
def take_up(*, content: bytes, file_name: str, user: User | None) -> Replication:
    """The replication of a study file: a new one, or the one that has its name.

    Tables, published figures and words of one that has begun may change; what it runs may not.

    Raises:
        StudyFileError: it is no study file, names no report, or is another study than the one begun
            under its name.
    """
    file_name = PurePath(file_name).name[:200]
    file = read_study_file(content, file_name)
    check_reports(file, file_name)
    said = {
        "file_name": file_name,
        "content": content.decode(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    there = Replication.objects.select_for_update().filter(name=file.name).first()
    if there is None:
        there = _new(file, said, user)
    elif there.sha256 != said["sha256"]:
        _change(there, file, said, user)
    link(there, file)
    return there


def _change(there: Replication, file: StudyFile, said: dict[str, str], user: User | None) -> None:
    _demand_same_work(there, file, said["file_name"])
    Replication.objects.filter(pk=there.pk).update(**said)
    record_entry(
        REPLICATION_CHANGED,
        about=there,
        words=there.name,
        before=there.sha256[:12],
        after=said["sha256"][:12],
        user=user,
    )
    there.refresh_from_db()


def link(replication: Replication, file: StudyFile) -> None:
    """Note which experiments and studies the file means by name: whatever they are called later."""
    experiments = {key: arm.experiment for key, arm in file.arms.items() if arm.experiment}
    studies = {key: each.study for key, each in file.judging.items() if each.study}
    if replication.started_at is None:
        unlinked = replication.parts.exclude(kind=ReplicationPart.Kind.LEARNING)
        unlinked.exclude(key__in={*experiments, *studies}).delete()
    parts, kinds = replication.parts, ReplicationPart.Kind
    found = Experiment.objects.in_bulk(set(experiments.values()), field_name="name")
    for key, name in experiments.items():
        if row := found.get(name):
            parts.update_or_create(kind=kinds.EXPERIMENT, key=key, defaults={"experiment": row})
    there = Study.objects.in_bulk(set(studies.values()), field_name="name")
    for key, name in studies.items():
        if study := there.get(name):
            parts.update_or_create(kind=kinds.JUDGING, key=key, defaults={"study": study})


def _new(file: StudyFile, said: dict[str, str], user: User | None) -> Replication:
    try:
        with transaction.atomic():
            made = Replication.objects.create(name=file.name, created_by=user, **said)
    except IntegrityError:
        reason = _("somebody takes up this name at this moment; try again")
        raise StudyFileError(said["file_name"], "name", reason) from None
    record_entry(REPLICATION_MADE, about=made, words=made.name, after=made.sha256[:12], user=user)
    return made


def _demand_same_work(there: Replication, file: StudyFile, file_name: str) -> None:
    """Raises StudyFileError where something has begun that the file would not have run."""
    if there.started_at is None:
        return
    try:
        before = read_study_file(there.content.encode(), there.file_name)
    except StudyFileError as error:
        reason = _("what has begun under this name cannot be read here (%(why)s)")
        raise StudyFileError(file_name, "name", reason % {"why": error}) from None
    if before.work_hash != file.work_hash:
        reason = _(
            "%(name)s has begun with other arms, tasks or judging; give the file another name"
        )
        raise StudyFileError(file_name, "name", reason % {"name": there.name})
