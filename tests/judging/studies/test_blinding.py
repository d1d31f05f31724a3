"""The rule of who is blinded to which run, case by case."""

import io
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from judging.models import Assignment, Dispute, Study, StudyItem, StudyMember
from judging.portability.judgements.label_files import import_labels
from judging.studies import blinding
from judging.studies.blinding import (
    StudyPolicy,
    disputes_open_to,
    is_blinded_to,
    items_with_open_labels,
)
from judging.studies.disputes.services import decide
from judging.studies.services import close_study, remove_member, set_member
from runs.models import Run, User
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    label_next,
    make_dispute,
    make_label,
    make_study,
    next_assignment,
)
from tests.runs.factories import make_run, make_user

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("asks what test_blinding_urls.py asks of PostgreSQL"),
]


@pytest.fixture(autouse=True, params=[blinding.LOOKED_UP, 0], ids=["few runs wait", "many"])
def looked_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are looked up beforehand, or worked out by the database where they are many."""
    monkeypatch.setattr(blinding, "LOOKED_UP", request.param)


Part = StudyMember.Part


def seen(user: User, run: Run) -> tuple[bool, bool] | None:
    """(blind, anonymous) for the person; None where they may not open the run at all.

    However it is asked: of all runs, of this one alone, as a list, from a row that leads to it.
    """
    again = User.objects.get(pk=user.pk)
    found = Run.objects.visible_to(again).filter(pk=run.pk).first()
    alone = Run.objects.visible_to(again, [run.pk]).first()
    if found is None or alone is None:
        assert found is alone
        return None
    degrees = set()
    for each in (found, alone):
        assert each.is_blind == (each.shown_outcome is None) == (each.shown_reward is None)
        assert each.is_anonymous == (each.shown_agent is None) == (each.shown_model is None)
        degrees.add((each.is_blind, each.is_anonymous))
    [(is_blind, is_anonymous)] = degrees
    listed = StudyPolicy().blind_runs(again)
    assert is_blind == (listed is not None and listed.filter(pk=run.pk).exists())
    items = StudyItem.objects.filter(run=run)
    assert items.filter(is_blinded_to("run", again)).exists() == (is_blind and items.exists())
    assert is_blind != found_by(again, run, f"outcome={run.outcome}")
    return is_blind, is_anonymous


def found_by(user: User, run: Run, query: str) -> bool:
    """Whether a filter of the runs table finds the run."""
    visibility = visibility_of(user)
    asked = QueryDict(f"{query}&superseded=true")
    return run in RunFilter(asked, visibility=visibility).qs


BLIND, OPEN = (True, True), (False, False)


def settle(study: Study, item: StudyItem) -> None:
    """Let both annotators agree."""
    for user in annotators_of(study):
        make_label(item, user)


def test_outside_studies_engineers_see_all_and_others_nothing() -> None:
    run = make_run(pictures=False)
    assert seen(make_user("engineer"), run) == OPEN
    assert seen(make_user("annotator"), run) is None
    assert seen(make_user("adjudicator"), run) is None


def test_an_annotator_sees_a_run_from_when_it_is_handed_out_and_blind_until_settled() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    item = study.items.get()
    assert seen(user, item.run) is None
    next_assignment(study=study, user=user)
    assert seen(user, item.run) == BLIND
    make_label(item, user)
    assert seen(user, item.run) == BLIND  # the other may still disagree
    make_label(item, annotators_of(study)[1])
    assert seen(user, item.run) == OPEN


def test_an_engineer_who_annotates_is_as_blind_before_any_hand_out() -> None:
    study = make_study(runs=1, annotators=[engineer := make_user("engineer"), make_user()])
    assert seen(engineer, study.items.get().run) == BLIND
    assert seen(engineer, make_run(pictures=False)) == OPEN
    settle(study, study.items.get())
    assert seen(engineer, study.items.get().run) == OPEN


def test_a_study_may_show_who_acted() -> None:
    study = make_study(runs=1, hides_identity=False)
    user = annotators_of(study)[0]
    next_assignment(study=study, user=user)
    assert seen(user, study.items.get().run) == (True, False)


def test_an_adjudicator_sees_disputed_runs_only_and_blind_until_decided() -> None:
    study = make_study(runs=2, adjudicators=1)
    adjudicator = adjudicators_of(study)[0]
    dispute = make_dispute(study)
    other = study.items.filter(status="open").get()
    assert seen(adjudicator, dispute.item.run) == BLIND
    assert seen(adjudicator, other.run) is None
    decide(dispute=dispute, adjudicator=adjudicator, verdict="success", rationale="x")
    assert seen(adjudicator, dispute.item.run) == OPEN


def test_in_a_dispute_everybody_stays_blind_on_outcomes() -> None:
    dispute = make_dispute()
    for user in annotators_of(dispute.item.study):
        assert seen(user, dispute.item.run) == BLIND


def test_leaving_ends_access_but_not_blindness() -> None:
    study = make_study(
        runs=1, annotators=[engineer := make_user("engineer"), user := make_user("annotator")]
    )
    next_assignment(study=study, user=user)
    for member in (engineer, user):
        remove_member(study=study, user=member)
    assert seen(user, study.items.get().run) is None
    assert seen(engineer, study.items.get().run) == BLIND


def test_closing_ends_blindness() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    next_assignment(study=study, user=user)
    close_study(study=study)
    assert seen(user, study.items.get().run) == OPEN


def test_a_run_in_two_studies_opens_with_the_last() -> None:
    run = make_run(pictures=False)
    one, other = make_study(runs=[run]), make_study(runs=[run], annotators=0)
    user = annotators_of(one)[0]
    set_member(study=other, user=user, part=Part.ANNOTATOR)
    settle(one, one.items.get())
    assert seen(user, run) == BLIND
    close_study(study=other)
    assert seen(user, run) == OPEN


def test_reruns_and_retries_of_a_blind_run_are_as_blind() -> None:
    study = make_study(runs=1, annotators=[engineer := make_user("engineer")])
    run = study.items.get().run
    original = make_run(pictures=False)
    Run.objects.filter(pk=run.pk).update(rerun_of=original, family=original.pk)
    run.refresh_from_db()
    rerun = make_run(pictures=False, rerun_of=run)
    retry = make_run(pictures=False, retry_of=run)
    later = make_run(pictures=False, rerun_of=rerun)
    sibling = make_run(pictures=False, rerun_of=original)
    kin = (original, rerun, retry, later, sibling)
    assert [seen(engineer, each) for each in kin] == [BLIND] * 5
    assert seen(engineer, make_run(pictures=False)) == OPEN
    assert seen(make_user("engineer"), rerun) == OPEN


def test_a_hidden_second_look_makes_blind_again() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    item = study.items.get()
    settle(study, item)
    assert seen(user, item.run) == OPEN
    again = Assignment.objects.create(
        item=item, user=user, is_repeat=True, leased_until=timezone.now(), opened_at=timezone.now()
    )
    assert seen(user, item.run) == BLIND
    Assignment.objects.filter(pk=again.pk).update(state="submitted")
    assert seen(user, item.run) == OPEN


def open_items(user: User) -> set[int]:
    return set(items_with_open_labels(User.objects.get(pk=user.pk)).values_list("pk", flat=True))


def test_labels_open_to_those_who_gave_them_and_to_adjudicators_once_complete() -> None:
    study = make_study(runs=2, annotators=3, adjudicators=1)
    first, second, third = annotators_of(study)
    disputed, waiting = study.items.all()
    make_label(disputed, first, "success")
    make_label(waiting, first, "success")
    assert open_items(first) == set()
    make_label(disputed, second, "failure")
    assert open_items(first) == open_items(second) == {disputed.pk}
    assert open_items(adjudicators_of(study)[0]) == {disputed.pk}
    assert open_items(third) == set()
    assert open_items(make_user("adjudicator")) == set()
    assert open_items(make_user("engineer")) == {disputed.pk}
    remove_member(study=study, user=first)
    assert open_items(first) == set()


def test_labels_stay_shut_for_who_still_owes_the_run_a_label_elsewhere() -> None:
    run = make_run(pictures=False)
    study = make_study(runs=[run], adjudicators=[judge := make_user("adjudicator")])
    other = make_study(runs=[run], annotators=[judge, engineer := make_user("engineer")])
    dispute = make_dispute(study)
    assert list(disputes_open_to(judge)) == []
    assert list(disputes_open_to(engineer)) == []
    label_next(other, judge)
    assert list(disputes_open_to(judge)) == []  # that label can still be changed
    close_study(study=other)
    assert list(disputes_open_to(judge)) == list(disputes_open_to(engineer)) == [dispute]


def test_labels_of_an_import_stay_shut_for_who_still_owes_the_run_a_label_here() -> None:
    ann, bob = make_user("annotator", "ann"), make_user("annotator")
    study = make_study(runs=[run := make_run(pictures=False)], annotators=[ann, bob])
    table = f"run_id,annotator,verdict\n{run.pk},ann,success\n{run.pk},zoe,failure\n"
    import_labels(io.BytesIO(table.encode()), study="Elsewhere")
    imported = Dispute.objects.get()
    assert imported not in disputes_open_to(ann)
    label_next(study, ann)
    assert imported not in disputes_open_to(ann)  # that label can still be changed
    label_next(study, bob)
    assert imported in disputes_open_to(ann)


def test_the_policy_costs_nothing_per_run(django_assert_max_num_queries: Any) -> None:
    study = make_study(runs=5, annotators=[engineer := make_user("engineer")])
    user = User.objects.get(pk=engineer.pk)
    user.has_perm("runs.view_run")
    with django_assert_max_num_queries(11):  # five about each degree, one for the runs
        assert len(Run.objects.visible_to(user)) == 5
    assert study.items.count() == 5


def test_about_one_run_no_more_is_looked_up_than_its_kin() -> None:
    study = make_study(runs=5, annotators=[engineer := make_user("engineer")])
    waiting = [item.run for item in study.items.all()]
    again = make_run(pictures=False, family=waiting[0].pk)
    blind, _anonymous = StudyPolicy().hidden(engineer, [again.pk])
    assert blind is not None
    assert set(Run.objects.filter(blind)) == {again, waiting[0]}
    assert set(Run.objects.visible_to(engineer, [again.pk])) == {again}
