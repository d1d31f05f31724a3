"""What was learned from a study's runs, as lines: sets of hints and of web knowledge.

A set that rests on any other run stays out: it would say something of a run that is not there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from judging.portability.study_bundles.learned_records import (
    ChoicePart,
    EntryPart,
    EntryRef,
    HintSetLine,
    KnowledgeSetLine,
    LearningPart,
    SetRef,
    SourcePart,
)
from judging.portability.study_bundles.lines_of_rows import as_line, name_of
from judging.portability.study_bundles.naming import run_ref, task_ref
from runs.knowledge.hints.records import IMPORTED
from runs.models import (
    HintChoice,
    HintSet,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    LearningJob,
    Run,
)

SET = "set"
"""Key in the parameters of a summary for the row that was summarised: the set's parent."""


def hint_set_lines(run_ids: QuerySet[Run, Any]) -> Iterator[HintSetLine]:
    """The sets whose hints were all written from these runs."""
    choices = HintChoice.objects.filter(hint_set=OuterRef("pk"))
    within = choices.filter(hint__source__in=run_ids)
    sets = HintSet.objects.filter(
        Exists(within), ~Exists(choices.exclude(hint__source__in=run_ids))
    )
    for row in sets.order_by("key"):
        yield hint_set_line(row)


def hint_set_line(row: HintSet) -> HintSetLine:
    """One set with the choices for its tasks."""
    choices = row.choices.select_related("task__task_set", "hint__source").defer(
        "hint__source__record", "hint__source__evidence"
    )
    ordered = choices.order_by(
        "task__task_set__name", "task__task_set__version", "task__external_id", "task"
    )
    return as_line(
        HintSetLine,
        row,
        job=row.job_id,
        choices=[
            as_line(
                ChoicePart,
                choice,
                task=task_ref(choice.task),
                job=choice.hint.job_id,
                source=run_ref(choice.hint.source),
                level=choice.hint.level,
            )
            for choice in ordered
        ],
    )


def knowledge_set_lines(run_ids: QuerySet[Run, Any]) -> Iterator[KnowledgeSetLine]:
    """The sets that came from these runs alone; each after what it was made from."""
    of_set = KnowledgeSource.objects.filter(entry__knowledge_set=OuterRef("pk"))
    own = KnowledgeSet.objects.filter(
        Exists(of_set.filter(run__in=run_ids)), ~Exists(of_set.exclude(run__in=run_ids))
    )
    rows = {row.pk: row for row in own.select_related("parent", "job__created_by", "created_by")}
    made_from = _made_from(rows.values())
    written: set[int] = set()
    waiting = sorted(rows.values(), key=lambda row: (row.name, row.site, row.kind, row.version))
    while waiting:
        ready = [row for row in waiting if not (made_from[row.pk] & set(rows)) - written]
        for row in ready or waiting:
            yield knowledge_set_line(row)
            written.add(row.pk)
        waiting = [row for row in waiting if row.pk not in written]


def knowledge_set_line(row: KnowledgeSet) -> KnowledgeSetLine:
    """One version with its entries, those that are switched off too."""
    entries = row.entries.order_by("position").prefetch_related(
        "sources__run", "parents__knowledge_set"
    )
    return as_line(
        KnowledgeSetLine,
        row,
        set=set_ref(row),
        parent=set_ref(row.parent) if row.parent else None,
        job=_job(row.job) if row.job else None,
        created_by=name_of(row.created_by),
        entries=[_entry(entry) for entry in entries],
    )


def set_ref(row: KnowledgeSet) -> SetRef:
    """How the file names a set."""
    return as_line(SetRef, row)


def _made_from(rows: Collection[KnowledgeSet]) -> dict[int, set[int]]:
    """By set: those that must be there before it."""
    entries = KnowledgeEntry.objects.filter(knowledge_set__in=rows, parents__isnull=False)
    found = {row.pk: {row.parent_id} if row.parent_id else set() for row in rows}
    for pk, parent in entries.values_list("knowledge_set", "parents__knowledge_set").distinct():
        found[pk].add(parent)
    return {pk: parents - {pk} for pk, parents in found.items()}


def _entry(row: KnowledgeEntry) -> EntryPart:
    parents = sorted(row.parents.all(), key=lambda one: (one.knowledge_set_id, one.position))
    sources = sorted(row.sources.all(), key=lambda one: str(one.run_id))
    return as_line(
        EntryPart,
        row,
        parents=[
            EntryRef(set=set_ref(each.knowledge_set), position=each.position) for each in parents
        ],
        sources=[SourcePart(run=run_ref(each.run), steps=each.steps) for each in sources],
    )


def _job(row: LearningJob) -> LearningPart:
    params = {name: value for name, value in row.params.items() if name not in (SET, IMPORTED)}
    return as_line(LearningPart, row, params=params, created_by=name_of(row.created_by))
