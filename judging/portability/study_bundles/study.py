"""A study and what was said of its runs, out and in: lines in an order that follows from them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from judging.models import (
    Evaluation,
    EvaluatorVersion,
    FailureCauseTag,
    FailureReview,
    Guideline,
    Study,
    StudyMember,
    Unblinding,
)
from judging.models.evaluations import IMPORTED_KEY
from judging.portability.study_bundles.items import AT_ONCE, RUN_PARTS, ItemLines, ItemStore
from judging.portability.study_bundles.kinds import (
    AttachmentLine,
    EvaluationLine,
    FailureTagLine,
    FailureTagPart,
    ReviewLine,
    ReviewPart,
)
from judging.portability.study_bundles.learned import (
    hint_set_lines,
    knowledge_set_lines,
    store_learned,
)
from judging.portability.study_bundles.reading import BundleError
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    RunRef,
    StudyLine,
    UnblindingLine,
)
from judging.portability.study_bundles.storing import BundleStore, find_task, insert, is_same
from judging.portability.study_bundles.tasks import TaskLines
from runs.models import Attachment, Run
from runs.storage.blobs import BlobBatch, known_hashes
from runs.storage.records import EVALUATION_ROLE
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.formats.native.schema import blob_name
from webagent.trajectory.intake import Problem

P = TypeVar("P", ReviewPart, FailureTagPart)
RunIds = QuerySet[Run, Any] | list[UUID]
NO_MEMBER = "somebody who is no member here has a part in it"
OTHER_STUDY = "another study has this name here; import this one under another name"


class StudyContents:
    """The lines of one study by file; each is read when it is asked for."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._tasks = TaskLines(self._ids())

    def lines(self) -> Mapping[str, Callable[[], Iterable[Line]]]:
        """What writes each file; the names are those of `kinds.KINDS`."""
        return {
            "study.jsonl": lambda: [StudyLine.of(self._study)],
            "task_sets.jsonl": self._tasks.sets,
            "tasks.jsonl": self._tasks.tasks,
            "milestones.jsonl": self._tasks.milestones,
            "evaluators.jsonl": self._evaluators,
            "guidelines.jsonl": self._guidelines,
            "members.jsonl": self.members,
            "items.jsonl": self.items,
            "unblindings.jsonl": self.unblindings,
            "evaluations.jsonl": lambda: evaluation_lines(self._ids()),
            "reviews.jsonl": lambda: _review_lines(self._ids()),
            "failure_tags.jsonl": lambda: _failure_tag_lines(self._ids()),
            "attachments.jsonl": lambda: _attachment_lines(self._ids()),
            "hint_sets.jsonl": lambda: hint_set_lines(self._ids()),
            "knowledge_sets.jsonl": lambda: knowledge_set_lines(self._ids()),
        }

    @property
    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(study_items__study=self._study).order_by("study_items__position")

    def items(self) -> Iterator[ItemLine]:
        """One line a run, with all that was said of it in the study."""
        return ItemLines(self._study, self._tasks).lines()

    def unblindings(self) -> Iterator[UnblindingLine]:
        """Those of the study as a whole; a run's stand with the run."""
        rows = Unblinding.objects.filter(study=self._study, item=None).select_related("user")
        return map(UnblindingLine.of, rows.order_by("user__username", "at", "pk"))

    def _ids(self) -> QuerySet[Run, Any]:
        return self.runs.order_by().values("pk")

    def _evaluators(self) -> Iterator[Line]:
        used = Q(evaluations__run__in=self._ids()) | Q(cause_tags__item__study=self._study)
        rows = EvaluatorVersion.objects.filter(used).distinct().order_by("config_hash")
        return map(EvaluatorLine.of, rows)

    def _guidelines(self) -> Iterator[Line]:
        rows = self._study.guidelines.select_related("created_by").order_by("version")
        return map(GuidelineLine.of, rows)

    def members(self) -> Iterator[MemberLine]:
        """People of the study with their roles, by name."""
        rows = self._study.members.select_related("user").order_by("user__username")
        return map(MemberLine.of, rows)


def evaluation_lines(run_ids: RunIds) -> Iterator[EvaluationLine]:
    """What evaluators said of the runs."""
    rows = (
        Evaluation.objects.filter(run__in=run_ids)
        .select_related("run", "evaluator", "task__task_set")
        .defer(*RUN_PARTS)
        .order_by("run_id", "evaluator__config_hash", "created_at", "pk")
    )
    return map(EvaluationLine.of, rows.iterator(AT_ONCE))


def _review_lines(run_ids: RunIds) -> Iterator[ReviewLine]:
    """What people said of how the runs failed, one line a run."""
    for run, reviews in _by_run(FailureReview, ReviewPart, run_ids):
        yield ReviewLine(run=run, reviews=reviews)


def _failure_tag_lines(run_ids: RunIds) -> Iterator[FailureTagLine]:
    """What people said of why runs of a screenshot-only agent failed, one line a run."""
    for run, tags in _by_run(FailureCauseTag, FailureTagPart, run_ids):
        yield FailureTagLine(run=run, tags=tags)


def _by_run(
    model: type[FailureReview | FailureCauseTag], kind: type[P], run_ids: RunIds
) -> Iterator[tuple[RunRef, list[P]]]:
    rows = model._default_manager.filter(run__in=run_ids).select_related("run", "by")
    ordered = rows.defer(*RUN_PARTS).order_by("run_id", "at", "pk").iterator(AT_ONCE)
    for run, of_run in groupby(ordered, key=attrgetter("run")):
        yield RunRef.of(run), kind.of_all(list(of_run))


def _attachment_lines(run_ids: RunIds) -> Iterator[AttachmentLine]:
    """The files that belong to what evaluators said."""
    rows = Attachment.objects.filter(run__in=run_ids, role=EVALUATION_ROLE)
    rows = rows.select_related("run", "blob")
    return map(AttachmentLine.of, rows.order_by("run_id", "step_index", "name", "blob_id"))


def _store_judged(store: BundleStore) -> None:
    """Store what is missing of evaluations, their files, and words on failures."""
    for line in store.bundle.lines(EvaluationLine):
        _store_evaluation(store, line)
    _store_attachments(store)
    for review in store.bundle.lines(ReviewLine):
        run = store.run(review.run, "reviews.jsonl")
        here = next(_review_lines([run.pk]), None)
        if _is_new(store, "reviews", review, here, f"words on the failure of run {run.pk}"):
            store.insert_history(FailureReview, review.reviews, run=run)
    for tagged in store.bundle.lines(FailureTagLine):
        run = store.run(tagged.run, "failure_tags.jsonl")
        there = next(_failure_tag_lines([run.pk]), None)
        if _is_new(store, "failure_tags", tagged, there, f"why run {run.pk} failed"):
            store.insert_history(FailureCauseTag, tagged.tags, run=run)


def _is_new(store: BundleStore, kind: str, there: Line, here: Line | None, what: str) -> bool:
    """Whether nothing of it is here; what is here otherwise is named."""
    return store.report.is_new(kind, is_same(there, here), f"{what}: is otherwise here, and stays")


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
    task = find_task(line.task)
    store.insert(Evaluation, [line], run=run, task=task, is_current=is_current)


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


def store_study(store: BundleStore, name: str | None) -> Study:
    """Store a study whose tasks and runs are here. Inside a transaction.

    Raises:
        BundleError: a run is missing, or another study has the name.
    """
    study, is_new = _study(store, name)
    _guidelines(store, study, is_new)
    _members(store, study, is_new)
    _store_judged(store)
    _items(store, study, is_new)
    store_learned(store)
    return study


def _study(store: BundleStore, name: str | None) -> tuple[Study, bool]:
    line = next(store.bundle.lines(StudyLine))
    line = line.model_copy(update={"name": name}) if name else line
    here = Study.objects.filter(name=line.name).first()
    if here is None:
        study = store.row(Study, line)
        insert([study])
        store.report.new["study"] += 1
        return study, True
    if (here.created_at, here.sample_seed) != (line.created_at, line.sample_seed):
        raise BundleError(Problem("", "study.jsonl", "name", OTHER_STUDY, 1))
    words = f"study {line.name}: its protocol or state is otherwise here"
    store.report.is_new("study", is_same(line, StudyLine.of(here)), words)
    return here, False


def _guidelines(store: BundleStore, study: Study, is_new: bool) -> None:
    """A study that is here keeps its own: whoever labels it is shown the newest at once."""
    here = dict(study.guidelines.values_list("version", "text"))
    for line in store.bundle.lines(GuidelineLine):
        same = None if is_new else here.get(line.version) == line.text
        words = f"guidelines {line.version}: are otherwise here"
        if store.report.is_new("guidelines", same, words):
            store.insert(Guideline, [line], study=study)


def _members(store: BundleStore, study: Study, is_new: bool) -> None:
    """A study that is here keeps its own, which its page alone changes."""
    here = {member.user: member for member in StudyContents(study).members()}
    for line in store.bundle.lines(MemberLine):
        same = None if is_new else here.get(line.user) == line
        words = f"member {line.user}: has another part here, or none"
        if store.report.is_new("members", same, words):
            store.insert(StudyMember, [line], study=study)


def _items(store: BundleStore, study: Study, is_new: bool) -> None:
    items = ItemStore(study, store)
    contents = StudyContents(study)
    here = {} if is_new else {line.run.id: line for line in contents.items()}
    people = {member.user for member in contents.members()}
    for line in store.bundle.lines(ItemLine):
        run = store.run(line.run, "items.jsonl")
        if run.pk in here:
            words = f"run {run.pk} in the study: is otherwise here, and stays"
            store.report.is_new("items", is_same(line, here[run.pk]), words)
        elif not is_new and not line.judges <= people:
            store.report.conflict(f"run {run.pk} in the study: {NO_MEMBER}")
        else:
            items.store(line, run)
    known = set(map(hashed_json, contents.unblindings()))
    for seen in store.bundle.lines(UnblindingLine):
        if store.report.is_new("unblindings", hashed_json(seen) in known or None, ""):
            store.insert(Unblinding, [seen], study=study)
