"""Discussing and deciding disputes."""

import pytest

from judging.models import DisputeMessage, ReferenceVerdict, StudyItem
from judging.studies.disputes.services import (
    ClosedStudyError,
    DecidedMeanwhileError,
    NotAdjudicatorError,
    add_message,
    decide,
)
from judging.studies.services import close_study, remove_member
from tests.judging.factories import adjudicators_of, annotators_of, make_dispute, make_study
from tests.runs.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("test_concurrency.py settles on both")]


def test_the_adjudicator_settles_it_with_who_when_and_why() -> None:
    dispute = make_dispute()
    adjudicator = adjudicators_of(dispute.item.study)[0]
    verdict = decide(
        dispute=dispute, adjudicator=adjudicator, verdict="failure", rationale="Empty."
    )
    assert (verdict.verdict, verdict.origin, verdict.rationale) == (
        "failure",
        "adjudicated",
        "Empty.",
    )
    assert verdict.decided_by == adjudicator
    dispute.refresh_from_db()
    assert dispute.version == 1
    assert StudyItem.objects.get(pk=dispute.item_id).status == "settled"


def test_the_second_of_two_adjudicators_is_told_what_stands() -> None:
    dispute = make_dispute(make_study(adjudicators=2))
    first, second = adjudicators_of(dispute.item.study)
    decide(dispute=dispute, adjudicator=first, verdict="failure", rationale="Empty.")
    with pytest.raises(DecidedMeanwhileError) as refused:
        decide(dispute=dispute, adjudicator=second, verdict="success", rationale="Full.")
    assert refused.value.verdict.rationale == "Empty."
    assert ReferenceVerdict.objects.get().verdict == "failure"


def test_only_the_studys_adjudicators_decide() -> None:
    dispute = make_dispute()
    study = dispute.item.study
    gone = adjudicators_of(study)[0]
    remove_member(study=study, user=gone)
    for user in (*annotators_of(study), make_user("adjudicator"), make_user("engineer"), gone):
        with pytest.raises(NotAdjudicatorError):
            decide(dispute=dispute, adjudicator=user, verdict="success", rationale="x")
    assert not ReferenceVerdict.objects.exists()


def test_both_annotators_proposing_the_same_settles_it() -> None:
    dispute = make_dispute()
    first, second = annotators_of(dispute.item.study)
    assert add_message(dispute=dispute, author=first, text="I saw it", proposal="success") is None
    assert add_message(dispute=dispute, author=second, text="Hm", proposal="failure") is None
    assert add_message(dispute=dispute, author=second, text="Step 3 shows it") is None
    verdict = add_message(dispute=dispute, author=second, text="You are right", proposal="success")
    assert verdict is not None
    assert (verdict.verdict, verdict.origin, verdict.decided_by) == ("success", "consensus", second)
    with pytest.raises(DecidedMeanwhileError):
        add_message(dispute=dispute, author=first, text="late")


def test_a_proposal_that_was_replaced_does_not_count() -> None:
    dispute = make_dispute()
    first, second = annotators_of(dispute.item.study)
    add_message(dispute=dispute, author=first, text="a", proposal="success")
    add_message(dispute=dispute, author=first, text="b", proposal="failure")
    assert add_message(dispute=dispute, author=second, text="c", proposal="success") is None


def test_adjudicators_discuss_but_their_proposals_do_not_count_and_strangers_are_refused() -> None:
    dispute = make_dispute()
    study = dispute.item.study
    add_message(dispute=dispute, author=adjudicators_of(study)[0], text="Why?", proposal="success")
    assert DisputeMessage.objects.get().proposal == ""
    for stranger in (make_user("annotator"), make_user("adjudicator")):
        with pytest.raises(NotAdjudicatorError):
            add_message(dispute=dispute, author=stranger, text="Hello")


def test_a_closed_study_stays_as_it_is() -> None:
    dispute = make_dispute()
    study = dispute.item.study
    close_study(study=study)
    with pytest.raises(ClosedStudyError):
        decide(
            dispute=dispute, adjudicator=adjudicators_of(study)[0], verdict="success", rationale="x"
        )
