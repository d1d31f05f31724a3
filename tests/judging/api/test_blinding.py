"""No answer of the API tells a blind person what is hidden from them.

The two proofs of `tests/judging/studies/test_blinding_urls.py`, with tokens: no hidden word in any
answer, and two sites that differ only in what is hidden answer byte for byte alike, having asked
the database the same.
"""

import logging
from collections.abc import Iterator
from functools import partial

import pytest
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from judging.api.urls import urlpatterns
from runs.models import Run, User
from runs.models.triggers import remove_guards
from tests.judging.studies.blind_world import World, make_world, turn_round
from tests.judging.studies.crawling import Answer, answer_to, changed
from tests.judging.studies.test_blinding_urls import HIDDEN, words_in
from tests.judging.studies.url_cases import CASES
from tests.runs.api.asking import Caller

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what answers show"),
    pytest.mark.slow,
]

QUERIES = {
    "list_runs": [
        "outcome=incomplete",
        "outcome=failure",
        "anomaly=false_completion",
        "anomaly=none",
        "agent=zq-agent",
        "model=zq-model",
        "experiment=zq-experiment",
        "status=finished",
        "limit=1",
        "q=the+run",
    ],
    "list_tasks": ["kind=string_match", "infeasible=no", "q=the+run"],
    "list_evaluations": ["verdict=failed"],
    "read_experiment_figures": ["verdict=reward", "verdict=reference"],
}
WITHOUT_READING = ("launch_", "cancel_", "openapi", "api-root", "nowhere")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> World:
    """The site, at one moment for ever."""
    caplog.set_level(logging.CRITICAL, logger="django.request")
    made = make_world()
    ContentType.objects.clear_cache()
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    return made


def _paths(world: World) -> Iterator[str]:
    for name in (str(pattern.name) for pattern in urlpatterns):
        if name.startswith(WITHOUT_READING):
            continue
        for visit in CASES[f"api:{name}"](world):
            path = visit.path.removeprefix("/api/v1")
            yield path
            for query in QUERIES.get(name, []):
                yield f"{path}?{query}"


def _answers(world: World, caller: Caller) -> dict[str, Answer]:
    found = {}
    for path in dict.fromkeys(_paths(world)):
        response, found[path] = answer_to(partial(caller.get, path))
        assert response.status_code not in (429, 500), path
    return found


def _caller(world: World, viewer: str) -> Caller:
    user: User = getattr(world, viewer)
    return Caller(user)


@pytest.mark.parametrize("viewers", ["annotator adjudicator stranger", "engineer"])
def test_no_answer_holds_a_hidden_word_and_twin_sites_answer_alike(
    world: World, viewers: str
) -> None:
    callers = {viewer: _caller(world, viewer) for viewer in viewers.split()}
    before = {viewer: _answers(world, caller) for viewer, caller in callers.items()}
    for viewer, answers in before.items():
        assert sum(answer.content.startswith(b"200") for answer in answers.values()) >= 3
        assert words_in(answers, viewer) == []
    remove_guards()
    turn_round(world, turns_disputed=viewers != "engineer")
    assert [found for answers in before.values() if (found := changed(answers))] == []


def test_the_words_are_there_for_those_who_may_see_them(world: World) -> None:
    """Without this, an API that tells nobody anything would pass for blind."""
    caller = Caller(User.objects.create(username="open", is_superuser=True))
    answers = _answers(world, caller).values()
    whole = b"".join(answer.content for answer in answers).decode(errors="replace")
    words = {what: word for what, word in HIDDEN["engineer"].items() if what.startswith("zq ")}
    told = {what for what, word in words.items() if word in whole}
    assert told >= {
        f"zq {what}"
        for what in ("agent", "model", "experiment", "cost", "reward", "step_reward", "error")
    } | {"zq reference", "zq evaluation", "zq specification", "zq anomaly", "zq tokens"}


def test_who_judges_a_run_is_told_which_and_no_figure_of_its_study(world: World) -> None:
    caller = _caller(world, "engineer")
    run = caller.get(f"/runs/{world.run.pk}").json()
    assert run["is_blind"]
    assert run["status"] == "finished"
    answer = caller.get(f"/studies/{world.study.pk}/matrices")
    assert answer.status_code == 403
    assert answer.json()["type"].endswith("blind")


def test_that_a_run_broke_is_not_found_by_its_status(world: World) -> None:
    remove_guards()
    Run.objects.filter(pk=world.run.pk).update(status="failed")
    run_id = str(world.run.pk)
    seeing = User.objects.create(username="open", is_superuser=True)
    for user, told in ((world.engineer, "finished"), (seeing, "failed")):
        for status in ("failed", "finished", "queued"):
            listed = Caller(user).get(f"/runs?status={status}&limit=200").json()["items"]
            shown = {item["id"]: item["status"] for item in listed}
            assert shown.get(run_id) == (told if status == told else None)
