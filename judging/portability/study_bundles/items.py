"""The runs of a study, out and in, each with all that people said of it there."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Prefetch

from judging.models import (
    Assignment,
    CauseTag,
    Dispute,
    DisputeMessage,
    Guideline,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
    Unblinding,
)
from judging.portability.study_bundles.records import (
    AssignmentPart,
    EarlierPart,
    ItemLine,
    LabelPart,
    TagPart,
    TickPart,
)
from judging.portability.study_bundles.storing import BundleStore, insert
from judging.portability.study_bundles.tasks import TaskLines, milestones_by_key
from runs.models import Run

AT_ONCE = 200
RUN_PARTS = ("run__record", "run__evidence", "run__goal", "run__final_answer")
"""Large columns of runs that no line here needs."""
AUTHORITATIVE = "another study has settled it before, so its verdict here is not the run's"
FIELD = re.compile(r"^milestone_(\w+?)(_step|_lost_step)?$")
"""A field of a label's form that speaks of a milestone; see `judging.studies.labels.ticks`."""
GUIDELINE = "guideline"


def _renamed_fields(
    content: Mapping[str, Any],
    milestone: Callable[[str], str | None],
    guideline: Callable[[Any], Any],
) -> dict[str, Any]:
    """What a form or a label's history holds, with other names for milestones and guidelines.

    A milestone that is not known keeps the name that it has.
    """
    renamed: dict[str, Any] = {}
    for name, value in content.items():
        found = FIELD.match(name)
        key = milestone(found[1]) if found else None
        if found and key is not None:
            renamed[f"milestone_{key}{found[2] or ''}"] = value
        else:
            renamed[name] = guideline(value) if name == GUIDELINE else value
    return renamed


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
            .defer(*RUN_PARTS)
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
        return ItemLine.of(
            item,
            assignments=[
                AssignmentPart.of(row, draft=self._portable(row.draft)) for row in assigned
            ],
            labels=[self._label(row) for row in item.labels.all()],
            comments=comments,
            tags=TagPart.of_all(list(item.cause_tags.all())),
            unblindings=seen,
        )

    def _label(self, row: Label) -> LabelPart:
        revisions = sorted(row.revisions.all(), key=lambda each: (each.at, each.pk))
        key = self._tasks.milestone_key
        return LabelPart.of(
            row,
            earlier=[
                EarlierPart(at=each.at, content=self._portable(each.content)) for each in revisions
            ],
            ticks=[
                TickPart.of(tick, milestone=key(tick.milestone_id) or "")
                for tick in row.ticks.all()
            ],
        )

    def _portable(self, content: Mapping[str, Any]) -> dict[str, Any]:
        return _renamed_fields(content, self._tasks.milestone_key, self._guidelines.get)


class ItemStore:
    """Puts items into one study, each whole or not at all."""

    def __init__(self, study: Study, store: BundleStore) -> None:
        self._study = study
        self._store = store
        self._milestones = milestones_by_key(store)
        self._guidelines = {row.version: row for row in Guideline.objects.filter(study=study)}

    def store(self, line: ItemLine, run: Run) -> None:
        """Store the run's place in the study and everything about it. Inside a transaction."""
        n_labels = sum(not label.is_repeat for label in line.labels)
        item = self._store.row(StudyItem, line, study=self._study, run=run, n_labels=n_labels)
        item.save(force_insert=True)
        insert(
            [
                self._store.row(Assignment, each, item=item, draft=self._local(each.draft))
                for each in line.assignments
            ]
        )
        for label in line.labels:
            self._label(item, label)
        self._store.insert(StepComment, line.comments, item=item)
        if line.dispute:
            dispute = self._store.row(Dispute, line.dispute, item=item)
            insert([dispute])
            self._store.insert(DisputeMessage, line.dispute.messages, dispute=dispute)
        self._verdict(item, line)
        self._store.insert_history(CauseTag, line.tags, item=item)
        self._store.insert(Unblinding, line.unblindings, study=self._study, item=item)
        self._store.report.new["items"] += 1
        self._store.report.new["labels"] += len(line.labels)

    def _label(self, item: StudyItem, part: LabelPart) -> None:
        guideline = None if part.guideline is None else self._guidelines.get(part.guideline)
        own = self._free(Label, part.id, item)
        label = self._store.row(Label, part, id=own, item=item, guideline=guideline)
        label.save(force_insert=True)
        insert(
            [
                self._store.row(LabelRevision, each, label=label, content=self._local(each.content))
                for each in part.earlier
            ]
        )
        for tick in part.ticks:
            key = self._milestones.get(tick.milestone)
            if key is None:
                self._store.report.conflict(
                    f"label {part.id}: a tick of a milestone that the task has not here"
                )
            else:
                self._store.insert(MilestoneTick, [tick], label=label, milestone_id=key)

    def _verdict(self, item: StudyItem, line: ItemLine) -> None:
        if line.verdict is None:
            return
        # The run's lock makes two studies that settle it take turns.
        run = Run.objects.select_for_update(of=("self",)).get(pk=item.run_id)
        is_free = not ReferenceVerdict.objects.filter(run=run, is_authoritative=True).exists()
        if line.verdict.is_authoritative and not is_free:
            self._store.report.conflict(f"run {run.pk}: {AUTHORITATIVE}")
        self._store.row(
            ReferenceVerdict,
            line.verdict,
            id=self._free(ReferenceVerdict, line.verdict.id, item),
            item=item,
            run=run,
            is_authoritative=line.verdict.is_authoritative and is_free,
            run_created_at=run.created_at,
        ).save(force_insert=True)

    def _local(self, content: Mapping[str, Any]) -> dict[str, Any]:
        def guideline(version: Any) -> int | None:
            row = self._guidelines.get(version) if isinstance(version, int) else None
            return row.pk if row else None

        def milestone(key: str) -> str | None:
            found = self._milestones.get(key)
            return None if found is None else str(found)

        return _renamed_fields(content, milestone, guideline)

    def _free(self, model: type[models.Model], own: UUID, item: StudyItem) -> UUID:
        """The id in the file, or a new one, reported, where it is taken."""
        if not model._default_manager.filter(pk=own).exists():
            return own
        kind = model._meta.verbose_name
        self._store.report.conflict(f"{kind} {own} of run {item.run_id}: the id is taken here")
        return UUID(str(model().pk))
