"""Reads of studies and of the runs in them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q

if TYPE_CHECKING:
    from runs.models import User

# The words of `judging.models`, which stands above this layer.
OPEN = "open"
LEASED, SKIPPED = "leased", "skipped"

StudyRow = TypeVar("StudyRow", bound=models.Model, covariant=True)
ItemRow = TypeVar("ItemRow", bound=models.Model, covariant=True)


class StudyQuerySet(models.QuerySet[StudyRow]):
    """Queries over studies. Generic, since the model is defined above this layer."""

    def of(self, user: User, part: str | None = None) -> Self:
        """Studies in which the person has a part now."""
        if part:
            return self.filter(members__user=user, members__left_at=None, members__part=part)
        return self.filter(members__user=user, members__left_at=None)

    def listed_for(self, user: User) -> Self:
        """Studies that the person may open: all with the permission, else their own."""
        return self.all() if user.has_perm("judging.view_study") else self.of(user)


class StudyItemQuerySet(models.QuerySet[ItemRow]):
    """Queries over the runs of a study. Generic, as above."""

    def free_places(self, user: User, now: datetime) -> list[tuple[int, int, int]]:
        """Study and id of runs on which this person could take a place, with how many are taken.

        Taken are labels given and places that others hold at this moment. One statement, so
        that a place that turns from lease to label in between is counted once, never twice
        and never not at all.
        """
        held = Q(
            assignments__state=LEASED,
            assignments__is_repeat=False,
            assignments__leased_until__gt=now,
        ) & ~Q(assignments__user=user)
        counted = self.filter(status=OPEN).annotate(
            n_taken=F("n_labels") + Count("assignments", filter=held)
        )
        free = counted.filter(n_taken__lt=F("study__labels_per_run"))
        return list(free.values_list("study", "pk", "n_taken"))

    def unlabelled_by(self, user: User) -> Self:
        """Without those that the person has labelled."""
        return self.exclude(labels__annotator=user)

    def not_unblinded_for(self, user: User) -> Self:
        """Without runs of which the person knows what is hidden, from this study or another.

        Because they looked, or because all labels of a run that they labelled have arrived.
        """
        labelled = self.model._default_manager.filter(
            run=OuterRef("run"), labels__annotator=user, labels__is_repeat=False
        )
        unseen = self.exclude(run__study_items__unblindings__user=user)
        return unseen.exclude(Exists(labelled.exclude(status=OPEN)))
