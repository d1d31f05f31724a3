"""A study as the lines of its bundle, in an order that follows from what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from judging.models import EvaluatorVersion, Study, Unblinding
from judging.portability.study_bundles.item_lines import ItemLines
from judging.portability.study_bundles.judgement_lines import (
    attachment_lines,
    evaluation_lines,
    failure_tag_lines,
    review_lines,
)
from judging.portability.study_bundles.learned_lines import hint_set_lines, knowledge_set_lines
from judging.portability.study_bundles.lines_of_rows import as_line, name_of
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    StudyLine,
    UnblindingLine,
)
from judging.portability.study_bundles.task_lines import TaskLines
from runs.models import Run


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
