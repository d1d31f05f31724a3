"""The record of who came to see what had been hidden."""

from judging.models import Study, StudyItem, Unblinding
from runs.models import User


def record_unblinding(*, user: User, item: StudyItem, reason: str) -> None:
    """Note that the person sees the item's labels or verdicts, once per person and item.

    Afterwards the run is never handed to them for labelling again, in any study.
    """
    Unblinding.objects.get_or_create(
        user=user, item=item, defaults={"study_id": item.study_id, "reason": reason}
    )


def record_closing(*, study: Study) -> None:
    """Note that closing the study opened its unsettled runs to everybody who took part."""
    open_to = study.members.values_list("user", flat=True)
    Unblinding.objects.bulk_create(
        Unblinding(study=study, user_id=user, reason="study closed") for user in open_to
    )
