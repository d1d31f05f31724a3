"""Discussing a disagreement and ending it."""

from django.db import transaction
from django.utils import timezone

from judging.models import Dispute, DisputeMessage, Label, ReferenceVerdict, StudyItem, StudyMember
from judging.studies.audit_kinds import DISPUTE_DECIDED, DISPUTE_SETTLED
from judging.studies.settlement import verdict_row
from runs.accounts.audit_log import record_entry
from runs.models import User

Verdict = ReferenceVerdict.Verdict
Origin = ReferenceVerdict.Origin


class DisputeError(Exception):
    """The dispute was not changed. Subclasses say why."""


class NotAdjudicatorError(DisputeError):
    """Only the study's adjudicators decide, and only its labellers and they discuss."""


class DecidedMeanwhileError(DisputeError):
    """Somebody else was first; `verdict` is what stands."""

    def __init__(self, verdict: ReferenceVerdict) -> None:
        super().__init__()
        self.verdict = verdict


class ClosedStudyError(DisputeError):
    """The study was closed before the dispute was decided."""


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
    labellers = labellers_of(item)
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
    *, dispute: Dispute, adjudicator: User, verdict: str, rationale: str, version: int
) -> ReferenceVerdict:
    """The adjudicator's decision, which settles the run.

    Args:
        version: of the dispute on the page that the decision was made from.

    Raises:
        DecidedMeanwhileError: another decision was made since that page was shown.
        DisputeError: one of its other kinds; with nothing changed, as above.
    """
    item, dispute = _lock(dispute)
    if not is_adjudicator(item=item, user=adjudicator):
        raise NotAdjudicatorError
    _require_open(item)
    if dispute.version != version:
        raise DisputeError
    return _end(dispute, item, verdict, Origin.ADJUDICATED, adjudicator, rationale)


def labellers_of(item: StudyItem) -> list[int]:
    """Ids of the annotators whose labels are in dispute."""
    return list(
        Label.objects.independent()
        .filter(item=item)
        .order_by("submitted_at", "pk")
        .values_list("annotator", flat=True)
    )


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


def _common_proposal(dispute: Dispute, labellers: list[int]) -> str | None:
    last: dict[int, str] = {}
    for author, proposal in dispute.messages.exclude(proposal="").values_list("author", "proposal"):
        last[author] = proposal
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
