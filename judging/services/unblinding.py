"""The record of who came to see what had been hidden."""

from collections.abc import Iterable

from judging.models import Study, StudyItem, Unblinding
from runs.models import User

CHUNK = 500
"""Databases take no more than so many values at a time."""


def record_unblinding(*, user: User, item: StudyItem, reason: str) -> None:
    """Note that the person sees the item's labels or verdicts, once per person and item.

    Afterwards the run is never handed to them for labelling again, in any study.
    """
    Unblinding.objects.get_or_create(
        user=user, item=item, defaults={"study_id": item.study_id, "reason": reason}
    )


def record_unblindings(*, user: User, items: Iterable[StudyItem], reason: str) -> None:
    """The same for a list of runs, in two queries for every `CHUNK` of them."""
    seen = list({item.pk: item for item in items}.values())
    for start in range(0, len(seen), CHUNK):
        chunk = seen[start : start + CHUNK]
        rows = Unblinding.objects.filter(user=user, item__in=chunk)
        known = set(rows.values_list("item", flat=True))
        Unblinding.objects.bulk_create(
            (
                Unblinding(user=user, item=item, study_id=item.study_id, reason=reason)
                for item in chunk
                if item.pk not in known
            ),
            ignore_conflicts=True,
        )


def record_closing(*, study: Study) -> None:
    """Note that closing the study opened its unsettled runs to everybody who took part."""
    open_to = study.members.values_list("user", flat=True)
    Unblinding.objects.bulk_create(
        Unblinding(study=study, user_id=user, reason="study closed") for user in open_to
    )
