"""Handing out runs: leases, places, skips, drafts, hidden repeats."""

import io
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import Assignment, Label, Study, StudyItem, StudyMember
from judging.portability.judgements.label_files import import_labels
from judging.studies.access import record_unblinding
from judging.studies.labels.assignment import NotAssignableError, reassign, skip
from judging.studies.labels.open_runs import Places, runs_for_nobody
from judging.studies.labels.services import LeaseLostError, submit_label
from judging.studies.labels.state import save_draft
from judging.studies.services import close_study, remove_member, set_member
from tests.judging.factories import (
    annotators_of,
    label_next,
    make_label,
    make_study,
    make_submission,
    next_assignment,
)
from tests.runs.factories import make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_concurrency.py hands out on both"),
]


def expire(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(
        leased_until=timezone.now() - timedelta(seconds=1)
    )


def test_asking_again_gives_the_same_run() -> None:
    study = make_study()
    user = annotators_of(study)[0]
    first = next_assignment(study=study, user=user)
    assert first is not None
    assert next_assignment(study=study, user=user) == first
    expire(first)
    again = next_assignment(study=study, user=user)
    assert again == first
    assert again.leased_until > timezone.now()


def test_strangers_and_adjudicators_get_nothing() -> None:
    study = make_study(adjudicators=[adjudicator := make_user("adjudicator")])
    for user in (make_user("annotator"), make_user("engineer"), adjudicator):
        assert next_assignment(study=study, user=user) is None


def test_a_closed_study_hands_out_nothing() -> None:
    study = make_study()
    close_study(study=study)
    assert next_assignment(study=study, user=annotators_of(study)[0]) is None


def test_who_left_gets_nothing_and_their_places_are_free_at_once() -> None:
    study = make_study(runs=1, annotators=3)
    first, second, third = annotators_of(study)
    assert next_assignment(study=study, user=first)
    assert next_assignment(study=study, user=second)
    assert next_assignment(study=study, user=third) is None
    remove_member(study=study, user=first)
    assert next_assignment(study=study, user=first) is None
    assert next_assignment(study=study, user=third)


def test_places_go_round_before_any_run_is_given_twice() -> None:
    study = make_study(runs=3, annotators=3)
    given = {next_assignment(study=study, user=user).item_id for user in annotators_of(study)}  # type: ignore[union-attr]
    assert len(given) == 3


def test_the_database_finds_the_next_run_in_the_order_of_places() -> None:
    study = make_study(runs=12)
    user = annotators_of(study)[0]
    places = Places.for_person(seed=study.sample_seed, user_id=user.pk)
    items = sorted(study.items.values_list("pk", flat=True), key=places.of)
    assert [label_next(study, user).item_id for _ in items] == items


def test_places_stay_in_the_numbers_of_both_databases() -> None:
    """Of a study that has the largest keys there may be."""
    study = make_study(runs=0)
    user = annotators_of(study)[0]
    run, far = make_run(), 2**63 - 1
    StudyItem.objects.bulk_create(
        StudyItem(pk=pk, study=study, run=make_run(task=run.task), position=position)
        for position, pk in enumerate((far, far - 2**31, 2**31 - 1, 2**31 - 2))
    )
    Study.objects.filter(pk=study.pk).update(sample_seed=-(2**63))
    study.refresh_from_db()
    places = Places.for_person(seed=study.sample_seed, user_id=user.pk)
    keys = study.items.values_list("pk", flat=True)
    items = sorted(keys, key=lambda pk: (places.of(pk), pk))
    assert [label_next(study, user).item_id for _ in items] == items


def test_no_more_people_than_places() -> None:
    study = make_study(runs=1, annotators=3)
    given = [next_assignment(study=study, user=user) for user in annotators_of(study)]
    assert [bool(assignment) for assignment in given] == [True, True, False]


def test_an_expired_place_goes_to_somebody_else_and_its_draft_stays() -> None:
    study = make_study(runs=1, annotators=3)
    first, second, third = annotators_of(study)
    lost = next_assignment(study=study, user=first)
    assert lost is not None
    save_draft(assignment=lost, user=first, draft={"rationale": "so far"}, seconds=0)
    next_assignment(study=study, user=second)
    expire(lost)
    assert next_assignment(study=study, user=third)
    assert next_assignment(study=study, user=first) is None
    with pytest.raises(LeaseLostError):
        submit_label(assignment=lost, user=first, submission=make_submission())
    lost.refresh_from_db()
    assert lost.draft == {"rationale": "so far"}
    assert not Label.objects.exists()


def test_an_expired_lease_still_counts_if_nobody_else_took_the_place() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    expire(assignment)
    assert submit_label(assignment=assignment, user=user, submission=make_submission())


def test_a_draft_keeps_the_place_and_counts_active_time_by_the_clock() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    Assignment.objects.filter(pk=assignment.pk).update(
        opened_at=timezone.now() - timedelta(seconds=60),
        leased_until=timezone.now() + timedelta(seconds=5),
    )
    save_draft(assignment=assignment, user=user, draft={"success": "failure"}, seconds=20)
    assignment.refresh_from_db()
    assert assignment.seconds == pytest.approx(20)
    assert assignment.leased_until > timezone.now() + timedelta(minutes=5)
    save_draft(assignment=assignment, user=user, draft={}, seconds=5000)
    assignment.refresh_from_db()
    assert assignment.seconds < 21  # hardly any time has passed since the last save
    label = submit_label(assignment=assignment, user=user, submission=make_submission(seconds=-50))
    assert 20 <= label.seconds < 21


def test_without_a_script_the_clock_counts() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    Assignment.objects.update(opened_at=timezone.now() - timedelta(seconds=60))
    label = submit_label(assignment=assignment, user=user, submission=make_submission(seconds=None))
    assert label.seconds == pytest.approx(60, abs=2)


def test_drafts_of_others_cannot_be_written() -> None:
    study = make_study()
    first, second = annotators_of(study)
    assignment = next_assignment(study=study, user=first)
    assert assignment is not None
    with pytest.raises(Assignment.DoesNotExist):
        save_draft(assignment=assignment, user=second, draft={"x": 1}, seconds=0)


def test_a_skipped_run_comes_back_at_the_end_and_then_is_left_alone() -> None:
    study = make_study(runs=3)
    user = annotators_of(study)[0]
    skipped = next_assignment(study=study, user=user)
    assert skipped is not None
    skip(assignment=skipped, user=user, reason="video does not load")
    order = [label_next(study, user).item_id for _ in range(2)]
    assert skipped.item_id not in order
    again = next_assignment(study=study, user=user)
    assert again == skipped
    assert again.skip_reason == "video does not load"
    skip(assignment=again, user=user, reason="still not")
    assert next_assignment(study=study, user=user) is None
    assert reassign(study=study, user=user, item=skipped.item).state == "leased"
    assert next_assignment(study=study, user=user) == skipped


def test_a_skip_frees_the_place() -> None:
    study = make_study(runs=1, annotators=3)
    first, second, third = annotators_of(study)
    mine = next_assignment(study=study, user=first)
    assert mine is not None
    next_assignment(study=study, user=second)
    skip(assignment=mine, user=first, reason="not now")
    assert next_assignment(study=study, user=third)
    assert next_assignment(study=study, user=first) is None


def test_taking_up_what_was_never_handed_out_is_refused() -> None:
    study = make_study(runs=1)
    with pytest.raises(NotAssignableError):
        reassign(study=study, user=annotators_of(study)[0], item=study.items.get())


def test_who_has_seen_a_run_elsewhere_does_not_get_it() -> None:
    run = make_run(pictures=False)
    one, other = make_study(runs=[run]), make_study(runs=[run], annotators=0)
    user = annotators_of(one)[0]
    set_member(study=other, user=user, part="annotator")  # type: ignore[arg-type]
    record_unblinding(user=user, item=one.items.get(), reason="dispute")
    assert next_assignment(study=other, user=user) is None


def test_who_is_to_label_a_run_is_asked_though_an_import_brought_labels_in_their_name() -> None:
    study = make_study(runs=1)
    ann, bob = annotators_of(study)
    held = next_assignment(study=study, user=bob)
    rows = [f"{study.items.get().run_id},{user},success" for user in (ann, bob)]
    table = "\n".join(["run_id,annotator,verdict", *rows])
    import_labels(io.BytesIO(table.encode()), study="Elsewhere")
    assert StudyItem.objects.get(study__name="Elsewhere").status == StudyItem.Status.SETTLED
    assert held is not None
    submit_label(assignment=held, user=bob, submission=make_submission())
    assert label_next(study, ann).item.study == study


def finish(study, user, says: Callable[[int], str] = lambda n: "success") -> list[Label]:
    labels: list[Label] = []
    while assignment := next_assignment(study=study, user=user):
        labels.append(
            submit_label(
                assignment=assignment, user=user, submission=make_submission(says(len(labels)))
            )
        )
    return labels


def test_hidden_repeats_come_at_the_end_and_count_for_nothing_else() -> None:
    study = make_study(runs=10, annotators=1, repeat_share=0.2)
    user = annotators_of(study)[0]
    labels = finish(study, user)
    assert [label.is_repeat for label in labels].count(True) == 2
    assert not any(label.is_repeat for label in labels[:8])
    repeated = {label.item_id for label in labels if label.is_repeat}
    assert len(repeated) == 2
    assert set(StudyItem.objects.values_list("n_labels", flat=True)) == {1}


def test_a_run_waits_for_nobody_once_no_annotator_who_is_there_gets_it() -> None:
    runs = [make_run(pictures=False) for _ in range(4)]
    study, elsewhere = (make_study(runs=runs, labels_per_run=n) for n in (3, 2))
    first, second = annotators_of(study)
    here, there, seen, left = study.items.order_by("position")
    for user in (first, second):
        set_member(study=elsewhere, user=user, part=StudyMember.Part.ANNOTATOR)
        make_label(elsewhere.items.get(run=there.run), user)
        make_label(here, user)
    record_unblinding(user=first, item=elsewhere.items.get(run=seen.run), reason="dispute")
    make_label(left, first)
    assert set(runs_for_nobody(study)) == {here, there}
    make_label(seen, second)
    assert set(runs_for_nobody(study)) == {here, there, seen}
    remove_member(study=study, user=second)
    assert set(runs_for_nobody(study)) == {here, there, seen, left}
    assert next_assignment(study=study, user=first) is None
    set_member(study=study, user=make_user("annotator"), part=StudyMember.Part.ANNOTATOR)
    assert not runs_for_nobody(study)


def test_a_repeat_is_never_of_a_run_that_was_unblinded() -> None:
    study = make_study(runs=2, annotators=1, repeat_share=0.5)
    user = annotators_of(study)[0]
    for item in study.items.all():
        make_label(item, user)
        record_unblinding(user=user, item=item, reason="verdict")
    assert next_assignment(study=study, user=user) is None


def test_a_skipped_repeat_is_not_replaced() -> None:
    study = make_study(runs=4, annotators=1, repeat_share=0.25)
    user = annotators_of(study)[0]
    labels = [label_next(study, user) for _ in range(3)]
    while not (assignment := next_assignment(study=study, user=user)) or not assignment.is_repeat:
        labels.append(label_next(study, user))
    skip(assignment=assignment, user=user, reason="again?")
    rest = finish(study, user)
    assert not any(label.is_repeat for label in [*labels, *rest])
