"""From labels to a reference verdict: agreed at once, or after a dispute."""

import secrets
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import (
    Dispute,
    DisputeMessage,
    Label,
    ReferenceVerdict,
    StudyItem,
    StudyMember,
    Success,
)
from judging.studies.access import DISPUTE_DECIDED, DISPUTE_SETTLED
from runs.accounts.audit_log import record_entry
from runs.models import Run, User

CLEAR = {Success.SUCCESS, Success.FAILURE}
"""Verdicts that stand when all labels say them; unsure and not executable never do."""

Status = StudyItem.Status


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


Verdict = ReferenceVerdict.Verdict
Origin = ReferenceVerdict.Origin


class DisputeError(Exception):
    """The dispute was not changed. Subclasses say why."""

    words: str | Promise


class NotAdjudicatorError(DisputeError):
    """Only the study's adjudicators decide, and only its labellers and they discuss."""

    words = _("Only annotators and adjudicators of this run may do this.")


class DecidedMeanwhileError(DisputeError):
    """Somebody else was first; `verdict` is what stands."""

    words = _("Somebody else decided first. Yours was not saved:")

    def __init__(self, verdict: ReferenceVerdict) -> None:
        super().__init__()
        self.verdict = verdict


class ClosedStudyError(DisputeError):
    """The study was closed before the dispute was decided."""

    words = _("The study was closed. Nothing was saved.")


@transaction.atomic
def add_message(
    *, dispute: Dispute, author: User, text: str, proposal: str = ""
) -> ReferenceVerdict | None:
    """A contribution to the discussion. Returns the verdict if it made the annotators agree.

    The annotators agree when the last proposal of each of them is the same verdict.

    Raises:
        DisputeError: one of its kinds, with nothing changed.
    """
    item, dispute = _lock(dispute)
    labels = Label.objects.independent().filter(item=item)
    labellers = set(labels.values_list("annotator", flat=True))
    if author.pk not in labellers and not is_adjudicator(item=item, user=author):
        raise NotAdjudicatorError
    _require_open(item)
    DisputeMessage.objects.create(
        dispute=dispute,
        author=author,
        text=text,
        proposal=proposal if author.pk in labellers else "",
    )
    agreed = _common_proposal(dispute, labellers)
    if agreed is None:
        return None
    return _end(dispute, item, agreed, Origin.CONSENSUS, author, text)


@transaction.atomic
def decide(
    *, dispute: Dispute, adjudicator: User, verdict: str, rationale: str
) -> ReferenceVerdict:
    """The adjudicator's decision, which settles the run.

    Raises:
        DisputeError: one of its kinds, with nothing changed.
    """
    item, dispute = _lock(dispute)
    if not is_adjudicator(item=item, user=adjudicator):
        raise NotAdjudicatorError
    _require_open(item)
    return _end(dispute, item, verdict, Origin.ADJUDICATED, adjudicator, rationale)


def is_adjudicator(*, item: StudyItem, user: User) -> bool:
    """Whether the person is an adjudicator of the item's study now."""
    return StudyMember.objects.filter(
        study=item.study_id, user=user, part=StudyMember.Part.ADJUDICATOR, left_at=None
    ).exists()


def _lock(dispute: Dispute) -> tuple[StudyItem, Dispute]:
    item = (
        StudyItem.objects.select_for_update(of=("self",))
        .select_related("study")
        .get(pk=dispute.item_id)
    )
    return item, Dispute.objects.select_for_update().get(pk=dispute.pk)


def _require_open(item: StudyItem) -> None:
    verdict = ReferenceVerdict.objects.filter(item=item).select_related("decided_by").first()
    if verdict is not None:
        raise DecidedMeanwhileError(verdict)
    if not item.study.is_open:
        raise ClosedStudyError


def _common_proposal(dispute: Dispute, labellers: set[int]) -> str | None:
    last = dict(dispute.messages.exclude(proposal="").values_list("author", "proposal"))
    proposals = {last.get(labeller, "") for labeller in labellers}
    agreed = proposals.pop() if len(proposals) == 1 else ""
    return agreed if agreed in Verdict.values else None


def _end(
    dispute: Dispute,
    item: StudyItem,
    verdict: str,
    origin: ReferenceVerdict.Origin,
    decided_by: User,
    rationale: str,
) -> ReferenceVerdict:
    dispute.version += 1
    dispute.save(update_fields=["version"])
    record_entry(
        DISPUTE_DECIDED if origin == Origin.ADJUDICATED else DISPUTE_SETTLED,
        about=("run", item.run_id),
        words=f"study {item.study_id}",
        user=decided_by,
    )
    settled = verdict_row(
        item=item,
        verdict=verdict,
        origin=origin,
        now=timezone.now(),
        decided_by=decided_by,
        rationale=rationale,
    )
    settled.save(force_insert=True)
    item.save(update_fields=["status"])
    return settled
