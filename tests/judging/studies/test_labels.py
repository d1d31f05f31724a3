"""Submitting, changing and taking back labels, and what the last one brings."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, LabelRevision, ReferenceVerdict, StudyItem
from judging.studies.access import record_unblinding
from judging.studies.blinding import disputes_open_to
from judging.studies.labels.assignment import reassign, skip
from judging.studies.labels.services import (
    LabelClosedError,
    LabelledElsewhereError,
    LeaseLostError,
    NotAnnotatorError,
    submit_label,
    undo_label,
)
from judging.studies.services import close_study, remove_member
from tests.judging.factories import (
    annotators_of,
    label_next,
    make_dispute,
    make_label,
    make_study,
    make_submission,
    next_assignment,
)
from tests.runs.factories import make_run, make_user

pytestmark = pytest.mark.django_db


def test_the_same_form_twice_is_one_label() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    once = make_submission("failure", key="form-1", rationale="gave up")
    first = submit_label(assignment=assignment, user=user, submission=once)
    assert submit_label(assignment=assignment, user=user, submission=once) == first
    assert study.items.get().n_labels == 1


def test_another_form_for_the_same_run_is_refused_not_taken_as_a_change() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    label = label_next(study, user, "failure")
    with pytest.raises(LabelledElsewhereError):
        submit_label(
            assignment=Assignment.objects.get(), user=user, submission=make_submission("success")
        )
    label.refresh_from_db()
    assert label.success == "failure"


def test_a_change_keeps_what_was_said_before() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    label_next(study, user, "failure", rationale="gave up", causes=["loop"])
    assignment = reassign(study=study, user=user, item=study.items.get())
    changed = submit_label(
        assignment=assignment, user=user, submission=make_submission("success", version=0)
    )
    assert (changed.success, changed.causes) == ("success", [])
    history = LabelRevision.objects.get(label=changed).content
    assert (history["success"], history["causes"]) == ("failure", ["loop"])
    assert study.items.get().n_labels == 1
    with pytest.raises(LabelledElsewhereError):  # from a page that showed the first version
        submit_label(
            assignment=assignment, user=user, submission=make_submission("unsure", version=0)
        )


def test_a_label_is_closed_once_the_last_one_has_arrived() -> None:
    study = make_study(runs=1)
    first, second = annotators_of(study)
    item = study.items.get()
    make_label(item, first, "success")
    make_label(item, second, "failure")
    with pytest.raises(LabelClosedError):
        submit_label(
            assignment=Assignment.objects.get(user=first),
            user=first,
            submission=make_submission("failure", version=0),
        )
    assert Label.objects.get(annotator=first).success == "success"


def test_nobody_labels_for_a_closed_study_or_after_leaving() -> None:
    study = make_study(runs=2)
    first, second = annotators_of(study)
    for user in (first, second):
        next_assignment(study=study, user=user)
    remove_member(study=study, user=first)
    with pytest.raises(NotAnnotatorError):
        make_label(Assignment.objects.get(user=first).item, first)
    close_study(study=study)
    with pytest.raises(NotAnnotatorError):
        make_label(Assignment.objects.get(user=second).item, second)
    assert not Label.objects.exists()


def test_nobody_submits_for_somebody_else() -> None:
    study = make_study(runs=1)
    first, second = annotators_of(study)
    assignment = next_assignment(study=study, user=first)
    assert assignment is not None
    with pytest.raises(Assignment.DoesNotExist):
        submit_label(assignment=assignment, user=second, submission=make_submission())


@pytest.mark.parametrize("said", ["success", "failure"])
def test_two_clear_and_equal_labels_settle_the_run(said: str) -> None:
    study = make_study(runs=1)
    item = study.items.get()
    for user in annotators_of(study):
        make_label(item, user, said)
    item.refresh_from_db()
    verdict = ReferenceVerdict.objects.get(item=item)
    assert (item.status, item.n_labels) == ("settled", 2)
    assert (verdict.verdict, verdict.origin, verdict.decided_by) == (said, "agreed", None)
    assert verdict.is_authoritative


@pytest.mark.parametrize(
    "said",
    [
        ("success", "failure"),
        ("success", "unsure"),
        ("unsure", "unsure"),
        ("not_executable", "not_executable"),
        ("failure", "not_executable"),
    ],
)
def test_everything_else_is_disputed(said: tuple[str, str]) -> None:
    study = make_study(runs=1)
    item = study.items.get()
    for user, success in zip(annotators_of(study), said, strict=True):
        make_label(item, user, success)
    item.refresh_from_db()
    assert item.status == "disputed"
    assert Dispute.objects.filter(item=item).exists()
    assert not ReferenceVerdict.objects.exists()


def test_three_labels_settle_only_together() -> None:
    study = make_study(runs=1, annotators=3, labels_per_run=3)
    item = study.items.get()
    first, second, third = annotators_of(study)
    make_label(item, first)
    make_label(item, second)
    item.refresh_from_db()
    assert item.status == "open"
    make_label(item, third, "failure")
    item.refresh_from_db()
    assert item.status == "disputed"


def test_a_run_in_two_studies_keeps_one_authoritative_verdict() -> None:
    run = make_run(pictures=False)
    studies = [make_study(runs=[run]), make_study(runs=[run])]
    for study, said in zip(studies, ("success", "failure"), strict=True):
        for user in annotators_of(study):
            make_label(study.items.get(), user, said)
    verdicts = ReferenceVerdict.objects.order_by("decided_at")
    assert [(v.verdict, v.is_authoritative) for v in verdicts] == [
        ("success", True),
        ("failure", False),
    ]


def test_undo_puts_the_run_back_with_everything_filled_in() -> None:
    study = make_study(runs=2)
    user = annotators_of(study)[0]
    label = label_next(study, user, "failure", rationale="gave up", causes=["loop"], failure_step=2)
    next_assignment(study=study, user=user)
    assignment = undo_label(label=label, user=user)
    assert not Label.objects.exists()
    assert assignment.item.n_labels == 0
    assert assignment.state == "leased"
    assert assignment.draft["rationale"] == "gave up"
    assert assignment.draft["failure_step"] == 2
    assert undo_label(label=label, user=user) == assignment  # the second of two clicks


@pytest.mark.parametrize("said", ["success", "failure"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_no_label_is_undone_once_all_have_arrived(said: str, place: str) -> None:
    """Whoever sees that the run is settled or disputed knows what the other one said."""
    study = make_study(runs=1)
    item = study.items.get()
    labels = {
        order: make_label(item, user, verdict)
        for order, user, verdict in zip(
            ("first", "last"), annotators_of(study), ("success", said), strict=True
        )
    }
    closed = StudyItem.objects.values_list("status", "n_labels").get()
    with pytest.raises(LabelClosedError):
        undo_label(label=labels[place], user=labels[place].annotator)
    assert StudyItem.objects.values_list("status", "n_labels").get() == closed
    assert Label.objects.count() == 2


def test_the_only_label_of_a_run_opens_its_verdicts_and_is_not_undone() -> None:
    study = make_study(runs=1, annotators=1, labels_per_run=1)
    [user] = annotators_of(study)
    label = label_next(study, user)
    with pytest.raises(LabelClosedError):
        undo_label(label=label, user=user)


def test_nobody_undoes_a_label_of_a_closed_study_or_after_leaving() -> None:
    """Outcomes and verdicts are open to them by then."""
    study = make_study(runs=2)
    first, second = annotators_of(study)
    labels = label_next(study, first), label_next(study, second)
    remove_member(study=study, user=second)
    with pytest.raises(NotAnnotatorError):
        undo_label(label=labels[1], user=second)
    close_study(study=study)
    with pytest.raises(NotAnnotatorError):
        undo_label(label=labels[0], user=first)


def test_undo_ends_after_ten_seconds() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    label = label_next(study, user)
    Label.objects.update(submitted_at=timezone.now() - timedelta(seconds=16))
    with pytest.raises(LabelClosedError):
        undo_label(label=label, user=user)
    assert Label.objects.exists()


@pytest.mark.parametrize("way", ["change", "undo"])
def test_whoever_came_to_know_of_other_labels_revises_none(way: str) -> None:
    """By a dispute over the same run in another study, say."""
    run = make_run(pictures=False)
    study, other = make_study(runs=[run]), make_study(runs=[run])
    user = annotators_of(study)[0]
    label = label_next(study, user)
    record_unblinding(user=user, item=make_dispute(other).item, reason="dispute")
    assignment, change = Assignment.objects.get(user=user), make_submission("failure", version=0)
    ways: dict[str, Callable[[], object]] = {
        "undo": partial(undo_label, label=label, user=user),
        "change": partial(submit_label, assignment=assignment, user=user, submission=change),
    }
    with pytest.raises(LabelClosedError):
        ways[way]()


@pytest.mark.parametrize("said", ["success", "failure"])
def test_whose_label_is_complete_in_one_study_revises_and_gives_none_in_another(said: str) -> None:
    """That the run is settled or disputed there tells what the other one said of it."""
    run, late = make_run(pictures=False), make_run(pictures=False)
    people = make_user("annotator"), make_user("annotator")
    study = make_study(runs=[run], annotators=people)
    other = make_study(runs=[run, late], annotators=people)
    user = people[0]
    in_hand = next_assignment(study=study, user=user)
    assert in_hand is not None
    early = make_study(runs=[run], annotators=people)
    given = make_label(early.items.get(), user)
    for person, verdict in zip(people, ("success", said), strict=True):
        make_label(other.items.get(run=run), person, verdict)
    with pytest.raises(LabelClosedError):
        undo_label(label=given, user=user)
    with pytest.raises(LeaseLostError):
        submit_label(assignment=in_hand, user=user, submission=make_submission())
    assert next_assignment(study=study, user=user) is None
    assert next_assignment(study=other, user=user) is not None
    if said == "failure":
        assert [dispute.item.study for dispute in disputes_open_to(user)] == [other]


def test_a_repeat_of_a_settled_run_is_not_undone() -> None:
    """Once it is given, the verdict of the run shows again."""
    study = make_study(runs=1, repeat_share=1.0)
    first, second = annotators_of(study)
    make_label(study.items.get(), second)
    label_next(study, first)
    repeat = label_next(study, first)
    assert repeat.is_repeat
    with pytest.raises(LabelClosedError):
        undo_label(label=repeat, user=first)


def test_a_skipped_repeat_is_not_labelled_any_more() -> None:
    """The verdict of its run shows again, and the form may still be open in another tab."""
    study = make_study(runs=1, repeat_share=1.0)
    first, second = annotators_of(study)
    make_label(study.items.get(), second)
    label_next(study, first)
    repeat = next_assignment(study=study, user=first)
    assert repeat is not None
    assert repeat.is_repeat
    skip(assignment=repeat, user=first, reason="seen before")
    with pytest.raises(LeaseLostError):
        submit_label(assignment=repeat, user=first, submission=make_submission())


def test_an_undone_repeat_changes_no_count() -> None:
    study = make_study(runs=2, annotators=1, repeat_share=0.5)
    user = annotators_of(study)[0]
    labels = [label_next(study, user) for _ in range(3)]
    assert sum(label.is_repeat for label in labels) == 1
    repeat = next(label for label in labels if label.is_repeat)
    undo_label(label=repeat, user=user)
    assert set(StudyItem.objects.values_list("n_labels", flat=True)) == {1}
    assert Label.objects.count() == 2


def test_a_repeat_cannot_be_changed() -> None:
    study = make_study(runs=1, annotators=1, repeat_share=0.5)
    user = annotators_of(study)[0]
    study.repeat_share = 1.0
    study.save()
    label_next(study, user)
    assert label_next(study, user, "failure").is_repeat
    with pytest.raises(LabelClosedError):
        submit_label(
            assignment=Assignment.objects.get(is_repeat=True),
            user=user,
            submission=make_submission("success", version=0),
        )
