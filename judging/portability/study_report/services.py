"""Asking for a study's report or bundle."""

from __future__ import annotations

from django.db import transaction

from judging.models import Study, StudyDownload
from judging.portability.study_report.choices import Choices
from judging.portability.study_report.tasks import dispatch_downloads
from judging.studies.access import record_unblindings
from judging.studies.audit_kinds import STUDY_EXPORTED
from runs.accounts.audit_log import record_act
from runs.models import User


@transaction.atomic
def start_download(
    *, study: Study, kind: StudyDownload.Kind, choices: Choices, user: User
) -> StudyDownload:
    """Have it made; the one under way where the same is asked for twice.

    Who asks comes to see what was said of every run, which is noted.
    """
    User.objects.select_for_update().get(pk=user.pk)
    told = choices.to_json() if kind is StudyDownload.Kind.REPORT else {}
    wish = {"study": study, "kind": kind, "choices": told, "created_by": user}
    if there := StudyDownload.objects.active().filter(**wish).first():
        return there
    download = StudyDownload.objects.create(**wish)
    record_unblindings(user=user, items=study.items.all(), reason=f"{kind} of a study")
    record_act(STUDY_EXPORTED, about=study, words=study.name, after=kind, user=user)
    transaction.on_commit(dispatch_downloads)
    return download
