"""The run page: its timeline, the parts on demand, and what is hidden from whom."""

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from runs.models import Attachment, Run, User
from runs.viewer import run_page
from runs.viewer.timeline.timeline import ALL_AT_ONCE, PART, timeline_context
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import (
    client_of,
    make_agent,
    make_experiment,
    make_picture,
    make_run,
    make_task,
    make_text,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

SECRETS = {
    "agent": "secret-agent",
    "model": "secret-model",
    "experiment": "secret-experiment",
    "reward": "0.4321",
    "error": "secret-crash",
    "next model": "secret-successor",
    "tokens": "987654",
    "cost": "55.5555",
    "call": "secret-call-model",
    "request": "http://secret-request/",
}


def data_of(page: str) -> dict[str, Any]:
    """The timeline's data on the page."""
    found = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def telling_run() -> Run:
    """A run all of whose secrets stand where they could slip onto a page."""
    run = make_run(
        agent=make_agent(SECRETS["agent"], SECRETS["model"]),
        experiment=make_experiment(SECRETS["experiment"]),
        outcome="failure",
        reward=float(SECRETS["reward"]),
        end_reason="max_steps",
        error_message=SECRETS["error"],
        cost=SECRETS["cost"],
        steps=[
            {
                "input_tokens": int(SECRETS["tokens"]),
                "cost": SECRETS["cost"],
                "reward": float(SECRETS["reward"]),
                "record": {
                    "reward": float(SECRETS["reward"]),
                    "terminated": True,
                    "llm_calls": [{"model": SECRETS["call"], "input_tokens": 987654}],
                    "extra": {"by": SECRETS["agent"]},
                    "events": [
                        {"type": "network", "method": "GET", "url": SECRETS["request"]},
                        {"type": "chat", "text": "Hello"},
                    ],
                    "actions": [{"raw": {"call": "Page.goto", "to": None}, "dialect": "x"}],
                },
            }
        ]
        * 2,
        events=[
            {
                "kind": "model_switch",
                "first_step": 0,
                "last_step": 1,
                "detail": {"to_model": SECRETS["next model"]},
            }
        ],
    )
    Attachment.objects.create(
        run=run, step_index=0, role="messages", name=SECRETS["call"], blob=make_text("prompt")
    )
    return run


def test_shows_every_step(engineer):
    run = make_run(steps=5)
    response = client_of(engineer).get(f"/runs/{run.pk}/")
    steps = data_of(response.content.decode())["steps"]
    assert [step["i"] for step in steps] == [0, 1, 2, 3, 4]
    assert steps[2]["action"] == "click('a2')"
    assert steps[2]["box"] == [40, 60, 80, 24]
    assert steps[2]["image"] == run.steps.get(index=2).screenshot_id


def test_what_came_after_a_step_is_what_the_next_one_saw(engineer):
    picture = make_picture("at the end")
    run = make_run(steps=[{}, {}, {"branch": 1}, {"branch": 1, "after_screenshot": picture}])
    steps = timeline_context(run, engineer)["timeline"]["data"]["steps"]
    assert steps[0]["after"] == steps[1]["image"]
    assert steps[1]["after"] is None  # the run went back before step 2
    assert steps[3]["after"] == picture.pk


def test_boxes_are_drawn_in_pixels_of_the_picture(engineer):
    # A viewport of another size (a zoomed page, a device pixel ratio) changes nothing.
    run = make_run(steps=1, record={"environment": {"viewport_width": 160}})
    assert timeline_context(run, engineer)["timeline"]["data"]["steps"][0]["size"] == (320, 200)


@pytest.mark.parametrize("box", [[1, 2], "all", [1, 2, "3", 4], {"x": 1}])
def test_a_box_that_is_none_is_not_drawn(engineer, box):
    run = make_run(steps=[{"box": box, "point": box}])
    assert "box" not in timeline_context(run, engineer)["timeline"]["data"]["steps"][0]


@pytest.mark.slow
def test_query_count_does_not_grow_with_steps(engineer, django_assert_max_num_queries):
    def count(steps: int) -> int:
        run = make_run(
            steps=steps, events=[{"kind": "loop", "first_step": 0, "last_step": 1}] * steps
        )
        client = client_of(engineer)
        client.get(f"/runs/{run.pk}/")
        with django_assert_max_num_queries(30) as counted:
            client.get(f"/runs/{run.pk}/")
        return len(counted)

    assert count(2) == count(40)


@pytest.mark.slow
def test_a_long_run_brings_its_texts_in_parts(engineer):
    run = make_run(steps=ALL_AT_ONCE + 1, pictures=False)
    client = client_of(engineer)
    data = data_of(client.get(f"/runs/{run.pk}/").content.decode())
    assert len(data["steps"]) == ALL_AT_ONCE + 1
    assert len(data["texts"]) == PART
    part = client.get(f"/runs/{run.pk}/steps/?from={ALL_AT_ONCE}").json()["texts"]
    assert list(part) == [str(ALL_AT_ONCE)]
    assert part[str(ALL_AT_ONCE)]["thought"] == f"I think about step {ALL_AT_ONCE}."


def test_texts_from_nowhere_are_not_found(engineer):
    run = make_run(steps=1, pictures=False)
    assert client_of(engineer).get(f"/runs/{run.pk}/steps/?from=x").status_code == 404


def test_hostile_texts_are_data_and_nothing_else(engineer):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    run = make_run(
        steps=[{"thought": evil, "action": evil, "url": "javascript:alert(1)", "error": evil}],
        task=make_task(goal=evil),
        final_answer=evil,
    )
    client = client_of(engineer)
    for url in (f"/runs/{run.pk}/", f"/runs/{run.pk}/steps/0/"):
        page = client.get(url).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert 'href="javascript' not in page
    timeline = re.search(
        r"<div [^>]*data-timeline[^>]*>", client.get(f"/runs/{run.pk}/").content.decode()
    )
    assert timeline
    assert "hx-disable" in timeline[0]


def test_a_run_without_steps_has_a_page(engineer):
    run = make_run(steps=0, outcome="error", error_message="The site did not answer")
    page = client_of(engineer).get(f"/runs/{run.pk}/").content.decode()
    assert "The site did not answer" in data_of(page)["final"]["words"]


def test_details_of_a_step_say_what_the_record_holds(engineer):
    run = telling_run()
    page = client_of(engineer).get(f"/runs/{run.pk}/steps/0/").content.decode()
    assert SECRETS["call"] in page
    assert SECRETS["reward"] in page
    assert f"/runs/{run.pk}/blobs/" in page
    words = " ".join(page.partition("<details>")[0].split())
    assert f"GET —</span> {SECRETS['request']}" in words
    assert "{&quot;call&quot;: &quot;Page.goto&quot;, &quot;to&quot;: null}" in words


def test_an_archived_run_says_so_and_leads_to_where_it_is_restored(engineer):
    run = make_run(experiment=make_experiment("old"), archived_at=timezone.now(), pictures=False)
    page = client_of(engineer).get(f"/runs/{run.pk}/").content.decode()
    assert "Archived: it is in no list" in page
    assert f"/storage/experiments/{run.experiment_id}/" in page


def test_files_are_listed(engineer):
    run = make_run(steps=1)
    log = make_text("ran well")
    Attachment.objects.create(run=run, role="log", name="experiment.log", blob=log)
    page = client_of(engineer).get(f"/runs/{run.pk}/files/").content.decode()
    assert "experiment.log" in page
    assert f"/runs/{run.pk}/blobs/{log.pk}/" in page


def test_what_is_left_of_many_files_is_counted(engineer, monkeypatch):
    monkeypatch.setattr(run_page, "MOST_FILES", 2)
    run, log = make_run(steps=0), make_text("a log")
    for number in range(5):
        Attachment.objects.create(run=run, role="log", name=f"{number}.log", blob=log)
    page = client_of(engineer).get(f"/runs/{run.pk}/files/").content.decode()
    assert page.count(".log") == 2
    assert "and 3 more" in page


class TestBlinding:
    @pytest.fixture
    def run(self) -> Run:
        return telling_run()

    def pages(self, user: User, run: Run) -> str:
        client = client_of(user)
        urls = [f"/runs/{run.pk}/{path}" for path in ("", "steps/", "steps/0/")]
        responses = [client.get(url) for url in urls]
        assert [response.status_code for response in responses] == [200, 200, 200]
        return " ".join(response.content.decode() for response in responses)

    def test_an_engineer_sees_it_all(self, engineer, run):
        pages = self.pages(engineer, run)
        for what, secret in SECRETS.items():
            assert secret in pages, what
        assert "step limit" in pages

    def test_who_judges_it_sees_none_of_it(self, run):
        judge = make_user("engineer")
        make_study(runs=[run], annotators=[judge, make_user("annotator")])
        pages = self.pages(judge, run)
        for what, secret in SECRETS.items():
            assert secret not in pages, what
        for word in ("step limit", "verdict failure", "max_steps", '"terminated"'):
            assert word not in pages
        assert client_of(judge).get(f"/runs/{run.pk}/files/").status_code == 404

    def test_in_an_open_study_names_show_and_the_outcome_does_not(self, run):
        judge = make_user("engineer")
        make_study(runs=[run], annotators=[judge, make_user("annotator")], hides_identity=False)
        pages = self.pages(judge, run)
        assert SECRETS["agent"] in pages
        assert SECRETS["reward"] not in pages
        assert "step limit" not in pages
        assert SECRETS["error"] not in pages

    def test_an_annotator_opens_only_what_was_handed_out(self, run):
        study = make_study(runs=[run])
        user = annotators_of(study)[0]
        assert client_of(user).get(f"/runs/{run.pk}/").status_code == 404
