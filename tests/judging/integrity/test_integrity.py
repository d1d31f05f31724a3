"""Judgements that are not as they must be are found; those that the services made are not."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from judging.models import (
    Assignment,
    Dispute,
    DisputeMessage,
    Evaluation,
    EvaluationBatch,
    EvaluationBatchItem,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
    StudyMember,
)
from judging.studies.disputes.services import add_message, decide
from judging.studies.integrity import date_rows
from judging.studies.labels.assignment import skip
from runs.models import Run
from runs.operations.integrity import all_invariants, constraints_of, missing_constraints
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    label_next,
    make_dispute,
    make_evaluation,
    make_label,
    make_study,
    next_assignment,
)
from tests.runs.factories import delete_run, make_run
from tests.runs.operations.integrity import everything_holds, found, plant

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.sqlite_only("plain queries, alike on both"),
]


def whole_run() -> Run:
    return make_run(pictures=False, content_hash=uuid4().hex * 2)


@pytest.fixture(scope="module")
def judged(kept_rows: None) -> Study:
    """Made once; what a test plants goes with the test."""
    return judged_study()


@pytest.fixture
def study(judged: Study, db: None) -> Study:
    return judged


def judged_study() -> Study:
    """Of five runs: agreed on, adjudicated, ended by consensus, disputed, labelled once."""
    study = make_study(runs=[whole_run() for _ in range(5)], adjudicators=1)
    first, second = annotators_of(study)
    items = list(study.items.order_by("position"))
    for user in (first, second):
        make_label(items[0], user)
    adjudicated, agreed, _left = (make_dispute(study) for _ in range(3))
    decide(
        dispute=adjudicated,
        adjudicator=adjudicators_of(study)[0],
        verdict="failure",
        rationale="Empty.",
    )
    for user in (first, second):
        add_message(dispute=agreed, author=user, text="Yes.", proposal="success")
    label_next(study, first)
    waiting = next_assignment(study=study, user=second)
    assert waiting is not None
    skip(assignment=waiting, user=second, reason="later")
    return study


def item_at(study: Study, position: int) -> StudyItem:
    return study.items.get(position=position)


def test_what_the_services_made_is_left_alone(study: Study) -> None:
    assert [item.status for item in study.items.order_by("position")] == [
        *["settled"] * 3,
        "disputed",
        "open",
    ]
    make_evaluation(item_at(study, 1).run)
    make_evaluation(item_at(study, 2).run, "error", reason="the run is incomplete")
    everything_holds()


@pytest.mark.parametrize(
    ("position", "planted", "why"),
    [
        (1, {"status": "lost"}, "state lost is none"),
        (1, {"n_labels": 1}, "n_labels is 1, and it has 2"),
        (1, {"n_labels": 3}, "it has 3 labels of 2"),
        (1, {"status": "open"}, "all its labels are there, and it is open"),
        (1, {"status": "open"}, "it is open and has a verdict"),
        (1, {"status": "disputed"}, "it is disputed without a dispute"),
        (4, {"status": "open"}, "it is open and has a dispute"),
        (4, {"status": "settled"}, "it is settled without a verdict"),
        (5, {"status": "settled"}, "it is settled before all labels are there"),
    ],
)
def test_a_place_that_is_not_where_its_labels_say(
    study: Study, position: int, planted: dict[str, Any], why: str
) -> None:
    assert why in plant(item_at(study, position), **planted)


@pytest.mark.parametrize(
    ("position", "planted", "why"),
    [
        (1, {"verdict": "perhaps"}, "perhaps is no verdict"),
        (1, {"origin": "dice"}, "origin dice is none"),
        (1, {"origin": "imported"}, "it is imported, and nothing says from what"),
        (1, {"verdict": "failure"}, "all are said to agree on failure, and a label differs"),
        (1, {"verdict": "not_executable"}, "not_executable cannot stand without a decision"),
        (2, {"origin": "agreed"}, "all are said to agree, and there is a dispute"),
        (1, {"origin": "adjudicated"}, "adjudicated without a dispute that ended"),
        (2, {"decided_by": None}, "adjudicated, and nobody noted by whom"),
        (3, {"verdict": "failure"}, "consensus on failure, which is not everybody's last"),
    ],
)
def test_a_verdict_that_its_labels_do_not_bear_out(
    study: Study, position: int, planted: dict[str, Any], why: str
) -> None:
    verdict = ReferenceVerdict.objects.get(item__position=position)
    assert any(told.startswith(why) for told in plant(verdict, **planted))


def test_a_verdict_on_another_run(study: Study) -> None:
    verdict = ReferenceVerdict.objects.get(item__position=1)
    other = item_at(study, 5).run
    told = plant(verdict, run=other, run_created_at=other.created_at)
    assert told == ["it is of another run than its place in the study"]


@pytest.mark.parametrize("written", [None, timezone.now()])
def test_a_verdict_that_is_not_dated_as_its_run(study: Study, written: datetime | None) -> None:
    verdict = ReferenceVerdict.objects.get(item__position=1)
    wrong = ["it is not dated as its run is: `migrate` does that anew"]
    # An older version at work during an upgrade dates none.
    assert plant(verdict, run_created_at=written) == (wrong if written else [])
    date_rows()
    assert found(verdict) == []
    verdict.refresh_from_db()
    assert verdict.run_created_at == verdict.run.created_at


def test_a_proposal_taken_back_is_no_consensus(study: Study) -> None:
    dispute = Dispute.objects.get(item__position=3)
    DisputeMessage.objects.create(
        dispute=dispute, author=annotators_of(study)[0], text="No.", proposal="failure"
    )
    assert found(ReferenceVerdict.objects.get(item__position=3)) == [
        "consensus on success, which is not everybody's last proposal"
    ]


def test_a_label_that_is_none(study: Study) -> None:
    told = plant(Label.objects.get(item__position=5), success="maybe")
    assert told == ["maybe is no verdict"]


def test_a_label_without_its_assignment_and_its_person(study: Study) -> None:
    label = Label.objects.get(item__position=5)
    Assignment.objects.filter(item=label.item_id, user=label.annotator_id).delete()
    assert found(label) == ["no submitted assignment stands behind it"]


def test_a_repeat_of_nothing(study: Study) -> None:
    label = Label.objects.get(item__position=5)
    StudyItem.objects.filter(pk=label.item_id).update(n_labels=0)
    Assignment.objects.filter(item=label.item_id, user=label.annotator_id).update(is_repeat=True)
    assert plant(label, is_repeat=True) == ["it repeats no label"]


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        ({"state": "asleep"}, "state asleep is none"),
        ({"state": "submitted"}, "it is submitted without a label"),
        ({"skipped_at": None}, "it is skipped, and nobody noted when or how often"),
        ({"n_skips": 0}, "it is skipped, and nobody noted when or how often"),
        ({"seconds": -1.0}, "it took less than no time"),
    ],
)
def test_an_assignment_that_is_not_as_it_must_be(
    study: Study, planted: dict[str, Any], why: str
) -> None:
    assignment = Assignment.objects.get(item__position=5, state="skipped")
    assert plant(assignment, **planted) == [why]


def test_people_who_were_never_in_the_study(study: Study) -> None:
    gone = annotators_of(study)[1]
    StudyMember.objects.filter(user=gone).delete()
    told = [broken for each in all_invariants() for broken in each.violations()]
    assert {(broken.model, broken.why) for broken in told} == {
        ("judging.Label", "whoever gave it was never in its study"),
        ("judging.Assignment", "whoever has it was never in its study"),
    }
    assert len(told) == gone.labels.count() + gone.assignments.count() == 9


@pytest.mark.parametrize(
    ("verdict", "planted", "why"),
    [
        ("passed", {"verdict": "maybe"}, "maybe is no verdict"),
        ("passed", {"reason": "it broke"}, "passed, and it says why not"),
        ("error", {"score": 1.0}, "it has no verdict, and a score"),
        ("error", {"reason": ""}, "it has no verdict, and nothing says why"),
    ],
)
def test_an_evaluation_that_says_two_things(
    verdict: str, planted: dict[str, Any], why: str
) -> None:
    reason = "it broke" if verdict == "error" else ""
    evaluation = make_evaluation(whole_run(), verdict, reason=reason)
    assert found(evaluation) == []
    assert plant(evaluation, **planted) == [why]


def make_batch() -> EvaluationBatch:
    """Through with one of its two runs, which passed."""
    runs = [whole_run(), whole_run()]
    evaluation = make_evaluation(runs[0])
    batch = EvaluationBatch.objects.create(
        evaluator=evaluation.evaluator, n_total=2, n_done=1, n_passed=1
    )
    Evaluation.objects.filter(pk=evaluation.pk).update(batch=batch)
    for position, run in enumerate(runs):
        EvaluationBatchItem.objects.create(
            batch=batch, run=run, position=position, is_done=position == 0
        )
    return batch


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        ({"n_done": 2}, "n_done is 2, which its counters of verdicts do not add up to"),
        ({"n_done": 0, "n_passed": 0}, "n_done is 0, and 1 of its runs are done"),
        ({"n_total": 0}, "n_done is 1 of 0"),
        ({"n_passed": 0, "n_failed": 1}, "n_passed is 0, and 1 of its evaluations say so"),
        ({"n_passed": 0, "n_failed": 1}, "n_failed is 1, and 0 of its evaluations say so"),
        (
            {"state": "finished", "ended_at": timezone.now()},
            "it has finished before all its runs are done",
        ),
    ],
)
def test_a_batch_whose_counters_are_not_its_rows(planted: dict[str, Any], why: str) -> None:
    batch = make_batch()
    assert found(batch) == []
    assert why in plant(batch, **planted)


def test_counters_stay_when_a_run_goes() -> None:
    batch = make_batch()
    for run in Run.objects.filter(evaluations__batch=batch):
        delete_run(run)
    assert found(batch) == []


def test_constraints_are_read_as_django_reads_them() -> None:
    with connection.cursor() as cursor:
        for model in (Run, Evaluation, Assignment, Dispute, ReferenceVerdict):
            table = model._meta.db_table
            theirs = connection.introspection.get_constraints(cursor, table)
            names, unique = constraints_of(cursor, table)
            assert names >= {name for name in theirs if not name.startswith(("__", "fk_"))}
            assert unique == {
                tuple(each["columns"])
                for each in theirs.values()
                if each["unique"] or each["primary_key"]
            }


def test_constraints_that_are_lost_are_found() -> None:
    assert list(missing_constraints()) == []
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX one_authoritative_verdict_per_run")
        for table in ("runs_event", "runs_taskrevision"):
            cursor.execute(f"DROP TABLE {table}")
            cursor.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, task_id INTEGER)")
    assert [(lost.model, lost.key, lost.why) for lost in missing_constraints()][:3] == [
        (
            "judging.ReferenceVerdict",
            "one_authoritative_verdict_per_run",
            "the database has lost this constraint",
        ),
        ("runs.Event", "event_span", "the database has lost this constraint"),
        ("runs.TaskRevision", "task_id", "the database lets it repeat"),
    ]
