"""Examples beside the guidelines: settled, of other tasks, labelled by the person, and no more."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from judging.models import Assignment, Study, StudyItem, Unblinding
from judging.studies.labels.assignment import count_repeats_due
from runs.models import Run, User
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    make_label,
    make_study,
    next_assignment,
)
from tests.runs.factories import client_of, make_run, make_task, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what a page shows")]


def run_of(name: str) -> Run:
    return make_run(task=make_task(name), pictures=False, goal=f"goal of {name}")


@pytest.fixture
def study() -> Study:
    """Its first run is to be labelled by the first annotator; the others are settled."""
    runs = [run_of("now"), run_of("agreed"), run_of("differed"), run_of("later")]
    study = make_study(runs=runs, adjudicators=1)
    first, second = annotators_of(study)
    for item in study.items.filter(run__in=runs[1:2]):
        make_label(item, first, "success")
        make_label(item, second, "success")
    Assignment.objects.create(
        item=study.items.get(run=runs[0]),
        user=first,
        leased_until=timezone.now() + timedelta(hours=1),
        opened_at=timezone.now(),
    )
    return study


def item_of(study: Study, name: str) -> StudyItem:
    return study.items.get(run__task__external_id=name)


def beside(study: Study, user: User, name: str = "now") -> str:
    address = reverse("judging:label_examples", args=[study.pk, item_of(study, name).run_id])
    answer = client_of(user).get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def settle(study: Study, name: str) -> None:
    for user in annotators_of(study):
        make_label(item_of(study, name), user, "failure")


@pytest.mark.slow
def test_a_settled_run_of_another_task_is_shown_and_that_it_was_seen_recorded(study: Study) -> None:
    user = annotators_of(study)[0]
    page = beside(study, user)
    assert "goal of agreed" in page
    assert "success" in page
    seen = Unblinding.objects.get(user=user)
    assert (seen.item, seen.reason) == (item_of(study, "agreed"), "examples beside the guidelines")
    beside(study, user)
    assert Unblinding.objects.count() == 1


@pytest.mark.slow
def test_of_each_task_the_newest_is_shown_and_three_at_most(study: Study) -> None:
    user = annotators_of(study)[0]
    again = make_run(task=item_of(study, "agreed").run.task, pictures=False, goal="newer goal")
    runs = [again, *(run_of(f"more {n}") for n in range(3))]
    for place, run in enumerate(runs):
        item = study.items.create(run=run, position=10 + place)
        for each in annotators_of(study):
            make_label(item, each)
    page = beside(study, user)
    assert page.count("<li>") == 3
    assert "more 0" in page
    assert "goal of agreed" not in page
    assert Unblinding.objects.count() == 3


@pytest.mark.slow
def test_a_success_and_a_failure_are_shown_where_there_are_both(study: Study) -> None:
    user = annotators_of(study)[0]
    for n in range(3):
        item = study.items.create(run=run_of(f"more {n}"), position=10 + n)
        for each in annotators_of(study):
            make_label(item, each, "failure")
    page = beside(study, user)
    assert page.count("<li>") == 3
    # The newest failures and, older, the only success.
    shown = ["goal of more 2", "goal of more 1", "goal of agreed"]
    assert sorted(shown, key=page.index) == shown


@pytest.mark.slow
def test_what_is_open_or_disputed_is_not_shown(study: Study) -> None:
    first, second = annotators_of(study)
    make_label(item_of(study, "later"), first)
    make_label(item_of(study, "differed"), first, "success")
    make_label(item_of(study, "differed"), second, "failure")
    page = beside(study, first)
    assert "later" not in page
    assert "differed" not in page


@pytest.mark.slow
def test_no_run_of_the_same_task_is_shown(study: Study) -> None:
    user = annotators_of(study)[0]
    again = make_run(task=item_of(study, "agreed").run.task, pictures=False, goal="goal of agreed")
    item = study.items.create(run=again, position=9)
    Assignment.objects.create(
        item=item, user=user, leased_until=timezone.now(), opened_at=timezone.now()
    )
    address = reverse("judging:label_examples", args=[study.pk, again.pk])
    assert "goal of" not in client_of(user).get(address).content.decode()
    assert not Unblinding.objects.exists()


@pytest.mark.slow
def test_no_run_that_the_person_has_not_labelled_is_shown(study: Study) -> None:
    first, second = annotators_of(study)
    third = make_user("annotator")
    study.members.create(user=third, part="annotator")
    for user in (second, third):
        make_label(item_of(study, "later"), user, "failure")
    assert item_of(study, "later").status == StudyItem.Status.SETTLED
    assert "goal of later" not in beside(study, first)


@pytest.mark.slow
def test_no_run_that_waits_for_the_person_elsewhere_is_shown(study: Study) -> None:
    user = annotators_of(study)[0]
    make_study(
        runs=[item_of(study, "agreed").run],
        annotators=[user, make_user("annotator")],
        name="the same run again",
    )
    assert "goal of" not in beside(study, user)
    assert not Unblinding.objects.exists()


def test_no_rerun_that_waits_for_the_person_gives_its_original_away(study: Study) -> None:
    user = annotators_of(study)[0]
    rerun = make_run(
        task=make_task("renamed"), pictures=False, rerun_of=item_of(study, "agreed").run
    )
    make_study(runs=[rerun], annotators=[user, make_user("annotator")], name="reruns")
    assert "goal of" not in beside(study, user)


def test_a_hidden_repeat_in_hand_is_no_example_and_an_example_no_repeat(study: Study) -> None:
    user = annotators_of(study)[0]
    study.repeat_share = 1.0
    study.save()
    settle(study, "later")
    repeat = Assignment.objects.create(
        item=item_of(study, "agreed"),
        user=user,
        is_repeat=True,
        leased_until=timezone.now() + timedelta(hours=1),
        opened_at=timezone.now(),
    )
    page = beside(study, user)
    assert "goal of agreed" not in page
    assert "goal of later" in page
    repeat.delete()
    beside(study, user)
    assert count_repeats_due(study=study, user=user, left=0) == 0


@pytest.mark.parametrize("who", ["second", "adjudicator", "engineer", "stranger"])
def test_the_page_is_the_annotators_of_the_run_alone(study: Study, who: str) -> None:
    user = {
        "second": annotators_of(study)[1],
        "adjudicator": adjudicators_of(study)[0],
        "engineer": make_user("engineer"),
        "stranger": make_user("annotator"),
    }[who]
    address = reverse("judging:label_examples", args=[study.pk, item_of(study, "now").run_id])
    assert client_of(user).get(address).status_code == 404
    assert next_assignment(study=study, user=annotators_of(study)[0])
