"""What a file says of a run, stored beside what people here say, and never among it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from judging.evaluating.evaluating import version_of
from judging.evaluators.matchers import RewardEvaluator
from judging.models import (
    Dispute,
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
    StudyMember,
)
from judging.portability.judgements.extension import StoredVerdicts
from judging.studies.imported import IMPORTED
from runs.imports.importing import import_upload
from runs.imports.services import import_after_look, start_import
from runs.imports.storing import import_bundle
from runs.models import Run, User
from tests.runs.factories import make_user
from tests.runs.storage.stores import use_store
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.verdict_records import EvaluationRecord, EvaluatorRecord, LabelRecord

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_import_labels.py stores verdicts on both"),
]
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    use_store(settings, tmp_path / "blobs")


def label(run_id: str, who: str, success: Any = "success", **fields: Any) -> LabelRecord:
    return LabelRecord(
        id=f"{run_id}-{who}", run_id=run_id, annotator=who, success=success, **fields
    )


def bundle_with(**verdicts: Any) -> RunBundle:
    plain = replace(run_bundle(1), evaluations=(), labels=(), adjudications=())
    return replace(plain, **verdicts)


def stored(bundle: RunBundle) -> tuple[Run, list[str]]:
    imported = import_bundle(bundle)
    reasons = [f"{problem.file}: {problem.reason}" for problem in imported.problems]
    return Run.objects.get(pk=imported.run_id), reasons


class TestLabels:
    def test_they_go_to_a_closed_study_of_their_own(self):
        run, problems = stored(run_bundle(1))
        assert problems == []
        study = Study.objects.get()
        assert (study.is_open, study.run_filter) == (False, {IMPORTED: True})
        item = study.items.get()
        assert (item.run, item.n_labels) == (run, 2)
        assert dict(item.labels.values_list("annotator__username", "success")) == {
            "ann": "success",
            "bob": "failure",
        }
        assert set(study.members.values_list("part", flat=True)) == {"annotator"}

    def test_annotators_are_people_who_cannot_log_in(self):
        stored(run_bundle(1))
        for user in User.objects.all():
            assert not user.is_active
            assert not user.has_usable_password()

    def test_people_of_that_name_are_recognised(self):
        ann = make_user("annotator", "ann")
        stored(run_bundle(1))
        assert Label.objects.filter(annotator=ann).count() == 1
        assert User.objects.get(username="ann").is_active

    def test_all_fields_come_and_go(self):
        full = label(
            "run-1",
            "ann",
            "failure",
            study="Garden",
            failure_types=("loop", "gave up"),
            failure_step=2,
            confidence=3,
            rationale="It never bought it.",
            seconds=41.5,
            at=AT,
            side_effect="yes",
            optimality=2,
            looping="no",
            guideline_version=4,
            protocol="two blind annotators",
            raw={"trajectory_success": "Unsuccessful"},
            comments=({"text": "here", "step": 1, "at": AT}, {"text": "of the whole"}),
            extra={"milestones": ["found"], "own": 1},
        )
        run, _ = stored(bundle_with(labels=(full,)))
        row = Label.objects.get()
        assert (row.causes, row.failure_step) == (["loop", "gave up"], 2)
        assert (row.confidence, row.rationale, row.seconds) == (3, "It never bought it.", 41.5)
        assert row.submitted_at == AT
        assert StepComment.objects.values_list("step_index", "text").get() == (1, "here")
        (again,) = StoredVerdicts().export([run])[run.pk].labels
        assert again == full.model_copy(update={"id": str(row.pk), "run_id": str(run.pk)})

    def test_twice_adds_nothing(self):
        stored(run_bundle(1))
        before = list(Label.objects.values())
        _run, problems = stored(run_bundle(1))
        assert (list(Label.objects.values()), problems) == (before, [])
        assert StepComment.objects.count() == 2

    def test_labels_that_come_later_are_added_to_a_run_that_is_here(self):
        stored(bundle_with())
        run, _ = stored(bundle_with(labels=(label("run-1", "ann"),)))
        assert Label.objects.get().item.run == run

    def test_a_second_label_of_one_person_is_told_and_left_out(self):
        stored(bundle_with(labels=(label("run-1", "ann", "success"),)))
        _run, problems = stored(bundle_with(labels=(label("run-1", "ann", "failure"),)))
        assert Label.objects.get().success == "success"
        assert problems == ["label run-1-ann: ann has another label on this run"]

    def test_a_study_that_people_work_on_is_not_entered(self):
        Study.objects.create(name="Garden")
        labels = (label("run-1", "ann", study="Garden"),)
        _run, problems = stored(bundle_with(labels=labels))
        assert not Label.objects.exists()
        assert not StudyItem.objects.exists()
        assert "imports do not enter it" in problems[0]

    def test_preview_and_import_count_what_is_taken_alone(self, tmp_path):
        Study.objects.create(name="Garden")
        labels = (label("run-1", "ann", study="Garden"), label("run-1", "bob"))
        write_zip(tmp_path / "sent.zip", [bundle_with(labels=labels)])
        file = SimpleUploadedFile("sent.zip", (tmp_path / "sent.zip").read_bytes())
        job = start_import(file=file, user=make_user("engineer"), format="auto", only_looks=True)
        assert import_upload(job.pk)
        job.refresh_from_db()
        (found,) = job.survey["formats"]
        assert (found["labels"], job.survey["counts"]["problems"]) == (1, 1)
        import_after_look(job=job, answers={})
        assert import_upload(job.pk)
        looked = job.survey["problems"]
        job.refresh_from_db()
        assert (job.report["counts"]["labels"], job.report["problems"]) == (1, looked)
        assert Label.objects.get().annotator.username == "bob"

    def test_what_was_exported_from_a_study_here_is_recognised(self):
        run, _ = stored(bundle_with())
        study = Study.objects.create(name="Garden")
        item = StudyItem.objects.create(study=study, run=run, position=0)
        ann = make_user("annotator", "ann")
        Label.objects.create(item=item, annotator=ann, success="success", submitted_at=AT)
        said = StoredVerdicts().export([run])[run.pk].labels
        _run, problems = stored(bundle_with(labels=said))
        assert problems == []
        assert Label.objects.count() == 1

    def test_a_label_given_here_goes_out_with_its_comments(self):
        run, _ = stored(bundle_with())
        study = Study.objects.create(name="Garden")
        item = StudyItem.objects.create(study=study, run=run, position=0)
        ann, bob = make_user("annotator", "ann"), make_user("annotator", "bob")
        Label.objects.create(
            item=item, annotator=ann, success="failure", causes=["loop"], submitted_at=AT
        )
        for author, text in ((ann, "mine"), (bob, "not mine")):
            StepComment.objects.create(item=item, author=author, step_index=1, text=text)
        (record,) = StoredVerdicts().export([run])[run.pk].labels
        assert (record.annotator, record.study, record.at) == ("ann", "Garden", AT)
        assert (record.success, record.failure_types) == ("failure", ("loop",))
        assert [comment.text for comment in record.comments] == ["mine"]

    def test_a_label_changed_here_goes_out_as_it_is_now(self):
        run, _ = stored(bundle_with(labels=(label("run-1", "ann", side_effect="yes"),)))
        row = Label.objects.get()
        row.revisions.create(content={})
        Label.objects.filter(pk=row.pk).update(success="failure")
        (record,) = StoredVerdicts().export([run])[run.pk].labels
        assert (record.success, record.side_effect) == ("failure", "yes")


class TestVerdicts:
    def test_an_adjudication_settles_the_run(self):
        run, _ = stored(run_bundle(1))
        verdict = ReferenceVerdict.objects.get()
        assert (verdict.run, verdict.verdict, verdict.origin) == (run, "success", "imported")
        assert (verdict.rationale, verdict.is_authoritative) == ("SECRET-RATIONALE", True)
        assert verdict.item.status == StudyItem.Status.SETTLED

    def test_it_comes_and_goes_with_the_labels_it_was_made_from(self):
        run, _ = stored(run_bundle(1))
        (record,) = StoredVerdicts().export([run])[run.pk].adjudications
        assert set(record.label_ids) == {str(row.pk) for row in Label.objects.all()}
        _run, problems = stored(run_bundle(1))
        assert (ReferenceVerdict.objects.count(), problems) == (1, [])

    def test_where_it_came_from_is_kept(self):
        run, _ = stored(run_bundle(1))
        verdict = ReferenceVerdict.objects.get()
        verdict.record, verdict.origin = {}, "agreed"
        verdict.save()
        (record,) = StoredVerdicts().export([run])[run.pk].adjudications
        ReferenceVerdict.objects.all().delete()
        stored(bundle_with(adjudications=(record.model_copy(update={"run_id": "run-1"}),)))
        assert ReferenceVerdict.objects.get().origin == "agreed"

    def test_a_second_verdict_on_a_run_is_not_authoritative(self):
        run, _ = stored(bundle_with())
        study = Study.objects.create(name="Garden")
        item = StudyItem.objects.create(study=study, run=run, position=0)
        here = ReferenceVerdict.objects.create(
            item=item, run=run, verdict="failure", origin="agreed", decided_at=timezone.now()
        )
        stored(run_bundle(1))
        assert ReferenceVerdict.objects.get(is_authoritative=True) == here
        assert ReferenceVerdict.objects.count() == 2

    def test_labels_that_agree_settle_the_run_without_an_adjudication(self):
        labels = (label("run-1", "ann"), label("run-1", "bob"))
        stored(bundle_with(labels=labels))
        assert ReferenceVerdict.objects.get().origin == "agreed"

    def test_labels_that_differ_open_a_dispute(self):
        labels = (label("run-1", "ann"), label("run-1", "bob", "failure"))
        stored(bundle_with(labels=labels))
        assert Dispute.objects.get().item.status == StudyItem.Status.DISPUTED

    def test_nobody_becomes_blind_by_an_import(self):
        ann = make_user("engineer", "ann")
        run, _ = stored(bundle_with(labels=(label("run-1", "ann"),)))
        shown: Any = Run.objects.visible_to(ann).get(pk=run.pk)
        assert StudyMember.objects.filter(user=ann).exists()
        assert not shown.is_blind


class TestEvaluations:
    def record(self, verdict: Any = "passed", **fields: Any) -> EvaluationRecord:
        values = {
            "id": "e1",
            "evaluator": EvaluatorRecord(name="judge-x", kind="judge", version="2"),
            "score": 0.75,
            **fields,
        }
        return EvaluationRecord(run_id="run-1", verdict=verdict, **values)

    def test_they_become_evaluations(self):
        run, _ = stored(run_bundle(1))
        row = Evaluation.objects.get(run=run)
        assert (row.verdict, row.score, row.is_current) == ("passed", 0.125, True)
        assert row.details["checks"][0]["expected"] == "SECRET-REF"
        assert (row.evaluator.name, row.evaluator.kind) == ("imported-reward", "reward")

    def test_twice_adds_nothing(self):
        for _ in range(2):
            stored(run_bundle(1))
        assert Evaluation.objects.count() == EvaluatorVersion.objects.count() == 1

    def test_of_several_by_one_evaluator_the_last_is_current(self):
        records = (self.record("failed", id="e1"), self.record("passed", id="e2"))
        run, _ = stored(bundle_with(evaluations=records))
        assert dict(Evaluation.objects.values_list("verdict", "is_current")) == {
            "failed": False,
            "passed": True,
        }
        again = StoredVerdicts().export([run])[run.pk].evaluations
        assert [record.verdict for record in again] == ["failed", "passed"]

    def test_what_an_evaluator_said_here_stays_current(self):
        run, _ = stored(bundle_with(evaluations=(self.record("failed"),)))
        stored(bundle_with(evaluations=(self.record("passed", id="e2"),)))
        assert Evaluation.objects.get(run=run, is_current=True).verdict == "failed"
        assert Evaluation.objects.count() == 2

    def test_an_evaluation_made_here_comes_back_as_it_was(self, django_capture_on_commit_callbacks):
        with django_capture_on_commit_callbacks(execute=True):
            run, _ = stored(bundle_with())
        made = Evaluation.objects.get(run=run, evaluator__name="imported-reward")
        said = StoredVerdicts().export([run])[run.pk].evaluations
        record = next(item for item in said if item.evaluator.name == "imported-reward")
        Evaluation.objects.all().delete()
        EvaluatorVersion.objects.all().delete()
        stored(bundle_with(evaluations=(record.model_copy(update={"run_id": "run-1"}),)))
        again = Evaluation.objects.get(evaluator__name="imported-reward")
        assert (again.pk, again.verdict, again.score) == (made.pk, made.verdict, made.score)
        assert (again.details, again.seconds) == (made.details, made.seconds)
        assert again.evaluator == version_of(RewardEvaluator())

    def test_an_unknown_kind_of_evaluator_is_told(self):
        oracle = EvaluatorRecord(name="x", kind="oracle", version="1")
        _run, problems = stored(bundle_with(evaluations=(self.record(evaluator=oracle),)))
        assert not Evaluation.objects.exists()
        assert problems[0].startswith("evaluation e1: none of ")
