"""Storing the study itself, and what evaluators and people said of its runs elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

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
from judging.portability.study_bundles.contents import StudyContents
from judging.portability.study_bundles.item_lines import (
    evaluation_lines,
    failure_tag_lines,
    review_lines,
)
from judging.portability.study_bundles.reading import BundleError, StudyBundle
from judging.portability.study_bundles.records import (
    AttachmentLine,
    EvaluationLine,
    EvaluatorLine,
    FailureTagLine,
    FailureTagPart,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    ReviewLine,
    ReviewPart,
    RunRef,
    StudyLine,
    UnblindingLine,
)
from judging.portability.study_bundles.storing import (
    People,
    StudyReport,
    find_task,
    milestones_by_key,
    store_rows,
)
from judging.portability.study_bundles.storing_items import ItemStore
from judging.portability.study_bundles.storing_learned import KnowledgeStore, store_hint_sets
from runs.models import Attachment, Run
from runs.storage.blobs import BlobBatch, known_hashes
from runs.storage.records import EVALUATION_ROLE
from webagent.trajectory.bundles import Problem
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.native.schema import blob_name

OTHER_STUDY = "another study has this name here; import this one under another name"


class StudyStore:
    """One bundle whose runs are here, on its way into the database. Inside a transaction."""

    def __init__(
        self, bundle: StudyBundle, report: StudyReport, people: People, name: str | None
    ) -> None:
        self._bundle = bundle
        self._report = report
        self._people = people
        self._name = name
        self._runs: dict[UUID, Run] = {}

    def store(self) -> Study:
        """Everything of the bundle but tasks and runs.

        Raises:
            BundleError: a run is missing, or another study has the name.
        """
        study, is_new = self._study()
        self._guidelines(study)
        self._members(study)
        self._evaluations()
        self._attachments()
        self._failures()
        self._items(study, is_new)
        store_hint_sets(self._bundle, self._report, self.run)
        KnowledgeStore(self._bundle, self._report, self._people, self.run).store()
        return study

    def run(self, ref: RunRef, file: str) -> Run:
        """The run that a line names. Raises BundleError."""
        if ref.id not in self._runs:
            rows = Run.objects.select_related("task").defer("record", "evidence")
            found = rows.filter(content_hash=ref.content_hash).first() if ref.content_hash else None
            found = found or rows.filter(pk=ref.id).first()
            if found is None:
                raise BundleError(Problem("", file, "run", f"run {ref.id} is not here"))
            self._runs[ref.id] = found
        return self._runs[ref.id]

    def _study(self) -> tuple[Study, bool]:
        line = self._bundle.study()
        line = line.model_copy(update={"name": self._name}) if self._name else line
        here = Study.objects.filter(name=line.name).first()
        if here is None:
            return self._new_study(line), True
        if (here.created_at, here.sample_seed) != (line.created_at, line.sample_seed):
            raise BundleError(Problem("", "study.jsonl", "name", OTHER_STUDY, 1))
        if _only(StudyContents(here), "study") == [hashed_json(line)]:
            self._report.already_there["study"] += 1
        else:
            self._report.conflict(f"study {line.name}: its protocol or state is otherwise here")
        return here, False

    def _new_study(self, line: StudyLine) -> Study:
        columns = line.model_dump(exclude={"created_by"})
        study = Study(created_by=self._people.maybe(line.created_by), **columns)
        store_rows([study], "created_at")
        self._report.new["study"] += 1
        return study

    def _guidelines(self, study: Study) -> None:
        here = dict(study.guidelines.values_list("version", "text"))
        for line in self._bundle.lines(GuidelineLine):
            if line.version not in here:
                row = Guideline(
                    study=study,
                    version=line.version,
                    text=line.text,
                    created_by=self._people.maybe(line.created_by),
                    created_at=line.created_at,
                )
                store_rows([row], "created_at")
                self._report.new["guidelines"] += 1
            elif here[line.version] == line.text:
                self._report.already_there["guidelines"] += 1
            else:
                self._report.conflict(f"guidelines {line.version}: are otherwise here")

    def _members(self, study: Study) -> None:
        for line in self._bundle.lines(MemberLine):
            row, is_new = StudyMember.objects.get_or_create(
                study=study,
                user=self._people(line.user),
                defaults={"part": line.part, "left_at": line.left_at},
            )
            if is_new or (row.part, row.left_at) == (line.part, line.left_at):
                (self._report.new if is_new else self._report.already_there)["members"] += 1
            else:
                self._report.conflict(f"member {line.user}: has another part here")

    def _evaluations(self) -> None:
        versions = dict(EvaluatorVersion.objects.values_list("config_hash", "pk"))
        for line in self._bundle.lines(EvaluationLine):
            run = self.run(line.run, "evaluations.jsonl")
            here = Evaluation.objects.filter(pk=line.id)
            if here.exists():
                own = Run.objects.filter(evaluations__in=here.values("pk")).values("pk")
                same = (each for each in evaluation_lines(own) if each.id == line.id)
                self._compare(line, next(same), f"evaluation {line.id}", "evaluations")
                continue
            evaluator = versions[line.evaluator]
            current = Evaluation.objects.filter(run=run, evaluator=evaluator, is_current=True)
            standing = current.first() if line.is_current else None
            if standing and _says_the_same(standing, line):
                standing.delete()
                standing = None
            is_current = line.is_current and standing is None
            if line.is_current and not is_current:
                self._report.conflict(
                    f"evaluation {line.id}: the evaluator has another newest verdict on the run"
                )
            row = Evaluation(
                id=line.id,
                run=run,
                evaluator_id=evaluator,
                task=find_task(line.task),
                is_current=is_current,
                **line.model_dump(exclude={"id", "run", "evaluator", "task", "is_current"}),
            )
            store_rows([row], "created_at")
            self._report.new["evaluations"] += 1

    def _attachments(self) -> None:
        for line in self._bundle.lines(AttachmentLine):
            run = self.run(line.run, "attachments.jsonl")
            if line.sha256 not in known_hashes([line.sha256]):
                name = blob_name(line.sha256, line.media_type)
                batch = BlobBatch()
                batch.add(self._bundle.blob(line.sha256, name), line.media_type)
                batch.save()
            _, is_new = Attachment.objects.get_or_create(
                run=run,
                step_index=line.step,
                role=EVALUATION_ROLE,
                name=line.name,
                blob_id=line.sha256,
            )
            (self._report.new if is_new else self._report.already_there)["attachments"] += 1

    def _failures(self) -> None:
        for line in self._bundle.lines(ReviewLine):
            run = self.run(line.run, "reviews.jsonl")
            here = next(review_lines(Run.objects.filter(pk=run.pk).values("pk")), None)
            if here is not None:
                self._compare(line, here, f"words on the failure of run {run.pk}", "reviews")
                continue
            self._said_of_failure(FailureReview, run, line.reviews)
            self._report.new["reviews"] += 1
        for tagged in self._bundle.lines(FailureTagLine):
            run = self.run(tagged.run, "failure_tags.jsonl")
            there = next(failure_tag_lines(Run.objects.filter(pk=run.pk).values("pk")), None)
            if there is not None:
                self._compare(tagged, there, f"why run {run.pk} failed", "failure_tags")
                continue
            self._said_of_failure(FailureCauseTag, run, tagged.tags)
            self._report.new["failure_tags"] += 1

    def _said_of_failure(
        self,
        model: type[FailureReview | FailureCauseTag],
        run: Run,
        parts: Sequence[ReviewPart | FailureTagPart],
    ) -> None:
        keys: dict[int, int] = {}
        for part in sorted(parts, key=lambda one: one.number):
            row = model(
                run=run,
                by=self._people(part.by),
                replaces_id=keys.get(part.replaces or 0),
                **part.model_dump(exclude={"number", "replaces", "by"}),
            )
            store_rows([row], "at")
            keys[part.number] = row.pk

    def _items(self, study: Study, is_new: bool) -> None:
        store = ItemStore(study, self._report, self._people, milestones_by_key(self._bundle))
        contents = StudyContents(study)
        here = {} if is_new else {line.run.id: line for line in contents.item_lines()}
        for line in self._bundle.lines(ItemLine):
            run = self.run(line.run, "items.jsonl")
            if run.pk in here:
                self._compare(line, here[run.pk], f"run {run.pk} in the study", "items")
            else:
                store.store(line, run)
        known = set(_only(contents, "unblindings"))
        for seen in self._bundle.lines(UnblindingLine):
            if hashed_json(seen) in known:
                self._report.already_there["unblindings"] += 1
                continue
            row = Unblinding(
                study=study, user=self._people(seen.user), reason=seen.reason, at=seen.at
            )
            store_rows([row], "at")
            self._report.new["unblindings"] += 1

    def _compare(self, there: Line, here: Line, what: str, kind: str) -> None:
        """Note whether a line says what is here; runs may have another id here."""
        if hashed_json(there, exclude={"run"}) == hashed_json(here, exclude={"run"}):
            self._report.already_there[kind] += 1
        else:
            self._report.conflict(f"{what}: is otherwise here, and stays")


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


def store_evaluators(bundle: StudyBundle, report: StudyReport) -> None:
    """Make the evaluators that are missing. Before the runs, which are judged as they come in."""
    for line in bundle.lines(EvaluatorLine):
        here = EvaluatorVersion.objects.filter(config_hash=line.config_hash).first()
        if here is None:
            row = EvaluatorVersion(**line.model_dump())
            store_rows([row], "created_at")
            report.new["evaluators"] += 1
        elif (here.name, here.version, here.kind) == (line.name, line.version, line.kind):
            report.already_there["evaluators"] += 1
        else:
            report.conflict(f"evaluator {line.name} {line.version}: is {here} here")


def _only(contents: StudyContents, kind: str) -> list[bytes]:
    lines: Callable[[], object] = contents.lines()[kind]
    return [hashed_json(line) for line in lines()]  # type: ignore[attr-defined]
