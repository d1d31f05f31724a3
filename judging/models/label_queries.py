"""Reads of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models
from django.db.models import Count

if TYPE_CHECKING:
    from runs.models import User

LabelRow = TypeVar("LabelRow", bound=models.Model, covariant=True)


class LabelQuerySet(models.QuerySet[LabelRow]):
    """Queries over labels. Generic, since the model is defined above this layer."""

    def independent(self) -> Self:
        """Without hidden repeats, which only measure how steady one person is."""
        return self.filter(is_repeat=False)

    def by(self, user: User) -> Self:
        """Labels of one person."""
        return self.filter(annotator=user)

    def with_version(self) -> Self:
        """Adds `version`: how often the label was changed; a form that changes it states it."""
        return self.annotate(version=Count("revisions"))
