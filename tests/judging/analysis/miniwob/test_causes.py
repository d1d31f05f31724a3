"""Why failures failed: drawn by a seed, tagged, taken back, counted, hidden from the blind."""

import pytest
from django.urls import reverse

from judging.analysis.experiments.reports import EXPERIMENT
from judging.analysis.miniwob import services
from judging.analysis.miniwob.causes import causes_of
from judging.analysis.miniwob.services import (
    NoFailuresError,
    draw_sample,
    proposals_wait,
    propose_waiting,
    proposed_for,
    tag_cause,
    undo_cause,
)
from judging.models import FailureCause, FailureCauseTag, FailureSample
from judging.studies.access import Role
from runs.models import AgentConfiguration, Experiment, Run
from tests.judging.analysis.miniwob import made
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_user
from webagent.trajectory.records import Json

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def drawn() -> tuple[Experiment, AgentConfiguration, FailureSample]:
    of, agent = made.suite()
    return of, agent, draw_sample(experiment=of, agent=agent, seed=4)


def runs_of(sample: FailureSample) -> list[Run]:
    return [each.run for each in sample.failures.select_related("run__task").order_by("position")]


def test_the_same_seed_draws_the_same_failures(drawn) -> None:
    of, agent, sample = drawn
    assert (sample.among, sample.wanted) == (5, 100)
    # click-test 0; click-tab 0 and -1; click-tab-2 0 and the one that came to no decision.
    names = sorted(run.task.external_id for run in runs_of(sample))
    assert names == ["miniwob.click-tab"] * 2 + ["miniwob.click-tab-2"] * 2 + ["miniwob.click-test"]
    two = draw_sample(experiment=of, agent=agent, seed=9, size=2)
    again = draw_sample(experiment=of, agent=agent, seed=9, size=2)
    assert [run.pk for run in runs_of(two)] == [run.pk for run in runs_of(again)]
    with pytest.raises(NoFailuresError):
        draw_sample(experiment=of, agent=make_agent("another"))


def test_what_is_proposed_comes_after_the_draw(drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    of, _agent, sample = drawn
    first, second, *rest = (run.pk for run in runs_of(sample))

    def propose(run: Run) -> Json:
        if run.pk == first:
            raise RecursionError
        return {"cause": "vision", "findings": []} if run.pk == second else {}

    monkeypatch.setattr(services, "proposal_for", propose)
    assert proposals_wait()
    assert proposed_for(second) == ""
    propose_waiting(limit_s=0)
    assert proposals_wait()
    propose_waiting(limit_s=60)
    assert not proposals_wait()
    assert [proposed_for(pk) for pk in (first, second, *rest)] == ["", "vision", *[""] * 3]
    [found] = causes_of(made.facts(of).scope)
    assert found.proposed == {"vision": 1}


def test_what_people_say_is_kept_counted_and_taken_back(drawn) -> None:
    of, _agent, sample = drawn
    user, (first, second, *_) = make_user(), runs_of(sample)
    sample.failures.filter(run=first).update(proposal={"cause": "vision", "findings": []})
    assert tag_cause(user=user, run_id=first.pk, cause=FailureCause.VISION)
    assert not tag_cause(user=user, run_id=first.pk, cause=FailureCause.VISION)
    assert tag_cause(user=user, run_id=second.pk, cause=FailureCause.REASONING, note="Odd.")
    assert tag_cause(user=user, run_id=second.pk, cause=FailureCause.OTHER)
    [found] = causes_of(made.facts(of).scope)
    assert (found.drawn, found.told, found.untold) == (5, 2, 3)
    assert found.tagged == {"vision": 1, "other": 1}
    assert (found.confirmed.count, found.confirmed.total) == (1, 1)
    assert undo_cause(user=user, run_id=second.pk)
    [found] = causes_of(made.facts(of).scope)
    assert found.tagged == {"vision": 1, "reasoning": 1}
    assert FailureCauseTag.objects.filter(run=second).count() == 3  # nothing is edited
    report = EXPERIMENT.make("miniwob_causes", made.facts(of))
    own = [row for row in report.values if row[0] == "own runs"]
    assert [row[2:6] for row in own] == [
        ["vision", 1, 2, 0.5],
        ["reasoning", 1, 2, 0.5],
        ["other", 0, 2, 0.0],
    ]
    assert [row[3] for row in report.rows if row[1] == "gpt-4"] == [42, 49, 9]


def test_tagging_goes_on_from_failure_to_failure(drawn) -> None:
    of, _agent, sample = drawn
    client, runs = client_of(make_user()), runs_of(sample)
    page = client.get(reverse("judging:failure_causes", args=[of.pk])).content.decode()
    assert page.count("data-run=") == 5
    query = f"?sample={sample.pk}"
    address = reverse("judging:failure_cause", args=[runs[0].pk]) + query
    beside = reverse("judging:run_judgements", args=[runs[0].pk]) + query
    assert 'data-key="1"' in client.get(beside, headers={"HX-Request": "true"}).content.decode()
    assert client.post(address, {"action": "save"}).status_code == 422
    answer = client.post(address, {"cause": "reasoning", "action": "next"})
    assert answer["Location"] == reverse("judging:failure_cause", args=[runs[1].pk]) + query
    client.post(address, {"action": "undo"})
    assert not FailureCauseTag.objects.get(run=runs[0], is_current=True).cause
    stranger = client.get(address.replace(f"={sample.pk}", "=9999"))
    assert stranger.status_code == 404


def test_failures_are_drawn_on_the_page(drawn) -> None:
    of, agent, _sample = drawn
    client = client_of(make_user())
    address = reverse("judging:failure_causes", args=[of.pk])
    assert client.post(address, {"agent": agent.pk, "size": 0}).status_code == 422
    answer = client.post(address, {"agent": agent.pk, "size": 3, "seed": 7})
    assert answer.status_code == 302
    assert FailureSample.objects.filter(seed=7, wanted=3, experiment=of).count() == 1


def test_who_is_blind_on_a_run_learns_nothing_of_it(drawn) -> None:
    of, _agent, sample = drawn
    annotator, engineer = make_user(Role.ANNOTATOR), make_user()
    blind = runs_of(sample)[0]
    make_study(runs=[blind], annotators=[annotator, engineer])
    address = reverse("judging:failure_cause", args=[blind.pk]) + f"?sample={sample.pk}"
    for user in (annotator, engineer):
        client = client_of(user)
        assert client.get(address).status_code == 404
        assert client.post(address, {"cause": "vision", "action": "save"}).status_code == 404
        listed = client.get(reverse("judging:failure_causes", args=[of.pk])).content.decode()
        assert str(blind.pk) not in listed
        beside = reverse("judging:run_judgements", args=[blind.pk]) + f"?sample={sample.pk}"
        assert "failure-cause" not in client.get(beside).content.decode()
    drawing = client_of(engineer).post(
        reverse("judging:failure_causes", args=[of.pk]), {"agent": 1, "size": 5}
    )
    assert drawing.status_code == 403
    assert not FailureCauseTag.objects.exists()
