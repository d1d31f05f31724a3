"""Reads of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef

from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from runs.models.people import User

ExperimentRow = TypeVar("ExperimentRow", bound=models.Model, covariant=True)


class ExperimentQuerySet(models.QuerySet[ExperimentRow]):
    """Queries over experiments. Generic, since the model is defined above this layer."""

    def visible_to(self, user: User) -> Self:
        """Experiments without those that hold only runs whose agent is hidden from the person.

        The name of such a one mostly tells the agent.
        """
        anonymous = run_policy().anonymous(user)
        if anonymous is None:
            return self.all()
        model: Any = self.model._meta.get_field("runs").related_model
        runs = model._default_manager.filter(experiment=OuterRef("pk"))
        return self.filter(~Exists(runs) | Exists(runs.exclude(anonymous)))
