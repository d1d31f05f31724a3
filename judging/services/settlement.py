"""From labels to a reference verdict, or to a dispute."""

import secrets
from datetime import datetime

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
    said = set(Label.objects.independent().filter(item=item).values_list("success", flat=True))
    if len(said) == 1 and said <= CLEAR:
        settle(item=item, verdict=said.pop(), origin=Origin.AGREED, now=now)
        return
    Dispute.objects.create(item=item, order_seed=secrets.randbits(63))
    item.status = Status.DISPUTED


def settle(
    *,
    item: StudyItem,
    verdict: str,
    origin: ReferenceVerdict.Origin,
    now: datetime,
    decided_by: User | None = None,
    rationale: str = "",
) -> ReferenceVerdict:
    """The item's reference verdict; the run's too unless another study has settled it before.

    The caller holds the item's lock and saves it; the run's makes two studies take turns.
    """
    run = Run.objects.select_for_update(of=("self",), no_key=True).only("pk").get(pk=item.run_id)
    standing = ReferenceVerdict.objects.filter(run=run, is_authoritative=True).exists()
    item.status = Status.SETTLED
    return ReferenceVerdict.objects.create(
        item=item,
        run_id=run.pk,
        verdict=verdict,
        origin=origin,
        decided_by=decided_by,
        rationale=rationale,
        decided_at=now,
        is_authoritative=not standing,
    )


def reopen(*, item: StudyItem) -> None:
    """Take back what completing the labels brought. The caller holds the lock and saves."""
    ReferenceVerdict.objects.filter(item=item).delete()
    Dispute.objects.filter(item=item).delete()
    item.status = Status.OPEN
