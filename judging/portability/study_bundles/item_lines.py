"""The runs of a study as lines, each with all that people said of it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Prefetch

from judging.models import CauseTag, Label, Study, StudyItem
from judging.portability.study_bundles.lines_of_rows import (
    AT_ONCE,
    RUN_PARTS,
    as_line,
    name_of,
    place_in,
)
from judging.portability.study_bundles.naming import renamed_fields, run_ref
from judging.portability.study_bundles.records import (
    AssignmentPart,
    CommentPart,
    DisputePart,
    EarlierPart,
    ItemLine,
    LabelPart,
    MessagePart,
    TagPart,
    TickPart,
    UnblindingLine,
    VerdictPart,
)
from judging.portability.study_bundles.task_lines import TaskLines


class ItemLines:
    """The items of one study."""

    def __init__(self, study: Study, tasks: TaskLines) -> None:
        self._study = study
        self._tasks = tasks
        self._guidelines = dict(study.guidelines.values_list("pk", "version"))

    def lines(self) -> Iterator[ItemLine]:
        """One line a run, in the order of the study."""
        labels = Label.objects.select_related("annotator", "guideline").prefetch_related(
            "revisions", "ticks"
        )
        labels = labels.order_by("submitted_at", "pk")
        tags = CauseTag.objects.select_related("evaluator", "by").order_by("at", "pk")
        items = (
            StudyItem.objects.filter(study=self._study)
            .select_related("run", "verdict__decided_by", "dispute")
            .defer(*(f"run__{name}" for name in RUN_PARTS))
            .prefetch_related(
                "assignments__user",
                "comments__author",
                "dispute__messages__author",
                "unblindings__user",
                Prefetch("labels", labels),
                Prefetch("cause_tags", tags),
            )
            .order_by("position", "run")
        )
        return map(self._line, items.iterator(AT_ONCE))

    def _line(self, item: StudyItem) -> ItemLine:
        assigned = sorted(
            item.assignments.all(), key=lambda row: (row.user.username, row.is_repeat)
        )
        comments = sorted(
            item.comments.all(), key=lambda row: (row.step_index, row.created_at, row.pk)
        )
        seen = sorted(item.unblindings.all(), key=lambda row: row.user.username)
        return as_line(
            ItemLine,
            item,
            run=run_ref(item.run),
            assignments=[
                as_line(
                    AssignmentPart, row, user=row.user.username, draft=self._portable(row.draft)
                )
                for row in assigned
            ],
            labels=[self._label(row) for row in item.labels.all()],
            comments=[
                as_line(CommentPart, row, author=row.author.username, step=row.step_index)
                for row in comments
            ],
            dispute=_dispute(item),
            verdict=_verdict(item),
            tags=_tags(item),
            unblindings=[
                as_line(UnblindingLine, row, run=None, user=row.user.username) for row in seen
            ],
        )

    def _label(self, row: Label) -> LabelPart:
        revisions = sorted(row.revisions.all(), key=lambda each: (each.at, each.pk))
        return as_line(
            LabelPart,
            row,
            annotator=row.annotator.username,
            guideline=row.guideline.version if row.guideline else None,
            earlier=[
                EarlierPart(at=each.at, content=self._portable(each.content)) for each in revisions
            ],
            ticks=[
                as_line(
                    TickPart, tick, milestone=self._tasks.milestone_key(tick.milestone_id) or ""
                )
                for tick in row.ticks.all()
            ],
        )

    def _portable(self, content: Mapping[str, Any]) -> dict[str, Any]:
        return renamed_fields(content, self._tasks.milestone_key, self._guidelines.get)


def _dispute(item: StudyItem) -> DisputePart | None:
    row = getattr(item, "dispute", None)
    if row is None:
        return None
    messages = [
        as_line(MessagePart, each, author=each.author.username) for each in row.messages.all()
    ]
    return as_line(DisputePart, row, messages=messages)


def _verdict(item: StudyItem) -> VerdictPart | None:
    row = getattr(item, "verdict", None)
    return as_line(VerdictPart, row, decided_by=name_of(row.decided_by)) if row else None


def _tags(item: StudyItem) -> list[TagPart]:
    rows = list(item.cause_tags.all())
    numbers = {row.pk: number for number, row in enumerate(rows, start=1)}
    return [
        as_line(TagPart, row, evaluator=row.evaluator.config_hash, **place_in(numbers, row))
        for row in rows
    ]
