"""Entries of web knowledge on their way into the database, however many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from runs.knowledge.web.sets import recount
from runs.models import KnowledgeEntry, KnowledgeSet, KnowledgeSource

AT_A_TIME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One entry with the runs that it came from and the raw entries that it stands for."""

    intent: str
    ok: str
    ng: str
    is_enabled: bool = True
    problem: str = ""
    is_edited: bool = False
    position: int | None = None
    """Its place in the set where it is not the one in the list."""
    sources: Mapping[UUID, Sequence[int]] = field(default_factory=dict)
    """Steps by run."""
    parents: Sequence[int] = ()
    """Ids of entries."""


def fill(knowledge_set: KnowledgeSet, entries: Sequence[NewEntry]) -> KnowledgeSet:
    """Make these the entries of a new set, in this order. A fixed number of queries for 500."""
    rows = KnowledgeEntry.objects.bulk_create(
        [
            KnowledgeEntry(
                knowledge_set=knowledge_set,
                position=place if entry.position is None else entry.position,
                intent=entry.intent,
                ok=entry.ok,
                ng=entry.ng,
                is_enabled=entry.is_enabled,
                problem=entry.problem,
                is_edited=entry.is_edited,
            )
            for place, entry in enumerate(entries)
        ],
        batch_size=AT_A_TIME,
    )
    pairs = list(zip(rows, entries, strict=True))
    KnowledgeSource.objects.bulk_create(
        [
            KnowledgeSource(entry=row, run_id=run, steps=list(steps))
            for row, entry in pairs
            for run, steps in entry.sources.items()
        ],
        batch_size=AT_A_TIME,
    )
    parenthood = KnowledgeEntry.parents.through
    parenthood.objects.bulk_create(
        [
            parenthood(from_knowledgeentry_id=row.pk, to_knowledgeentry_id=parent)
            for row, entry in pairs
            for parent in dict.fromkeys(entry.parents)
        ],
        batch_size=AT_A_TIME,
    )
    return recount(knowledge_set)
