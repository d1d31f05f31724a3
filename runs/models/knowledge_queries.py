"""Reads of web knowledge, without what comes from runs that the reader judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from runs.models.people import User

SetRow = TypeVar("SetRow", bound=models.Model, covariant=True)
EntryRow = TypeVar("EntryRow", bound=models.Model, covariant=True)


class KnowledgeSetQuerySet(models.QuerySet[SetRow]):
    """Queries over sets. Generic, since the model is defined above this layer."""

    def latest_versions(self) -> Self:
        """Of each name, site and kind the newest."""
        same = self.model._default_manager.filter(
            name=OuterRef("name"), site=OuterRef("site"), kind=OuterRef("kind")
        )
        newest = same.order_by("-version").values("version")[:1]
        return self.filter(version=models.Subquery(newest))

    def freeze(self, content_hash: str) -> int:
        """Have those of this content never change again; how many that is new for."""
        return self.filter(content_hash=content_hash, frozen_at=None).update(frozen_at=Now())


class KnowledgeEntryQuerySet(models.QuerySet[EntryRow]):
    """Queries over entries."""

    def visible_to(self, user: User) -> Self:
        """Without entries from runs on which the person is blind, or that they may not open.

        What a model made of such a run is somebody else's view of it.
        """
        policy = run_policy()
        sources: Any = self.model._meta.get_field("sources").related_model
        runs: Any = sources._meta.get_field("run").related_model
        allowed = runs._default_manager.filter(policy.visible(user))
        if (blind := policy.blind(user)) is not None:
            allowed = allowed.exclude(blind)
        covered = sources._default_manager.filter(entry=OuterRef("pk"))
        covered = covered.exclude(Exists(allowed.order_by().filter(pk=OuterRef("run"))))
        return self.exclude(Exists(covered))

    def told(self) -> Self:
        """Those that agents read, in their order."""
        return self.filter(is_enabled=True).order_by("position")

    def of_run(self, run_id: UUID) -> Self:
        """Those that came from this run."""
        return self.filter(sources__run=run_id)

    def holding(self, words: str) -> Self:
        """Those that hold every one of these words anywhere."""
        found = self
        for word in words.split():
            found = found.filter(
                Q(intent__icontains=word) | Q(ok__icontains=word) | Q(ng__icontains=word)
            )
        return found
