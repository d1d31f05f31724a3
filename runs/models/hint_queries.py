"""Reads of hints: blinded for whoever looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef

if TYPE_CHECKING:
    from runs.models.people import User

HintRow = TypeVar("HintRow", bound=models.Model, covariant=True)


class HintQuerySet(models.QuerySet[HintRow]):
    """Queries over hints. Generic, since the model is defined above this layer."""

    def visible_to(self, user: User) -> Self:
        """Hints whose source hides nothing from the person: each tells that it succeeded.

        Those on tasks that the person still judges are left out too: they tell a way to succeed.
        """
        runs: Any = self.model._meta.get_field("source").related_model
        tasks: Any = runs._meta.get_field("task").related_model
        told = runs.objects.visible_to(user).not_blind().not_anonymous().order_by()
        open_to = self.filter(Exists(told.filter(pk=OuterRef("source"))))
        return open_to.exclude(tasks.objects.is_sealed(user, "source__task"))

    def for_list(self) -> Self:
        """With all that a list shows."""
        return self.select_related("source__task__task_set", "job")
