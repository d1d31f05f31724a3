"""What happens when people act at the same moment, on the real database with real threads."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import pytest
from django.db import connections
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, ReferenceVerdict, StudyItem
from judging.studies.disputes import services as disputes
from judging.studies.disputes.services import DecidedMeanwhileError, add_message, decide
from judging.studies.labels.services import LabelRefusedError, LeaseLostError, submit_label
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    label_next,
    make_dispute,
    make_study,
    make_submission,
    next_assignment,
)
from tests.runs.factories import make_run

Answer = TypeVar("Answer")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def at_once(*calls: Callable[[], Answer]) -> list[Answer | Exception]:
    """The answers of calls made at the same moment, each on a connection of its own."""
    answers: list[Answer | Exception] = [RuntimeError("never ran")] * len(calls)
    barrier = threading.Barrier(len(calls))

    def work(place: int, call: Callable[[], Answer]) -> None:
        barrier.wait()
        try:
            answers[place] = call()
        except Exception as error:  # noqa: BLE001 - the test looks at whatever it was
            answers[place] = error
        finally:
            connections["default"].close()

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def good(answers: Sequence[Answer | Exception]) -> list[Answer]:
    return [answer for answer in answers if not isinstance(answer, Exception)]


@pytest.mark.fault(11, "eight people ask for a run at the same moment")
def test_no_place_is_given_twice() -> None:
    study = make_study(runs=3, annotators=8)
    people = annotators_of(study)
    given = good(at_once(*[lambda u=u: next_assignment(study=study, user=u) for u in people]))
    assert len(given) == 8
    places = [assignment.item_id for assignment in given if assignment]
    assert len(places) == 6
    assert all(places.count(item_id) == 2 for item_id in places)


@pytest.mark.fault(11, "one person asks for a run in four tabs at once")
def test_one_person_in_two_tabs_holds_one_place() -> None:
    study = make_study(runs=3, annotators=1)
    user = annotators_of(study)[0]
    given = good(at_once(*[lambda: next_assignment(study=study, user=user)] * 4))
    assert len({assignment.pk for assignment in given if assignment}) == 1


@pytest.mark.fault(11, "one form is sent four times at once")
def test_a_double_click_is_one_label() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    form = make_submission("failure", key="one form")
    answers = at_once(
        *[lambda: submit_label(assignment=assignment, user=user, submission=form)] * 4
    )
    assert len(good(answers)) == 4
    assert Label.objects.count() == 1
    assert StudyItem.objects.get().n_labels == 1


@pytest.mark.fault(11, "two forms of one person at the same moment")
def test_two_forms_of_one_person_at_once_are_one_label_and_one_refusal() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    forms = [make_submission("success"), make_submission("failure")]
    answers = at_once(
        *[lambda f=f: submit_label(assignment=assignment, user=user, submission=f) for f in forms]
    )
    assert len(good(answers)) == 1
    assert any(isinstance(answer, LabelRefusedError) for answer in answers)
    assert Label.objects.count() == 1


@pytest.mark.parametrize("said", ["success", "failure"])
@pytest.mark.fault(11, "both labels of a pair at the same moment")
def test_both_labels_at_once_close_the_pair_once(said: str) -> None:
    study = make_study(runs=1)
    given = [(user, next_assignment(study=study, user=user)) for user in annotators_of(study)]
    forms = [make_submission("success"), make_submission(said)]
    calls = [
        lambda u=user, a=assignment, f=form: submit_label(assignment=a, user=u, submission=f)
        for (user, assignment), form in zip(given, forms, strict=True)
    ]
    assert len(good(at_once(*calls))) == 2
    assert StudyItem.objects.get().n_labels == 2
    assert ReferenceVerdict.objects.count() == (1 if said == "success" else 0)
    assert Dispute.objects.count() == (0 if said == "success" else 1)


@pytest.mark.fault(11, "two studies settle one run at the same moment")
def test_two_studies_settling_one_run_at_once_leave_one_authoritative_verdict() -> None:
    run = make_run(pictures=False)
    calls = []
    for _ in range(2):
        study = make_study(runs=[run])
        first, second = annotators_of(study)
        mine = next_assignment(study=study, user=first)
        assert mine is not None
        submit_label(assignment=mine, user=first, submission=make_submission())
        last = next_assignment(study=study, user=second)
        calls.append(
            lambda u=second, a=last: submit_label(
                assignment=a, user=u, submission=make_submission()
            )
        )
    assert len(good(at_once(*calls))) == 2
    assert ReferenceVerdict.objects.count() == 2
    assert ReferenceVerdict.objects.filter(is_authoritative=True).count() == 1


@pytest.mark.fault(11, "a late label comes while its place is given to somebody else")
def test_a_place_that_ran_out_goes_to_one_of_two() -> None:
    study = make_study(runs=1, annotators=3)
    done, late, other = annotators_of(study)
    label_next(study, done)
    place = next_assignment(study=study, user=late)
    assert place is not None
    Assignment.objects.filter(pk=place.pk).update(leased_until=timezone.now())
    place.refresh_from_db()
    form = make_submission("success")
    label, given = at_once(
        lambda: submit_label(assignment=place, user=late, submission=form),
        lambda: next_assignment(study=study, user=other),
    )
    assert isinstance(label, LeaseLostError) == isinstance(given, Assignment)
    assert StudyItem.objects.get().n_labels == (1 if given else 2)


@pytest.mark.fault(12, "two adjudicators decide at the same moment")
def test_of_two_adjudicators_the_first_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, both = disputes._require_open, threading.Barrier(2)

    def look(item: StudyItem) -> None:
        """Wait for the other, who must not come here before the first has decided."""
        looked(item)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)

    monkeypatch.setattr(disputes, "_require_open", look)
    dispute = make_dispute(make_study(adjudicators=2))
    calls = [
        lambda u=user, v=verdict: decide(
            dispute=dispute, adjudicator=u, verdict=v, rationale=f"I say {v}"
        )
        for user, verdict in zip(
            adjudicators_of(dispute.item.study), ("success", "failure"), strict=True
        )
    ]
    answers = at_once(*calls)
    winner = good(answers)
    lost = [answer for answer in answers if isinstance(answer, DecidedMeanwhileError)]
    assert len(winner) == len(lost) == 1
    assert lost[0].verdict == winner[0] == ReferenceVerdict.objects.get()


@pytest.mark.fault(12, "both annotators agree at the same moment")
def test_annotators_agreeing_at_the_same_moment_settle_once() -> None:
    dispute = make_dispute()
    calls = [
        lambda u=user: add_message(dispute=dispute, author=u, text="yes", proposal="success")
        for user in annotators_of(dispute.item.study)
    ]
    assert len(good(at_once(*calls))) == 2
    assert ReferenceVerdict.objects.get().origin == "consensus"
