"""Storing what was learned from a bundle's runs: each set whole, or not at all with the reason."""

from __future__ import annotations

from collections.abc import Callable

from judging.portability.study_bundles.contents import SET, hint_set_line, knowledge_set_line
from judging.portability.study_bundles.kinds import (
    EntryPart,
    EntryRef,
    HintSetLine,
    KnowledgeSetLine,
    LearningPart,
    SetRef,
)
from judging.portability.study_bundles.reading import StudyBundle
from judging.portability.study_bundles.records import RunRef
from judging.portability.study_bundles.storing import People, StudyReport, find_task, store_rows
from runs.knowledge.hints.writing import IMPORTED
from runs.knowledge.web.sets import NewEntry, fill
from runs.models import Hint, HintChoice, HintSet, KnowledgeEntry, KnowledgeSet, LearningJob, Run
from webagent.trajectory.canonical import hashed_json

FindRun = Callable[[RunRef, str], Run]


def store_hint_sets(bundle: StudyBundle, report: StudyReport, find_run: FindRun) -> None:
    """Store the sets of hints that are missing. After the runs, with which their hints came."""
    for line in bundle.lines(HintSetLine):
        here = HintSet.objects.filter(key=line.key).first()
        if here is not None:
            same = _said(hint_set_line(here), find_run) == _said(line, find_run)
            if same:
                report.already_there["hint_sets"] += 1
            else:
                report.conflict(f"set of hints {line.key}: is otherwise here, and stays")
        elif reason := _store_hint_set(line, find_run):
            report.conflict(f"set of hints {line.key}: {reason}")
        else:
            report.new["hint_sets"] += 1


def _said(line: HintSetLine, find_run: FindRun) -> list[object]:
    """What a set says, with the runs by the ids that they have here."""
    file = "hint_sets.jsonl"
    choices = [
        (each.task, each.job, find_run(each.source, file).pk, each.level) for each in line.choices
    ]
    return [line.job, line.level, line.relatedness, line.method, sorted(choices, key=str)]


def _store_hint_set(line: HintSetLine, find_run: FindRun) -> str:
    """Store it; why it cannot be, or nothing."""
    if not LearningJob.objects.filter(pk=line.job).exists():
        return "the work that wrote its hints is not here"
    choices = []
    made = HintSet(
        key=line.key,
        job_id=line.job,
        level=line.level,
        relatedness=line.relatedness,
        method=line.method,
        created_at=line.created_at,
    )
    for part in line.choices:
        source = find_run(part.source, "hint_sets.jsonl")
        hint = Hint.objects.filter(job=part.job, source=source, level=part.level).first()
        task = find_task(part.task)
        if hint is None or task is None:
            missing = "hint" if hint is None else "task"
            return f"its {missing} for task {part.task.id} is not here"
        choices.append(HintChoice(task=task, hint=hint, score=part.score, n_tied=part.n_tied))
    made.save(force_insert=True)
    for choice in choices:
        choice.hint_set = made
    HintChoice.objects.bulk_create(choices, batch_size=500)
    return ""


class KnowledgeStore:
    """Puts sets of web knowledge into the database, each after what it was made from."""

    def __init__(
        self, bundle: StudyBundle, report: StudyReport, people: People, find_run: FindRun
    ) -> None:
        self._bundle = bundle
        self._report = report
        self._people = people
        self._find_run = find_run

    def store(self) -> None:
        """Store the sets that are missing; those that are here stay as they are."""
        for line in self._bundle.lines(KnowledgeSetLine):
            here = _find_set(line.set)
            if here is None:
                self._store(line)
            elif self._said(knowledge_set_line(here)) == self._said(line):
                self._report.already_there["knowledge_sets"] += 1
            else:
                self._report.conflict(f"web knowledge {here}: is otherwise here, and stays")

    def _said(self, line: KnowledgeSetLine) -> bytes:
        """What a set says, with the runs by the ids that they have here."""
        entries = [
            entry.model_copy(
                update={
                    "sources": sorted(
                        (
                            source.model_copy(update={"run": RunRef(id=self._run(source.run).pk)})
                            for source in entry.sources
                        ),
                        key=lambda source: str(source.run.id),
                    )
                }
            )
            for entry in line.entries
        ]
        told = line.model_copy(update={"entries": entries})
        # A job names runs by their ids, and the set may have been frozen here since.
        return hashed_json(told, exclude={"job", "frozen_at"})

    def _store(self, line: KnowledgeSetLine) -> None:
        parent = _find_set(line.parent) if line.parent else None
        if line.parent and parent is None:
            self._report.conflict(f"web knowledge {line.set.name}: what it came from is not here")
        row = KnowledgeSet(
            **line.set.model_dump(),
            parent=parent,
            job=self._job(line.job, parent) if line.job else None,
            model=line.model,
            wording=line.wording,
            created_by=self._people.maybe(line.created_by),
            created_at=line.created_at,
        )
        store_rows([row], "created_at")
        fill(row, [self._entry(entry) for entry in line.entries])
        if line.frozen_at:
            KnowledgeSet.objects.filter(pk=row.pk).update(frozen_at=line.frozen_at)
        if row.content_hash != line.content_hash:
            self._report.conflict(f"web knowledge {row}: its entries give another hash here")
        self._report.new["knowledge_sets"] += 1

    def _entry(self, part: EntryPart) -> NewEntry:
        parents = [_find_entry(ref) for ref in part.parents]
        if None in parents:
            self._report.conflict(f"web knowledge: a raw entry of {part.intent[:80]!r} is not here")
        return NewEntry(
            **part.model_dump(exclude={"parents", "sources"}),
            parents=[pk for pk in parents if pk is not None],
            sources={self._run(source.run).pk: source.steps for source in part.sources},
        )

    def _job(self, part: LearningPart, parent: KnowledgeSet | None) -> LearningJob:
        """The work that wrote a set; made if it is not here, as work that was done elsewhere."""
        there = LearningJob.objects.filter(pk=part.id).first()
        if there is not None:
            return there
        params = part.params | {IMPORTED: True}
        if parent is not None and part.kind == "summarise":
            params[SET] = parent.pk
        columns = part.model_dump(exclude={"params", "created_by"})
        job = LearningJob(params=params, created_by=self._people.maybe(part.created_by), **columns)
        store_rows([job], "created_at")
        return job

    def _run(self, ref: RunRef) -> Run:
        return self._find_run(ref, "knowledge_sets.jsonl")


def _find_set(ref: SetRef) -> KnowledgeSet | None:
    return KnowledgeSet.objects.filter(**ref.model_dump()).first()


def _find_entry(ref: EntryRef) -> int | None:
    """The row's id."""
    of_set = {f"knowledge_set__{name}": value for name, value in ref.set.model_dump().items()}
    rows = KnowledgeEntry.objects.filter(position=ref.position, **of_set)
    return rows.values_list("pk", flat=True).first()
