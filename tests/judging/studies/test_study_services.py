"""Making studies, sampling their runs, and who takes part."""

import pytest

from judging.models import StudyMember, Unblinding
from judging.studies.access import record_unblinding
from judging.studies.protocols import cause_choices, parse_lines
from judging.studies.services import (
    HasAdjudicatedError,
    HasLabelledError,
    MayNotAdjudicateError,
    add_guideline,
    close_study,
    draw,
    matching_runs,
    remove_member,
    set_member,
)
from runs.models import Run
from tests.judging.factories import annotators_of, label_next, make_study
from tests.runs.factories import make_run, make_task, make_user

pytestmark = pytest.mark.django_db
Part = StudyMember.Part


def test_the_same_seed_draws_the_same_sample_whatever_the_order() -> None:
    keys = list(range(100))
    assert draw(keys, 10, 3) == draw(keys[::-1], 10, 3)
    assert draw(keys, 10, 3) != draw(keys, 10, 4)
    assert len(set(draw(keys, 10, 3))) == 10
    assert sorted(draw(keys, 1000, 3)) == sorted(draw(keys, None, 3)) == keys


def test_a_sample_is_of_ended_runs_that_the_filter_matches() -> None:
    shop = make_run(task=make_task(site="shop"), pictures=False)
    make_run(task=make_task(site="map"), pictures=False)
    make_run(task=make_task(site="shop"), pictures=False, status="queued")
    make_run(task=make_task(site="shop"), pictures=False, steps=0)
    make_run(task=make_task(site="shop"), pictures=False, superseded=True)
    assert list(matching_runs("site=shop", make_user("engineer"))) == [shop]
    assert Run.objects.count() == 5


def test_causes_are_written_one_a_line() -> None:
    causes = parse_lines("repeated actions\n\n  Wrong tab \nWrong tab\nログイン切れ\n")
    assert causes == [
        {"key": "repeated_actions", "name": "repeated actions"},
        {"key": "wrong_tab", "name": "Wrong tab"},
        {"key": "cause_3", "name": "ログイン切れ"},
    ]
    assert cause_choices(causes)[1] == ("wrong_tab", "Wrong tab")


def test_guidelines_are_versions_that_stay() -> None:
    study = make_study(guidelines="one")
    second = add_guideline(study=study, text="two", author=None)
    assert second.version == 2
    assert list(study.guidelines.values_list("text", flat=True)) == ["two", "one"]


def test_adjudicating_needs_the_role_and_no_own_labels() -> None:
    study = make_study()
    labeller, other = annotators_of(study)
    label_next(study, labeller)
    with pytest.raises(MayNotAdjudicateError):
        set_member(study=study, user=other, part=Part.ADJUDICATOR)
    admin = make_user("admin")
    set_member(study=study, user=admin, part=Part.ANNOTATOR)
    label_next(study, admin)
    with pytest.raises(HasLabelledError):
        set_member(study=study, user=admin, part=Part.ADJUDICATOR)


def test_who_saw_labels_as_adjudicator_cannot_turn_annotator() -> None:
    study = make_study(adjudicators=[judge := make_user("adjudicator")])
    remove_member(study=study, user=judge)
    assert set_member(study=study, user=judge, part=Part.ANNOTATOR).part == Part.ANNOTATOR
    set_member(study=study, user=judge, part=Part.ADJUDICATOR)
    record_unblinding(user=judge, item=study.items.first(), reason="dispute")  # type: ignore[arg-type]
    with pytest.raises(HasAdjudicatedError):
        set_member(study=study, user=judge, part=Part.ANNOTATOR)


def test_coming_back_is_one_row() -> None:
    study = make_study()
    user = annotators_of(study)[0]
    remove_member(study=study, user=user)
    member = set_member(study=study, user=user, part=Part.ANNOTATOR)
    assert member.left_at is None
    assert study.members.filter(user=user).count() == 1


def test_closing_is_recorded_once_for_everybody() -> None:
    study = make_study(adjudicators=1)
    close_study(study=study)
    close_study(study=study)
    study.refresh_from_db()
    assert not study.is_open
    assert Unblinding.objects.filter(study=study, item=None).count() == 3
