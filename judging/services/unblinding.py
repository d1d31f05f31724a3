"""The record of who came to see what had been hidden."""

from collections.abc import Iterable

from judging.models import Study, StudyItem, Unblinding
from runs.models import User


def record_unblinding(*, user: User, item: StudyItem, reason: str) -> None:
    """Note that the person sees the item's labels or verdicts, once per person and item.

    Afterwards the run is never handed to them for labelling again, in any study.
    """
    Unblinding.objects.get_or_create(
        user=user, item=item, defaults={"study_id": item.study_id, "reason": reason}
    )


def record_unblindings(*, user: User, items: Iterable[StudyItem], reason: str) -> None:
    """The same for a list of runs, in two queries at most."""
    seen = {item.pk: item for item in items}
    known = Unblinding.objects.filter(user=user, item__in=seen).values_list("item", flat=True)
    for pk in known:
        del seen[pk]
    Unblinding.objects.bulk_create(
        (
            Unblinding(user=user, item=item, study_id=item.study_id, reason=reason)
            for item in seen.values()
        ),
        batch_size=500,
        ignore_conflicts=True,
    )


def record_closing(*, study: Study) -> None:
    """Note that closing the study opened its unsettled runs to everybody who took part."""
    open_to = study.members.values_list("user", flat=True)
    Unblinding.objects.bulk_create(
        Unblinding(study=study, user_id=user, reason="study closed") for user in open_to
    )
