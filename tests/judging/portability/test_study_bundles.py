"""A whole study out and in: the same bytes again, nothing doubled, what differs is named."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from judging.models import (
    Assignment,
    CauseTag,
    Dispute,
    DisputeMessage,
    Evaluation,
    EvaluatorVersion,
    FailureCauseTag,
    FailureReview,
    Guideline,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
    StudyMember,
    Unblinding,
)
from judging.portability.study_bundles.reading import BundleError
from judging.portability.study_bundles.services import import_study, write_study
from judging.portability.study_bundles.study import evaluation_lines
from judging.studies.disputes.services import decide
from runs.imports.storing import import_bundle
from runs.knowledge.web.sets import NewEntry, fill
from runs.models import (
    Attachment,
    Hint,
    HintChoice,
    HintSet,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    LearningJob,
    Milestone,
    Run,
    Task,
    TaskSet,
    User,
)
from runs.storage.records import EVALUATION_ROLE
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    make_dispute,
    make_evaluation,
    make_study,
)
from tests.runs.factories import delete_run, make_run, make_text
from tests.webagent.trajectory.formats import members, zip_of
from tests.webagent.trajectory.samples import run_bundle

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


@pytest.fixture
def study(db) -> Study:
    """Two runs, one disputed and decided, with something of everything that is said of runs."""
    runs = [Run.objects.get(pk=import_bundle(_bare(number)).run_id) for number in (1, 2)]
    Evaluation.objects.all().delete()
    task = runs[0].task
    kept = Milestone.objects.create(task=task, position=1, name="opened the page")
    gone = Milestone.objects.create(
        task=task, position=2, name="forgotten", removed_at=timezone.now(), rule={"a": [1, 2.0]}
    )
    patched = TaskSet.objects.create(
        name="shop", version="2", parent=task.task_set, patch={"name": "mended"}, patch_hash="ab"
    )
    newer = Task.objects.create(task_set=patched, external_id=task.external_id, original=task)
    made = make_study(runs=runs, adjudicators=1, asks_milestones=True, name="Whole – 研究")
    ann, bob = annotators_of(made)
    [judge] = adjudicators_of(made)
    dispute = make_dispute(made)
    DisputeMessage.objects.create(dispute=dispute, author=ann, text="=why?", proposal="success")
    decide(dispute=dispute, adjudicator=judge, verdict="success", rationale="Because.")
    label = Label.objects.get(item=dispute.item, annotator=ann)
    for milestone, achieved in ((kept, True), (gone, False)):
        MilestoneTick.objects.create(
            label=label, milestone=milestone, achieved=achieved, step=1 if achieved else None
        )
    LabelRevision.objects.create(
        label=label,
        content={
            "success": "unsure",
            "guideline": label.guideline_id,
            f"milestone_{kept.pk}": "yes",
            f"milestone_{kept.pk}_step": 1,
        },
    )
    StepComment.objects.create(item=dispute.item, author=bob, step_index=1, text="here")
    open_item = made.items.get(status=StudyItem.Status.OPEN)
    Assignment.objects.create(
        item=open_item,
        user=bob,
        leased_until=timezone.now(),
        opened_at=timezone.now(),
        draft={f"milestone_{kept.pk}": "no", "rationale": "not yet"},
    )
    Guideline.objects.create(study=made, version=2, text="Second *version*.", created_by=judge)
    _judgements(runs[0], dispute.item, judge, newer)
    _learned(runs, judge)
    Unblinding.objects.create(study=made, item=dispute.item, user=judge, reason="page")
    Unblinding.objects.create(study=made, user=judge, reason="study closed")
    # Times that no import could make by itself.
    for model, name in (
        *((each, "created_at") for each in (Study, Guideline, KnowledgeSet, LearningJob)),
        (Dispute, "opened_at"),
    ):
        model._default_manager.update(**{name: timezone.now() - timedelta(days=400)})
    made.refresh_from_db()
    return made


def _bare(number: int) -> Any:
    return replace(run_bundle(number), evaluations=(), labels=(), adjudications=(), hints=())


def _judgements(run: Run, item: StudyItem, by: User, task: Task) -> None:
    first = make_evaluation(run, "passed", is_current=False, task=task, details={"x": 2.0})
    evaluation = make_evaluation(run, "failed", score=0.5, seconds=1.0, record={"k": [None]})
    Attachment.objects.create(
        run=run, role=EVALUATION_ROLE, name="reply.txt", blob=make_text("what the judge said")
    )
    old = CauseTag.objects.create(
        item=item,
        evaluator_name="matcher",
        evaluator=first.evaluator,
        error="fn",
        causes=["url_form"],
        repair="task_data",
        by=by,
        is_current=False,
    )
    CauseTag.objects.create(
        item=item,
        evaluator_name="matcher",
        evaluator=first.evaluator,
        error="fn",
        by=by,
        replaces=old,
        is_undo=True,
        batch=old.batch,
    )
    FailureReview.objects.create(
        run=run,
        decision="own",
        modes={"loop": True},
        proposed={"evaluations": [str(evaluation.pk)]},
        by=by,
    )
    saw = FailureCauseTag.objects.create(run=run, cause="vision", by=by, is_current=False)
    FailureCauseTag.objects.create(run=run, note="not sure", proposed="other", by=by, replaces=saw)


def _learned(runs: list[Run], by: User) -> None:
    """A set of hints, and raw knowledge with a summary; each but one from these runs alone."""
    wrote = LearningJob.objects.create(kind="hints", model="m", state="finished")
    hint = Hint.objects.create(
        job=wrote,
        source=runs[0],
        level="concrete",
        text="Open the page.",
        model="m",
        prompt_version="1",
        prompt_hash="a" * 64,
        asks=1,
        input_tokens=1,
        output_tokens=1,
        seconds=1,
    )
    hints = HintSet.objects.create(
        key="k1",
        job=wrote,
        level="concrete",
        relatedness="same_task",
        method="BM25",
        created_at=timezone.now() - timedelta(days=300),
    )
    HintChoice.objects.create(hint_set=hints, task=runs[1].task, hint=hint, score=1.5, n_tied=2)
    said = LearningJob.objects.create(
        kind="extract", model="m", state="finished", params={"runs": [str(runs[0].pk)]}, spent="0.5"
    )
    raw = KnowledgeSet.objects.create(name="shop", site="shop", kind="raw", job=said, version=1)
    fill(
        raw,
        [
            NewEntry(intent="buy", ok="click", ng="wait", sources={runs[0].pk: [0, 2]}),
            NewEntry(intent="look", ok="", ng="scroll", is_enabled=False, sources={runs[1].pk: []}),
        ],
    )
    KnowledgeSet.objects.freeze(raw.content_hash)
    summed = LearningJob.objects.create(
        kind="summarise", model="m", state="finished", params={"set": raw.pk, "name": "shop"}
    )
    parents = [entry.pk for entry in raw.entries.all()]
    entry = NewEntry(
        intent="both", ok="", ng="no", sources={run.pk: [1] for run in runs}, parents=parents
    )
    # Its name comes before its parent's: it must be written after it all the same.
    made = KnowledgeSet.objects.create(
        name="a", site="shop", kind="summarised", job=summed, parent=raw, created_by=by
    )
    fill(made, [entry])
    elsewhere = Run.objects.get(pk=import_bundle(_bare(7)).run_id)
    mixed = KnowledgeSet.objects.create(name="mixed", kind="raw")
    fill(mixed, [replace(entry, parents=(), sources={runs[0].pk: [1], elsewhere.pk: [1]})])


def bundle_of(study: Study, path: Path) -> Path:
    """The study's bundle at this path."""
    with path.open("wb") as file:
        write_study(file, study)
    return path


def wiped(study: Study) -> None:
    """Nothing is left of the study, its runs, tasks, evaluators and people."""
    usernames = list(study.members.values_list("user__username", flat=True))
    KnowledgeSet.objects.filter(parent__isnull=False).delete()
    for learned in (KnowledgeSet, HintSet, Hint, LearningJob):
        learned._default_manager.all().delete()
    FailureReview.objects.all().delete()
    FailureCauseTag.objects.filter(replaces__isnull=False).delete()
    FailureCauseTag.objects.all().delete()
    CauseTag.objects.filter(is_undo=True).delete()
    CauseTag.objects.all().delete()
    ReferenceVerdict.objects.all().delete()
    Label.objects.all().delete()
    study.delete()
    for run in Run.objects.all():
        delete_run(run)
    EvaluatorVersion.objects.all().delete()
    Task.objects.filter(original__isnull=False).delete()
    Task.objects.all().delete()
    TaskSet.objects.filter(parent__isnull=False).delete()
    TaskSet.objects.all().delete()
    User.objects.filter(username__in=usernames).delete()


def changed(path: Path, name: str, change: Any, to: Path) -> Path:
    """The bundle with one line file changed, and its head saying what it says."""
    files = members(path)
    lines = [json.loads(line) for line in files[f"study/{name}"].splitlines()]
    change(lines)
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    head = json.loads(files["study/bundle.json"])
    head["files"][name]["sha256"] = hashlib.sha256(content).hexdigest()
    files |= {f"study/{name}": content, "study/bundle.json": json.dumps(head).encode()}
    to.write_bytes(zip_of(files))
    return to


def test_wiped_and_imported_again_it_is_the_same_bytes(study, tmp_path):
    first = bundle_of(study, tmp_path / "first.zip")
    wiped(study)
    found = import_study(first)
    assert found.study.conflicts == []
    assert len(found.study.people) == 3
    assert (found.study.new["hint_sets"], found.study.new["knowledge_sets"]) == (1, 2)
    assert LearningJob.objects.get(kind="summarise").params["set"] == _raw().pk
    assert not User.objects.filter(username__in=found.study.people, is_active=True).exists()
    again = bundle_of(Study.objects.get(), tmp_path / "again.zip")
    assert members(again) == members(first)
    assert again.read_bytes() == first.read_bytes()


def test_lines_stand_by_run_whenever_each_came_here():
    runs = [make_run(pictures=False, steps=1) for _ in range(6)]
    for run in runs:
        make_evaluation(run)
    named = [line.run.id for line in evaluation_lines(Run.objects.order_by().values("pk"))]
    assert named == sorted(run.pk for run in runs)


def _raw() -> KnowledgeSet:
    return KnowledgeSet.objects.get(kind="raw")


def test_a_bundle_of_an_older_version_lacks_what_came_later(study, tmp_path):
    files = members(bundle_of(study, tmp_path / "study.zip"))
    head = json.loads(files["study/bundle.json"]) | {"version": 1}
    for name in ("hint_sets.jsonl", "knowledge_sets.jsonl", "failure_tags.jsonl"):
        del head["files"][name]
        del files[f"study/{name}"]
    old = tmp_path / "old.zip"
    old.write_bytes(zip_of(files | {"study/bundle.json": json.dumps(head).encode()}))
    assert import_study(old).study.conflicts == []


def test_where_it_is_already_nothing_is_doubled(study, tmp_path):
    path = bundle_of(study, tmp_path / "study.zip")
    before = {model: model._default_manager.count() for model in ROWS}
    found = import_study(path)
    assert found.study.conflicts == []
    assert not found.study.new
    assert not found.study.people
    assert {model: model._default_manager.count() for model in ROWS} == before
    assert bundle_of(study, tmp_path / "again.zip").read_bytes() == path.read_bytes()


ROWS = (
    *(Study, StudyItem, StudyMember, Label, LabelRevision, MilestoneTick, StepComment, Dispute),
    *(DisputeMessage, ReferenceVerdict, Evaluation, EvaluatorVersion, CauseTag, FailureReview),
    FailureCauseTag,
    *(Unblinding, Guideline, Assignment, Run, Task, TaskSet, Milestone, Attachment, User),
    *(Hint, HintSet, HintChoice, KnowledgeSet, KnowledgeEntry, KnowledgeSource, LearningJob),
)


def test_what_a_file_said_takes_the_place_of_the_same_worked_out_here(study, tmp_path):
    run = study.items.latest("position").run
    run.evaluations.all().delete()
    told = make_evaluation(run, score=1.0)
    matcher = {"name": "matcher", "kind": "reward", "version": "1"}
    came_in = {"evaluator": matcher, "verdict": "passed"}
    Evaluation.objects.filter(pk=told.pk).update(record=came_in)
    path = bundle_of(study, tmp_path / "study.zip")
    run.evaluations.all().delete()
    why = {"checks": [{"name": "reward", "verdict": "passed"}]}
    make_evaluation(run, score=1.0, details=why)
    assert import_study(path).study.conflicts == []
    assert run.evaluations.get().pk == told.pk
    assert bundle_of(study, tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_what_is_otherwise_here_is_named_and_stays(study, tmp_path):
    path = bundle_of(study, tmp_path / "study.zip")
    Label.objects.filter(rationale__contains="says success").update(rationale="I changed it")
    Study.objects.filter(pk=study.pk).update(description="another")
    Evaluation.objects.filter(verdict="failed").update(verdict="error")
    found = import_study(path)
    said = "\n".join(found.study.conflicts)
    assert found.study.n_conflicts == 3
    for words in ("its protocol or state", "in the study: is otherwise here", "evaluation "):
        assert words in said
    assert Label.objects.filter(rationale="I changed it").count() == 1


def test_another_study_of_its_name_is_never_entered(study, tmp_path):
    path = bundle_of(study, tmp_path / "study.zip")
    Study.objects.filter(pk=study.pk).update(sample_seed=99)
    with pytest.raises(BundleError, match=r"study.jsonl, line 1, name: another study"):
        import_study(path)
    found = import_study(path, name="Under another name")
    assert found.study.study == "Under another name"
    said = "\n".join(found.study.conflicts)
    assert "another study has settled it before" in said
    assert "the id is taken here" in said
    assert ReferenceVerdict.objects.filter(is_authoritative=True).count() == 1


@pytest.mark.parametrize(
    ("name", "field", "value", "words"),
    [
        ("items.jsonl", "status", "lost", r"items.jsonl, line 1, status: "),
        ("items.jsonl", "surplus", 1, r"items.jsonl, line 1, surplus: "),
        ("evaluations.jsonl", "evaluator", "x", r"evaluations.jsonl, line 1, evaluator: an eval"),
        ("study.jsonl", "labels_per_run", "two", r"study.jsonl, line 1, labels_per_run: "),
    ],
)
def test_what_is_wrong_is_told_by_file_line_and_field_and_nothing_is_stored(
    study, tmp_path, name, field, value, words
):
    path = bundle_of(study, tmp_path / "study.zip")
    wiped(study)
    bad = changed(path, name, lambda lines: lines[0].update({field: value}), tmp_path / "bad.zip")
    with pytest.raises(BundleError, match=words):
        import_study(bad)
    assert not Study.objects.exists()
    assert not Run.objects.exists()
    with pytest.raises(CommandError, match=words):
        call_command("import_study", bad)


def test_a_file_that_was_changed_or_is_of_a_later_version_is_refused(study, tmp_path):
    path = bundle_of(study, tmp_path / "study.zip")
    files = members(path)
    for change, words in (
        ({"study/members.jsonl": b""}, "it was changed"),
        ({"study/bundle.json": b'{"format": "crosscheck-study", "version": 4}'}, "reads up to 3"),
        ({"study/bundle.json": b"[]"}, "not a JSON object"),
    ):
        bad = tmp_path / "bad.zip"
        bad.write_bytes(zip_of(files | change))
        with pytest.raises(BundleError, match=words):
            import_study(bad)
    plain = tmp_path / "plain.zip"
    plain.write_bytes(zip_of({"readme.txt": "hello"}))
    with pytest.raises(BundleError, match="no study's bundle"):
        import_study(plain)


def test_the_commands_tell_what_became_of_it(study, tmp_path, capsys):
    out = tmp_path / "study.zip"
    call_command("export_study", study.name, out)
    assert "2 items" in capsys.readouterr().out
    call_command("import_study", out, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["study"]["conflicts"] == []
    with pytest.raises(CommandError, match="must end in .zip"):
        call_command("export_study", study.name, tmp_path / "folder")
    with pytest.raises(CommandError, match="--format native"):
        call_command("export_study", study.name, out, "--blind")
