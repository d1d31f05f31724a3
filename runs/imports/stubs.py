"""A stub becomes whole: its trajectory came. It keeps its id and all verdicts on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError

from runs.accounts.audit_log import record_entry
from runs.catalogue.tasks.rows import forget_named_only
from runs.models import Attachment, Run, RunSpace
from runs.models.audit_log import RUN_COMPLETED

_OWN = ("step_index", "role", "name", "blob_id")


def made_whole(stub: Run, columns: dict[str, Any]) -> Run:
    """The stub with the columns of its whole run; the database permits it once.

    Inside a transaction, with the stub's row locked.

    Raises:
        IntegrityError: another import was first.
    """
    given = columns | ({} if columns["experiment"] else {"experiment": stub.experiment})
    if not Run.objects.filter(pk=stub.pk, is_stub=True).update(**given, is_stub=False):
        raise IntegrityError("another import made the stub whole")
    forget_named_only(stub.task, given["task"])
    RunSpace.objects.filter(run=stub.pk).delete()
    run = Run.objects.select_related("task__task_set", "agent", "experiment").get(pk=stub.pk)
    record_entry(RUN_COMPLETED, about=run, words=f"{run.agent} {run.task.external_id}"[:200])
    return run


def new_attachments(run: Run, found: Iterable[Attachment]) -> list[Attachment]:
    """Those that a stub did not have before."""
    known = set(Attachment.objects.filter(run=run).values_list(*_OWN)) if run.stub_key else set()
    return [row for row in found if tuple(getattr(row, name) for name in _OWN) not in known]
