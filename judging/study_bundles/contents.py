"""A study as the lines of its bundle, in an order that follows from what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from judging.models import (
    CauseTag,
    Evaluation,
    EvaluatorVersion,
    FailureReview,
    Label,
    Study,
    StudyItem,
    Unblinding,
)
from judging.study_bundles.naming import renamed_fields, run_ref, task_ref
from judging.study_bundles.records import (
    AssignmentPart,
    AttachmentLine,
    CommentPart,
    DisputePart,
    EarlierPart,
    EvaluationLine,
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    LabelPart,
    Line,
    MemberLine,
    MessagePart,
    MilestoneLine,
    ReviewLine,
    ReviewPart,
    RevisionPart,
    StudyLine,
    TagPart,
    TaskLine,
    TaskSetLine,
    TickPart,
    UnblindingLine,
    VerdictPart,
)
from runs.models import Attachment, Milestone, Run, Task, TaskSet, User
from runs.records import EVALUATION_ROLE

AT_ONCE = 200
RUN_PARTS = ("record", "evidence", "goal", "final_answer")


class StudyContents:
    """The lines of one study by file; each is read when it is asked for."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._guidelines = dict(study.guidelines.values_list("pk", "version"))
        self._milestones: dict[int, str] | None = None

    def lines(self) -> Mapping[str, Callable[[], Iterable[Line]]]:
        """What writes each file; the names are those of `records.KINDS`."""
        return {
            "study": self._head,
            "task_sets": self._task_sets,
            "tasks": self._task_lines,
            "milestones": self._milestone_lines,
            "evaluators": self._evaluators,
            "guidelines": self._guideline_lines,
            "members": self._members,
            "items": self._items,
            "unblindings": self._unblindings,
            "evaluations": self._evaluations,
            "reviews": self._reviews,
            "attachments": self._attachments,
        }

    @property
    def runs(self) -> QuerySet[Run]:
        """The runs of the study, in its order."""
        return Run.objects.filter(study_items__study=self._study).order_by("study_items__position")

    def _ids(self) -> QuerySet[Run, Any]:
        return self.runs.order_by().values("pk")

    def _head(self) -> Iterator[Line]:
        study = self._study
        yield StudyLine(
            name=study.name,
            description=study.description,
            is_demo=study.is_demo,
            is_open=study.is_open,
            labels_per_run=study.labels_per_run,
            hides_identity=study.hides_identity,
            repeat_share=study.repeat_share,
            asks_milestones=study.asks_milestones,
            asks_failure_details=study.asks_failure_details,
            taxonomy=study.taxonomy,
            run_filter=study.run_filter,
            sample_seed=study.sample_seed,
            sample_size=study.sample_size,
            created_by=_name(study.created_by),
            created_at=study.created_at,
        )

    def _tasks(self) -> list[Task]:
        """Tasks of the runs, those that evaluators judged by, and what they were before patches."""
        of_runs = Q(runs__in=self._ids())
        judged = Q(evaluations__run__in=self._ids())
        found = {task.pk: task for task in _tasks().filter(of_runs | judged).distinct()}
        missing = {task.original_id for task in found.values() if task.original_id} - set(found)
        while missing:
            more = {task.pk: task for task in _tasks().filter(pk__in=missing)}
            found |= more
            missing = {task.original_id for task in more.values() if task.original_id} - set(found)
        return sorted(found.values(), key=_place)

    def _task_sets(self) -> Iterator[Line]:
        sets: dict[int, TaskSet] = {}
        for task in self._tasks():
            each: TaskSet | None = task.task_set
            while each is not None and each.pk not in sets:
                sets[each.pk] = each
                each = each.parent
        for row in sorted(sets.values(), key=lambda one: (one.name, one.version)):
            yield TaskSetLine(
                name=row.name,
                version=row.version,
                parent=row.parent.version if row.parent else None,
                patch=row.patch,
                patch_hash=row.patch_hash,
            )

    def _task_lines(self) -> Iterator[Line]:
        return map(task_line, self._tasks())

    def _milestone_rows(self) -> Iterator[tuple[str, Milestone]]:
        rows = Milestone.objects.filter(task__in=[task.pk for task in self._tasks()])
        ordered = rows.select_related("task__task_set", "added_by").order_by(
            "task__task_set__name",
            "task__task_set__version",
            "task__external_id",
            "position",
            "added_at",
            "name",
        )
        for number, row in enumerate(ordered, start=1):
            yield f"m{number}", row

    def _milestone_lines(self) -> Iterator[Line]:
        for key, row in self._milestone_rows():
            yield MilestoneLine(
                key=key,
                task=task_ref(row.task),
                position=row.position,
                name=row.name,
                weight=row.weight,
                is_ordered=row.is_ordered,
                rule=row.rule,
                origin=row.origin,
                added_by=_name(row.added_by),
                added_at=row.added_at,
                removed_at=row.removed_at,
            )

    def _milestone_key(self, pk: int | str) -> str | None:
        if self._milestones is None:
            self._milestones = {row.pk: key for key, row in self._milestone_rows()}
        return self._milestones.get(int(pk)) if str(pk).isdecimal() else None

    def _evaluators(self) -> Iterator[Line]:
        used = Q(evaluations__run__in=self._ids()) | Q(cause_tags__item__study=self._study)
        for row in EvaluatorVersion.objects.filter(used).distinct().order_by("config_hash"):
            yield EvaluatorLine(
                config_hash=row.config_hash,
                name=row.name,
                kind=row.kind,
                version=row.version,
                config=row.config,
                created_at=row.created_at,
            )

    def _guideline_lines(self) -> Iterator[Line]:
        for row in self._study.guidelines.select_related("created_by").order_by("version"):
            yield GuidelineLine(
                version=row.version,
                text=row.text,
                created_by=_name(row.created_by),
                created_at=row.created_at,
            )

    def _members(self) -> Iterator[Line]:
        for row in self._study.members.select_related("user").order_by("user__username"):
            yield MemberLine(user=row.user.username, part=row.part, left_at=row.left_at)

    def _items(self) -> Iterator[Line]:
        items = (
            StudyItem.objects.filter(study=self._study)
            .select_related("run", "verdict__decided_by", "dispute")
            .defer(*(f"run__{name}" for name in RUN_PARTS))
            .prefetch_related(
                "assignments__user",
                "comments__author",
                "dispute__messages__author",
                "unblindings__user",
            )
            .order_by("position", "run")
        )
        for item in items.iterator(AT_ONCE):
            yield self.item_line(item)

    def item_line(self, item: StudyItem) -> ItemLine:
        """One run of the study with all that was said of it there."""
        return ItemLine(
            run=run_ref(item.run),
            position=item.position,
            status=item.status,
            assignments=[
                AssignmentPart(
                    user=row.user.username,
                    is_repeat=row.is_repeat,
                    state=row.state,
                    leased_until=row.leased_until,
                    opened_at=row.opened_at,
                    draft=self._portable(row.draft),
                    draft_saved_at=row.draft_saved_at,
                    seconds=row.seconds,
                    skip_reason=row.skip_reason,
                    skipped_at=row.skipped_at,
                    n_skips=row.n_skips,
                )
                for row in sorted(
                    item.assignments.all(), key=lambda row: (row.user.username, row.is_repeat)
                )
            ],
            labels=[self._label(row) for row in _labels(item)],
            comments=[
                CommentPart(
                    author=row.author.username,
                    is_repeat=row.is_repeat,
                    step=row.step_index,
                    text=row.text,
                    created_at=row.created_at,
                )
                for row in sorted(
                    item.comments.all(), key=lambda row: (row.step_index, row.created_at, row.pk)
                )
            ],
            dispute=_dispute(item),
            verdict=_verdict(item),
            tags=_tags(item),
            unblindings=[
                UnblindingLine(user=row.user.username, reason=row.reason, at=row.at)
                for row in sorted(item.unblindings.all(), key=lambda row: row.user.username)
            ],
        )

    def _label(self, row: Label) -> LabelPart:
        return LabelPart(
            id=row.pk,
            annotator=row.annotator.username,
            is_repeat=row.is_repeat,
            success=row.success,
            confidence=row.confidence,
            causes=row.causes,
            failure_step=row.failure_step,
            rationale=row.rationale,
            seconds=row.seconds,
            guideline=row.guideline.version if row.guideline else None,
            submitted_at=row.submitted_at,
            extra=row.extra,
            earlier=[
                EarlierPart(at=each.at, content=self._portable(each.content))
                for each in sorted(row.revisions.all(), key=lambda each: (each.at, each.pk))
            ],
            ticks=[
                TickPart(
                    milestone=self._milestone_key(tick.milestone_id) or "",
                    achieved=tick.achieved,
                    step=tick.step,
                    lost_step=tick.lost_step,
                )
                for tick in row.ticks.all()
            ],
        )

    def _portable(self, content: Mapping[str, Any]) -> dict[str, Any]:
        return renamed_fields(content, self._milestone_key, self._guidelines.get)

    def _unblindings(self) -> Iterator[Line]:
        """Those of the study as a whole; a run's stand with the run."""
        rows = Unblinding.objects.filter(study=self._study, item=None).select_related("user")
        for row in rows.order_by("user__username", "at", "pk"):
            yield UnblindingLine(user=row.user.username, reason=row.reason, at=row.at)

    def _evaluations(self) -> Iterator[Line]:
        return evaluation_lines(self._ids())

    def _reviews(self) -> Iterator[Line]:
        return review_lines(self._ids())

    def _attachments(self) -> Iterator[Line]:
        return attachment_lines(self._ids())


def evaluation_lines(run_ids: QuerySet[Run, Any]) -> Iterator[EvaluationLine]:
    """What evaluators said of the runs."""
    rows = (
        Evaluation.objects.filter(run__in=run_ids)
        .select_related("run", "evaluator", "task__task_set")
        .defer(*(f"run__{name}" for name in RUN_PARTS))
        .order_by("run", "evaluator__config_hash", "created_at", "pk")
    )
    for row in rows.iterator(AT_ONCE):
        yield EvaluationLine(
            id=row.pk,
            run=run_ref(row.run),
            evaluator=row.evaluator.config_hash,
            verdict=row.verdict,
            score=row.score,
            reason=row.reason,
            details=row.details,
            rationale=row.rationale,
            cost=row.cost,
            seconds=row.seconds,
            record=row.record,
            task=task_ref(row.task) if row.task else None,
            is_current=row.is_current,
            created_at=row.created_at,
        )


def review_lines(run_ids: QuerySet[Run, Any]) -> Iterator[ReviewLine]:
    """What people said of how the runs failed, one line a run."""
    rows = FailureReview.objects.filter(run__in=run_ids).select_related("run", "by")
    rows = rows.defer(*(f"run__{name}" for name in RUN_PARTS))
    ordered = list(rows.order_by("run", "at", "pk"))
    for run in dict.fromkeys(row.run for row in ordered):
        own = [row for row in ordered if row.run_id == run.pk]
        numbers = {row.pk: number for number, row in enumerate(own, start=1)}
        yield ReviewLine(
            run=run_ref(run),
            reviews=[
                ReviewPart(
                    number=numbers[row.pk],
                    decision=row.decision,
                    modes=row.modes,
                    side=row.side,
                    note=row.note,
                    proposed=row.proposed,
                    by=row.by.username,
                    at=row.at,
                    batch=row.batch,
                    replaces=numbers.get(row.replaces_id) if row.replaces_id else None,
                    is_current=row.is_current,
                )
                for row in own
            ],
        )


def attachment_lines(run_ids: QuerySet[Run, Any]) -> Iterator[AttachmentLine]:
    """The files that belong to what evaluators said."""
    rows = Attachment.objects.filter(run__in=run_ids, role=EVALUATION_ROLE)
    for row in rows.select_related("run", "blob").order_by("run", "step_index", "name", "blob"):
        yield AttachmentLine(
            run=run_ref(row.run),
            step=row.step_index,
            name=row.name,
            sha256=row.blob_id,
            media_type=row.blob.media_type,
        )


def task_line(task: Task) -> TaskLine:
    """One task as it is here, with what a patch changed in it."""
    revision = getattr(task, "revision", None)
    return TaskLine(
        task=task_ref(task),
        site=task.site,
        sites=task.sites,
        goal=task.goal,
        start_urls=task.start_urls,
        intent_template=task.intent_template,
        spec=task.spec,
        reference=task.reference,
        template=task.template,
        evaluation_kind=task.evaluation_kind,
        original=task_ref(task.original) if task.original else None,
        max_steps=task.max_steps,
        infeasible_reason=task.infeasible_reason,
        record=task.record,
        revision=RevisionPart(
            category=revision.category, why=revision.why, changes=revision.changes
        )
        if revision
        else None,
    )


def _tasks() -> QuerySet[Task]:
    return Task.objects.select_related("task_set__parent", "original__task_set", "revision")


def _place(task: Task) -> tuple[str, str, str]:
    return task.task_set.name, task.task_set.version, task.external_id


def _name(user: User | None) -> str | None:
    return user.username if user else None


def _labels(item: StudyItem) -> Iterable[Label]:
    return (
        Label.objects.filter(item=item)
        .select_related("annotator", "guideline")
        .prefetch_related("revisions", "ticks")
        .order_by("submitted_at", "pk")
    )


def _dispute(item: StudyItem) -> DisputePart | None:
    row = getattr(item, "dispute", None)
    if row is None:
        return None
    return DisputePart(
        opened_at=row.opened_at,
        order_seed=row.order_seed,
        version=row.version,
        messages=[
            MessagePart(
                author=each.author.username,
                text=each.text,
                proposal=each.proposal,
                created_at=each.created_at,
            )
            for each in row.messages.all()
        ],
    )


def _verdict(item: StudyItem) -> VerdictPart | None:
    row = getattr(item, "verdict", None)
    if row is None:
        return None
    return VerdictPart(
        id=row.pk,
        verdict=row.verdict,
        origin=row.origin,
        decided_by=_name(row.decided_by),
        rationale=row.rationale,
        decided_at=row.decided_at,
        is_authoritative=row.is_authoritative,
        record=row.record,
    )


def _tags(item: StudyItem) -> list[TagPart]:
    rows = list(
        CauseTag.objects.filter(item=item).select_related("evaluator", "by").order_by("at", "pk")
    )
    numbers = {row.pk: number for number, row in enumerate(rows, start=1)}
    return [
        TagPart(
            number=numbers[row.pk],
            evaluator_name=row.evaluator_name,
            evaluator=row.evaluator.config_hash,
            error=row.error,
            causes=row.causes,
            repair=row.repair,
            note=row.note,
            by=row.by.username,
            at=row.at,
            batch=row.batch,
            replaces=numbers.get(row.replaces_id) if row.replaces_id else None,
            is_undo=row.is_undo,
            is_current=row.is_current,
        )
        for row in rows
    ]
