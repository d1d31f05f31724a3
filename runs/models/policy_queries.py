"""Reads of retry policies."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef

from runs.models.parsing import read_number

PolicyRow = TypeVar("PolicyRow", bound=models.Model, covariant=True)


class RetryPolicyQuerySet(models.QuerySet[PolicyRow]):
    """Queries over policies. Generic, since the model is defined above this layer."""

    def latest_versions(self) -> Self:
        """The last version of each, by name."""
        later = self.model._default_manager.filter(
            name=OuterRef("name"), version__gt=OuterRef("version")
        )
        return self.filter(~Exists(later)).order_by("name")

    def named(self, words: str) -> PolicyRow | None:
        """`NAME@VERSION`, or the last version of `NAME`; None if there is none.

        A name that holds an @ itself is found by its whole name first.
        """
        whole = self.filter(name=words).order_by("-version").first()
        if whole is not None:
            return whole
        name, _, version = words.rpartition("@")
        number = read_number(version)
        if not name or number is None:
            return None
        return self.filter(name=name.strip(), version=number).first()
