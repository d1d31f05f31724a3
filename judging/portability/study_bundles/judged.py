"""What evaluators said of a study's runs, and people of their failures, out and in."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from django.db.models import QuerySet

from judging.models import Evaluation, EvaluatorVersion, FailureCauseTag, FailureReview
from judging.models.evaluations import IMPORTED_KEY
from judging.portability.study_bundles.items import AT_ONCE, RUN_PARTS
from judging.portability.study_bundles.kinds import (
    AttachmentLine,
    EvaluationLine,
    FailureTagLine,
    FailureTagPart,
    ReviewLine,
    ReviewPart,
)
from judging.portability.study_bundles.records import EvaluatorLine, Line, RunRef
from judging.portability.study_bundles.storing import BundleStore, find_task, is_same
from runs.models import Attachment, Run
from runs.storage.blobs import BlobBatch, known_hashes
from runs.storage.records import EVALUATION_ROLE
from webagent.trajectory.formats.native.schema import blob_name

P = TypeVar("P", ReviewPart, FailureTagPart)


def evaluation_lines(run_ids: QuerySet[Run, Any]) -> Iterator[EvaluationLine]:
    """What evaluators said of the runs."""
    rows = (
        Evaluation.objects.filter(run__in=run_ids)
        .select_related("run", "evaluator", "task__task_set")
        .defer(*(f"run__{name}" for name in RUN_PARTS))
        .order_by("run_id", "evaluator__config_hash", "created_at", "pk")
    )
    return map(EvaluationLine.of, rows.iterator(AT_ONCE))


def review_lines(run_ids: QuerySet[Run, Any]) -> Iterator[ReviewLine]:
    """What people said of how the runs failed, one line a run."""
    for run, reviews in _by_run(FailureReview, ReviewPart, run_ids):
        yield ReviewLine(run=run, reviews=reviews)


def failure_tag_lines(run_ids: QuerySet[Run, Any]) -> Iterator[FailureTagLine]:
    """What people said of why runs of a screenshot-only agent failed, one line a run."""
    for run, tags in _by_run(FailureCauseTag, FailureTagPart, run_ids):
        yield FailureTagLine(run=run, tags=tags)


def _by_run(
    model: type[FailureReview | FailureCauseTag], kind: type[P], run_ids: QuerySet[Run, Any]
) -> Iterator[tuple[RunRef, list[P]]]:
    rows = model._default_manager.filter(run__in=run_ids).select_related("run", "by")
    rows = rows.defer(*(f"run__{name}" for name in RUN_PARTS))
    ordered = rows.order_by("run_id", "at", "pk").iterator(AT_ONCE)
    for run, of_run in groupby(ordered, key=attrgetter("run")):
        yield RunRef.of(run), kind.of_all(list(of_run))


def attachment_lines(run_ids: QuerySet[Run, Any]) -> Iterator[AttachmentLine]:
    """The files that belong to what evaluators said."""
    rows = Attachment.objects.filter(run__in=run_ids, role=EVALUATION_ROLE)
    rows = rows.select_related("run", "blob")
    return map(AttachmentLine.of, rows.order_by("run_id", "step_index", "name", "blob_id"))


def store_evaluators(store: BundleStore) -> None:
    """Make the evaluators that are missing. Before the runs, which are judged as they come in."""
    for line in store.bundle.lines(EvaluatorLine):
        here = EvaluatorVersion.objects.filter(config_hash=line.config_hash).first()
        said = (line.name, line.version, line.kind)
        same = None if here is None else (here.name, here.version, here.kind) == said
        words = f"evaluator {line.name} {line.version}: is {here} here"
        if store.report.is_new("evaluators", same, words):
            store.insert(EvaluatorVersion, [line])


def store_judged(store: BundleStore) -> None:
    """Store what is missing of evaluations, their files, and words on failures."""
    for line in store.bundle.lines(EvaluationLine):
        _store_evaluation(store, line)
    _store_attachments(store)
    for review in store.bundle.lines(ReviewLine):
        run = store.run(review.run, "reviews.jsonl")
        here = next(review_lines(_only(run)), None)
        if _is_new(store, "reviews", review, here, f"words on the failure of run {run.pk}"):
            store.insert_history(FailureReview, review.reviews, run=run)
    for tagged in store.bundle.lines(FailureTagLine):
        run = store.run(tagged.run, "failure_tags.jsonl")
        there = next(failure_tag_lines(_only(run)), None)
        if _is_new(store, "failure_tags", tagged, there, f"why run {run.pk} failed"):
            store.insert_history(FailureCauseTag, tagged.tags, run=run)


def _only(run: Run) -> QuerySet[Run, Any]:
    return Run.objects.filter(pk=run.pk).values("pk")


def _is_new(store: BundleStore, kind: str, there: Line, here: Line | None, what: str) -> bool:
    """Whether nothing of it is here; what is here otherwise is named."""
    words = f"{what}: is otherwise here, and stays"
    return store.report.is_new(kind, is_same(there, here), words)


def _store_evaluation(store: BundleStore, line: EvaluationLine) -> None:
    run = store.run(line.run, "evaluations.jsonl")
    here = Evaluation.objects.filter(pk=line.id)
    own = Run.objects.filter(evaluations__in=here.values("pk")).values("pk")
    same = next((each for each in evaluation_lines(own) if each.id == line.id), None)
    if not _is_new(store, "evaluations", line, same, f"evaluation {line.id}"):
        return
    evaluator = store.evaluators[line.evaluator]
    current = Evaluation.objects.filter(run=run, evaluator=evaluator, is_current=True)
    standing = current.first() if line.is_current else None
    if standing and _says_the_same(standing, line):
        standing.delete()
        standing = None
    if standing:
        store.report.conflict(
            f"evaluation {line.id}: the evaluator has another newest verdict on the run"
        )
    is_current = line.is_current and standing is None
    given = {"run": run, "task": find_task(line.task), "is_current": is_current}
    store.insert(Evaluation, [line], **given)


def _says_the_same(here: Evaluation, there: EvaluationLine) -> bool:
    """Whether it was worked out here again, by rules and for nothing, as runs are that come in.

    What came in there from a file says its verdict and score alone, the same rules here also why;
    and without a verdict they give no score.
    """
    if here.batch_id is not None or here.cost or IMPORTED_KEY in here.record:
        return False
    if IMPORTED_KEY in there.record:
        return here.verdict == there.verdict and here.score in (there.score, None)
    said = (here.verdict, here.score, here.reason, here.details)
    return said == (there.verdict, there.score, there.reason, there.details)


def _store_attachments(store: BundleStore) -> None:
    for line in store.bundle.lines(AttachmentLine):
        run = store.run(line.run, "attachments.jsonl")
        if line.sha256 not in known_hashes([line.sha256]):
            name = blob_name(line.sha256, line.media_type)
            batch = BlobBatch()
            batch.add(store.bundle.blob(line.sha256, name), line.media_type)
            batch.save()
        _, is_new = Attachment.objects.get_or_create(
            run=run, step_index=line.step, role=EVALUATION_ROLE, name=line.name, blob_id=line.sha256
        )
        (store.report.new if is_new else store.report.already_there)["attachments"] += 1
