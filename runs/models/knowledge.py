"""Web knowledge: versioned sets of entries per site, and the runs that they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from runs.models.learning import LearningJob
from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from runs.models.people import User

LONGEST_SEARCH = 300
"""Only so many characters of a search are used: databases limit conditions."""


class KnowledgeSetQuerySet(models.QuerySet["KnowledgeSet"]):
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


class KnowledgeEntryQuerySet(models.QuerySet["KnowledgeEntry"]):
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

    def for_agents(self) -> Self:
        """Those that agents read, in their order."""
        return self.filter(is_enabled=True).order_by("position")

    def of_run(self, run_id: UUID) -> Self:
        """Those that came from this run."""
        return self.filter(sources__run=run_id)

    def holding(self, words: str) -> Self:
        """Those that hold every one of these words anywhere; of `words`, the first characters."""
        found = self
        for word in words[:LONGEST_SEARCH].split():
            found = found.filter(
                Q(intent__icontains=word) | Q(ok__icontains=word) | Q(ng__icontains=word)
            )
        return found


class KnowledgeSet(models.Model):
    """One version of the knowledge of one site. Once an agent used it, it never changes again.

    Editing a frozen one makes the next version, whose `parent` it is; the `parent` of a first
    summarised version is the raw set that was summarised.
    """

    class Kind(models.TextChoices):
        RAW = "raw", _("raw")
        SUMMARISED = "summarised", _("summarised")

    name = models.CharField(max_length=200)
    site = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=10, choices=Kind)
    version = models.PositiveIntegerField(default=1)
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    job = models.ForeignKey(
        LearningJob, models.PROTECT, null=True, blank=True, related_name="knowledge_sets"
    )
    """What had it written; None for versions that people made by editing."""
    model = models.CharField(max_length=200, blank=True)
    wording = models.CharField(max_length=100, blank=True)
    """Version and hash of the prompts that it was asked for with."""
    content_hash = models.CharField(max_length=64, db_index=True)
    """Of what agents read: the entries that are switched on, in their order."""
    n_entries = models.PositiveIntegerField(default=0)
    """Those that are switched on."""
    n_tokens = models.PositiveIntegerField(default=0)
    """What all of them take in a prompt, by our own count."""
    frozen_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = KnowledgeSetQuerySet.as_manager()

    class Meta:
        ordering = ["site", "name", "kind", "-version"]
        verbose_name = "set of web knowledge"
        constraints = [
            models.UniqueConstraint(
                fields=["name", "site", "kind", "version"], name="one_knowledge_set_version"
            )
        ]
        indexes = [
            models.Index(fields=["site", "name", "kind", "-version"], name="knowledge_in_order")
        ]

    def __str__(self) -> str:
        site = f" {self.site}" if self.site and self.site != self.name else ""
        return f"{self.name}{site} {self.kind} v{self.version}"

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Its place in the order of sets, to sort a few of them here.

        For the few sets of a job SQLite would read all sets in order.
        """
        return self.site, self.name, self.kind, -self.version

    @property
    def is_raw(self) -> bool:
        return self.kind == self.Kind.RAW


class KnowledgeEntry(models.Model):
    """One intent with what reaches it and what does not."""

    knowledge_set = models.ForeignKey(KnowledgeSet, models.CASCADE, related_name="entries")
    position = models.PositiveIntegerField()
    intent = models.TextField("intent")
    ok = models.TextField("works", blank=True)
    ng = models.TextField("does not work")
    is_enabled = models.BooleanField(default=True)
    problem = models.TextField(blank=True)
    """Why it was left out: what it tells of its sources. Empty where nothing is wrong."""
    is_edited = models.BooleanField(default=False)
    """A person changed its words."""
    parents = models.ManyToManyField(
        "self", symmetrical=False, related_name="summaries", blank=True
    )
    """The raw entries that it stands for."""

    objects = KnowledgeEntryQuerySet.as_manager()

    class Meta:
        ordering = ["knowledge_set", "position"]
        verbose_name = "entry of web knowledge"
        constraints = [
            models.UniqueConstraint(
                fields=["knowledge_set", "position"], name="one_knowledge_entry_per_place"
            )
        ]

    def __str__(self) -> str:
        return self.intent


class KnowledgeSource(models.Model):
    """A run that an entry came from, with the steps that it rests on."""

    entry = models.ForeignKey(KnowledgeEntry, models.CASCADE, related_name="sources")
    run = models.ForeignKey("runs.Run", models.PROTECT, related_name="knowledge_sources")
    steps = models.JSONField(default=list)

    class Meta:
        ordering = ["entry", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "run"], name="one_knowledge_source_per_run")
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}: {self.run_id}"
