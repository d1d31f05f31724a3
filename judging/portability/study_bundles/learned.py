"""What was learned from a study's runs, out and in: each set whole, or not at all."""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from judging.portability.study_bundles.kinds import (
    EntryPart,
    EntryRef,
    HintSetLine,
    KnowledgeSetLine,
    LearningPart,
    SetRef,
)
from judging.portability.study_bundles.records import RunRef
from judging.portability.study_bundles.storing import BundleStore, find_task, insert
from judging.portability.study_bundles.tasks import OF_TASK
from runs.knowledge.hints.of_runs import IMPORTED
from runs.knowledge.web.sets import NewEntry, fill
from runs.models import (
    Hint,
    HintChoice,
    HintSet,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    LearningJob,
    Run,
)
from webagent.trajectory.canonical import hashed_json

SET = "set"
"""Key in the parameters of a summary for the row that was summarised: the set's parent."""


def hint_set_lines(run_ids: QuerySet[Run, Any]) -> Iterator[HintSetLine]:
    """The sets whose hints were all written from these runs."""
    choices = HintChoice.objects.filter(hint_set=OuterRef("pk"))
    within = choices.filter(hint__source__in=run_ids)
    sets = HintSet.objects.filter(
        Exists(within), ~Exists(choices.exclude(hint__source__in=run_ids))
    )
    return map(_hint_set_line, sets.order_by("key"))


def _hint_set_line(row: HintSet) -> HintSetLine:
    """One set with the choices for its tasks."""
    choices = row.choices.select_related("task__task_set", "hint__source").defer(
        "hint__source__record", "hint__source__evidence"
    )
    return HintSetLine.of(row, choices=list(choices.order_by(*OF_TASK, "task")))


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
            yield _knowledge_set_line(row)
            written.add(row.pk)
        waiting = [row for row in waiting if row.pk not in written]


def _made_from(rows: Collection[KnowledgeSet]) -> dict[int, set[int]]:
    """By set: those that must be there before it."""
    entries = KnowledgeEntry.objects.filter(knowledge_set__in=rows, parents__isnull=False)
    found = {row.pk: {row.parent_id} if row.parent_id else set() for row in rows}
    for pk, parent in entries.values_list("knowledge_set", "parents__knowledge_set").distinct():
        found[pk].add(parent)
    return {pk: parents - {pk} for pk, parents in found.items()}


def _knowledge_set_line(row: KnowledgeSet) -> KnowledgeSetLine:
    """One version with its entries, those that are switched off too."""
    entries = row.entries.order_by("position").prefetch_related(
        "sources__run", "parents__knowledge_set"
    )
    return KnowledgeSetLine.of(
        row,
        set=row,
        job=_job(row.job) if row.job else None,
        entries=[_entry(entry) for entry in entries],
    )


def _entry(row: KnowledgeEntry) -> EntryPart:
    return EntryPart.of(
        row,
        parents=sorted(row.parents.all(), key=lambda one: (one.knowledge_set_id, one.position)),
        sources=sorted(row.sources.all(), key=lambda one: str(one.run_id)),
    )


def _job(row: LearningJob) -> LearningPart:
    params = {name: value for name, value in row.params.items() if name not in (SET, IMPORTED)}
    return LearningPart.of(row, params=params)


def store_learned(store: BundleStore) -> None:
    """Store the sets that are missing; those that are here stay as they are.

    After the runs, with which their hints came.
    """
    for line in store.bundle.lines(HintSetLine):
        if here := HintSet.objects.filter(key=line.key).first():
            same = _hints_said(store, _hint_set_line(here)) == _hints_said(store, line)
            words = f"set of hints {line.key}: is otherwise here, and stays"
            store.report.is_new("hint_sets", same, words)
        elif reason := _store_hint_set(store, line):
            store.report.conflict(f"set of hints {line.key}: {reason}")
        else:
            store.report.new["hint_sets"] += 1
    for each in store.bundle.lines(KnowledgeSetLine):
        if known := _find_set(each.set):
            same = _said(store, _knowledge_set_line(known)) == _said(store, each)
            words = f"web knowledge {known}: is otherwise here, and stays"
            store.report.is_new("knowledge_sets", same, words)
        else:
            _store_set(store, each)


def _hints_said(store: BundleStore, line: HintSetLine) -> list[object]:
    """What a set says, with the runs by the ids that they have here."""
    run = partial(store.run, file="hint_sets.jsonl")
    choices = [(each.task, each.job, run(each.source).pk, each.level) for each in line.choices]
    return [line.job, line.level, line.relatedness, line.method, sorted(choices, key=str)]


def _store_hint_set(store: BundleStore, line: HintSetLine) -> str:
    """Store it; why it cannot be, or nothing."""
    if not LearningJob.objects.filter(pk=line.job).exists():
        return "the work that wrote its hints is not here"
    made = store.row(HintSet, line)
    choices = []
    for part in line.choices:
        source = store.run(part.source, "hint_sets.jsonl")
        hint = Hint.objects.filter(job=part.job, source=source, level=part.level).first()
        task = find_task(part.task)
        if hint is None or task is None:
            missing = "hint" if hint is None else "task"
            return f"its {missing} for task {part.task.id} is not here"
        choices.append(store.row(HintChoice, part, hint_set=made, task=task, hint=hint))
    made.save(force_insert=True)
    HintChoice.objects.bulk_create(choices, batch_size=500)
    return ""


def _said(store: BundleStore, line: KnowledgeSetLine) -> bytes:
    """What a set says, with the runs by the ids that they have here."""

    def local(entry: EntryPart) -> EntryPart:
        sources = [
            each.model_copy(update={"run": RunRef(id=_run(store, each.run).pk)})
            for each in entry.sources
        ]
        ordered = sorted(sources, key=lambda each: str(each.run.id))
        return entry.model_copy(update={"sources": ordered})

    told = line.model_copy(update={"entries": [local(entry) for entry in line.entries]})
    # A job names runs by their ids, and the set may have been frozen here since.
    return hashed_json(told, exclude={"job", "frozen_at"})


def _store_set(store: BundleStore, line: KnowledgeSetLine) -> None:
    parent = _find_set(line.parent) if line.parent else None
    if line.parent and parent is None:
        store.report.conflict(f"web knowledge {line.set.name}: what it came from is not here")
    job = _store_job(store, line.job, parent) if line.job else None
    named = line.set.model_dump()
    # The entries give the hash; frozen, a set takes no entries.
    beside = {"parent": parent, "job": job, "content_hash": "", "frozen_at": None}
    row = store.row(KnowledgeSet, line, **named, **beside)
    insert([row])
    fill(row, [_new_entry(store, entry) for entry in line.entries])
    if line.frozen_at:
        KnowledgeSet.objects.filter(pk=row.pk).update(frozen_at=line.frozen_at)
    if row.content_hash != line.content_hash:
        store.report.conflict(f"web knowledge {row}: its entries give another hash here")
    store.report.new["knowledge_sets"] += 1


def _new_entry(store: BundleStore, part: EntryPart) -> NewEntry:
    parents = [_find_entry(ref) for ref in part.parents]
    if None in parents:
        store.report.conflict(f"web knowledge: a raw entry of {part.intent[:80]!r} is not here")
    return NewEntry(
        **part.model_dump(exclude={"parents", "sources"}),
        parents=[pk for pk in parents if pk is not None],
        sources={_run(store, source.run).pk: source.steps for source in part.sources},
    )


def _store_job(store: BundleStore, part: LearningPart, parent: KnowledgeSet | None) -> LearningJob:
    """The work that wrote a set; made if it is not here, as work that was done elsewhere."""
    if there := LearningJob.objects.filter(pk=part.id).first():
        return there
    params = part.params | {IMPORTED: True}
    if parent is not None and part.kind == "summarise":
        params[SET] = parent.pk
    job = store.row(LearningJob, part, params=params)
    insert([job])
    return job


def _run(store: BundleStore, ref: RunRef) -> Run:
    return store.run(ref, "knowledge_sets.jsonl")


def _find_set(ref: SetRef) -> KnowledgeSet | None:
    return KnowledgeSet.objects.filter(**ref.model_dump()).first()


def _find_entry(ref: EntryRef) -> int | None:
    """The row's id."""
    of_set = {f"knowledge_set__{name}": value for name, value in ref.set.model_dump().items()}
    rows = KnowledgeEntry.objects.filter(position=ref.position, **of_set)
    return rows.values_list("pk", flat=True).first()
