"""A study as the lines of its bundle, in an order that follows from what they say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from judging.models import EvaluatorVersion, Study, Unblinding
from judging.portability.study_bundles.item_lines import (
    ItemLines,
    attachment_lines,
    evaluation_lines,
    failure_tag_lines,
    review_lines,
)
from judging.portability.study_bundles.kinds import (
    ChoicePart,
    EntryPart,
    EntryRef,
    HintSetLine,
    KnowledgeSetLine,
    LearningPart,
    SetRef,
    SourcePart,
)
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    StudyLine,
    UnblindingLine,
)
from judging.portability.study_bundles.row_lines import (
    TaskLines,
    as_line,
    name_of,
    run_ref,
    task_ref,
)
from runs.knowledge.hints.writing import IMPORTED
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


class StudyContents:
    """The lines of one study by file; each is read when it is asked for."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._tasks = TaskLines(self._ids())
        self._items = ItemLines(study, self._tasks)

    def lines(self) -> Mapping[str, Callable[[], Iterable[Line]]]:
        """What writes each file; the names are those of `kinds.KINDS`."""
        return {
            "study": self._head,
            "task_sets": self._tasks.sets,
            "tasks": self._tasks.tasks,
            "milestones": self._tasks.milestones,
            "evaluators": self._evaluators,
            "guidelines": self._guidelines,
            "members": self._members,
            "items": self.item_lines,
            "unblindings": self._unblindings,
            "evaluations": lambda: evaluation_lines(self._ids()),
            "reviews": lambda: review_lines(self._ids()),
            "failure_tags": lambda: failure_tag_lines(self._ids()),
            "attachments": lambda: attachment_lines(self._ids()),
            "hint_sets": lambda: hint_set_lines(self._ids()),
            "knowledge_sets": lambda: knowledge_set_lines(self._ids()),
        }

    @property
    def runs(self) -> QuerySet[Run]:
        """The runs of the study, in its order."""
        return Run.objects.filter(study_items__study=self._study).order_by("study_items__position")

    def item_lines(self) -> Iterator[ItemLine]:
        """One line a run, with all that was said of it in the study."""
        return self._items.lines()

    def _ids(self) -> QuerySet[Run, Any]:
        return self.runs.order_by().values("pk")

    def _head(self) -> Iterator[Line]:
        yield as_line(StudyLine, self._study, created_by=name_of(self._study.created_by))

    def _evaluators(self) -> Iterator[Line]:
        used = Q(evaluations__run__in=self._ids()) | Q(cause_tags__item__study=self._study)
        for row in EvaluatorVersion.objects.filter(used).distinct().order_by("config_hash"):
            yield as_line(EvaluatorLine, row)

    def _guidelines(self) -> Iterator[Line]:
        for row in self._study.guidelines.select_related("created_by").order_by("version"):
            yield as_line(GuidelineLine, row, created_by=name_of(row.created_by))

    def _members(self) -> Iterator[Line]:
        for row in self._study.members.select_related("user").order_by("user__username"):
            yield as_line(MemberLine, row, user=row.user.username)

    def _unblindings(self) -> Iterator[Line]:
        """Those of the study as a whole; a run's stand with the run."""
        rows = Unblinding.objects.filter(study=self._study, item=None).select_related("user")
        for row in rows.order_by("user__username", "at", "pk"):
            yield as_line(UnblindingLine, row, run=None, user=row.user.username)
