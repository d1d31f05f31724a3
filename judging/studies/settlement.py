"""From labels to a reference verdict, or to a dispute."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.models import F, OuterRef, Subquery

from judging.models import Dispute, Label, ReferenceVerdict, StudyItem, Success
from runs.models import Run, User

CLEAR = {Success.SUCCESS, Success.FAILURE}
"""Verdicts that stand when all labels say them; unsure and not executable never do."""

Status = StudyItem.Status
Origin = ReferenceVerdict.Origin


def close_if_complete(*, item: StudyItem, needed: int, now: datetime) -> None:
    """Settle the run if all labels are there and agree; open a dispute if they do not.

    The caller holds the item's lock and saves it.

    Args:
        needed: labels that the study wants of each run.
    """
    if item.n_labels < needed:
        return
    verdicts = set(Label.objects.independent().filter(item=item).values_list("success", flat=True))
    agreed = verdicts.pop() if len(verdicts) == 1 else None
    closing_row(item=item, agreed=agreed, now=now).save(force_insert=True)


def closing_row(
    *, item: StudyItem, agreed: str | None, now: datetime
) -> ReferenceVerdict | Dispute:
    """What all labels of the run together bring about: a verdict or a dispute, not saved yet.

    The caller holds the item's lock, and saves both.

    Args:
        agreed: what all of them say; None where they differ.
    """
    if agreed in CLEAR:
        return verdict_row(item=item, verdict=agreed, origin=Origin.AGREED, now=now)
    item.status = Status.DISPUTED
    return Dispute(item_id=item.pk, order_seed=secrets.randbits(63))


def verdict_row(
    *,
    item: StudyItem,
    verdict: str,
    origin: ReferenceVerdict.Origin,
    now: datetime,
    decided_by: User | None = None,
    rationale: str = "",
) -> ReferenceVerdict:
    """The item's verdict, and the run's unless another study settled it before; not saved yet.

    The caller holds the item's lock, and saves both. The lock of the run makes two studies take
    turns.
    """
    locked = Run.objects.select_for_update(of=("self",), no_key=True).filter(pk=item.run_id)
    created_at = locked.order_by().values_list("created_at", flat=True).get()
    authoritative = ReferenceVerdict.objects.filter(run=item.run_id, is_authoritative=True)
    item.status = Status.SETTLED
    return ReferenceVerdict(
        item_id=item.pk,
        run_id=item.run_id,
        verdict=verdict,
        origin=origin,
        decided_by=decided_by,
        rationale=rationale,
        decided_at=now,
        is_authoritative=not authoritative.exists(),
        run_created_at=created_at,
    )


AT_ONCE = 2_000
"""Verdicts that are changed in one transaction, so that nobody waits long for one of them."""


def date_verdicts(using: str = "default", **_: Any) -> None:
    """Give each verdict its run's `created_at` where it has another or none.

    Called after every `migrate`: an older version, at work beside this one, stores none.
    """
    if not _has_ages(using):
        return  # migrated back to before there were any
    verdicts = ReferenceVerdict.objects.using(using)
    wrong = verdicts.exclude(run_created_at=F("run__created_at")).order_by()
    created_at = Run.objects.filter(pk=OuterRef("run")).order_by().values("created_at")
    keys = list(wrong.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        some = verdicts.filter(pk__in=keys[start : start + AT_ONCE])
        some.update(run_created_at=Subquery(created_at))


def _has_ages(using: str) -> bool:
    database, table = connections[using], ReferenceVerdict._meta.db_table
    if table not in database.introspection.table_names():
        return False
    with database.cursor() as cursor:
        columns = database.introspection.get_table_description(cursor, table)
    return "run_created_at" in {column.name for column in columns}
