"""Prompts and replies of a step: laid out as text, only the run's own files, hidden from judges."""

import json
from typing import Any

import pytest

from runs.models import Attachment, Blob, Run, User
from runs.viewer.timeline.timeline import timeline_context
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_picture, make_run, make_text, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

EVIL = "<img src=x onerror=alert(1)></pre><script>alert(1)</script>"


def kept(content: object) -> Blob:
    text = content if isinstance(content, str) else json.dumps(content)
    return make_text(text, "application/json")


def recorded(blob: Blob, role: str) -> dict[str, Any]:
    """The blob as a step's record names it."""
    return {"sha256": blob.pk, "media_type": blob.media_type, "bytes": blob.size, "role": role}


def prompt(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    said = [
        {"role": role, "parts": [{"text": part} if isinstance(part, str) else part]}
        for role, part in messages
    ]
    return {"model": "m", "system": "Be an agent.", "messages": said, **more}


def run_with(*calls: tuple[object, object, str | None]) -> Run:
    """A run whose one step has these calls: request, response, problem."""
    blobs = [(kept(request), kept(response)) for request, response, _ in calls]
    record = {
        "llm_calls": [
            {
                "model": f"model-{number}",
                "input_tokens": 1234,
                "cached_tokens": 56,
                "output_tokens": None if "failure" in str(answered_with) else 7,
                "cost": "0.0123",
                "seconds": 1.5,
                "request": recorded(asked, "request"),
                "response": recorded(answered, "response"),
                "problem": problem,
            }
            for number, ((asked, answered), (_, answered_with, problem)) in enumerate(
                zip(blobs, calls, strict=True)
            )
        ]
    }
    run = make_run(steps=[{"record": record}])
    for asked, answered in blobs:
        for role, blob in (("request", asked), ("response", answered)):
            Attachment.objects.create(run=run, step_index=0, role=role, name=role, blob=blob)
    return run


def page(run: Run, user: User) -> str:
    response = client_of(user).get(f"/runs/{run.pk}/steps/0/calls/")
    assert response.status_code == 200
    return response.content.decode()


def test_prompt_and_reply_are_shown_with_what_they_cost(engineer):
    run = run_with((prompt(("user", "What now?")), {"text": "click('a')"}, None))
    shown = page(run, engineer)
    for words in ("model-0", "1,234", "56 of them cached", "$0.0123", "1.5 s"):
        assert words in shown
    for words in ("Be an agent.", "What now?", "click(&#x27;a&#x27;)"):
        assert words in shown
    assert "hx-disable" in shown


def test_a_reply_sent_back_is_told_with_its_problem_and_no_prompt_twice(engineer):
    first = prompt(("user", "What now?"))
    second = prompt(("user", "What now?"), ("assistant", "Er."), ("user", "Give one action."))
    run = run_with(
        (first, {"text": "Er."}, "it has no <action>"), (second, {"text": "click('a')"}, None)
    )
    shown = page(run, engineer)
    assert shown.count("What now?") == 2  # the text, and its beginning on the closed line
    assert "2 of 2" in shown
    assert "The first 2 messages are those of the call before." in shown
    assert "it has no &lt;action&gt;" in shown
    row = timeline_context(run, engineer)["timeline"]["data"]["steps"][0]
    assert row["problem"] == "1 unusable reply: it has no <action>"


def test_a_call_that_failed_says_so(engineer):
    failure = {"failure": "rate_limited", "message": "slow down", "text": ""}
    run = run_with((prompt(("user", "?")), failure | {"text": None}, "slow down"))
    shown = page(run, engineer)
    assert "rate_limited" in shown
    assert "No reply:" in shown
    row = timeline_context(run, engineer)["timeline"]["data"]["steps"][0]
    assert (row["problem"], row["unanswered"]) == ("no reply: slow down", True)


def test_hostile_prompts_stay_texts(engineer):
    run = run_with((prompt((EVIL, EVIL), system=EVIL), {"text": EVIL}, EVIL))
    assert "<script>alert" not in page(run, engineer)
    assert "<img src=x" not in page(run, engineer)


@pytest.mark.parametrize(
    "request_",
    ["no JSON at all", [], {"messages": "said"}, {"messages": [1, {"content": None}]}, 7, [[[]]]],
)
def test_prompts_of_any_form_are_laid_out(engineer, request_):
    page(run_with((request_, ["odd"], None)), engineer)


def test_messages_of_other_tools_are_shown_with_their_pictures(engineer):
    picture = make_picture("seen")
    content = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": {"$blob": picture.pk}}},
    ]
    run = make_run(steps=[{"record": {"messages": [{"sha256": "x"}]}}])
    said = kept([{"role": "user", "content": content}])
    Attachment.objects.create(run=run, step_index=0, role="messages", blob=said)
    Attachment.objects.create(run=run, step_index=0, role="messages", blob=picture)
    shown = page(run, engineer)
    assert "Look:" in shown
    assert f"/runs/{run.pk}/blobs/{picture.pk}/" in shown
    assert timeline_context(run, engineer)["timeline"]["has_calls"]


def test_pictures_of_other_runs_are_not_reached(engineer):
    other = make_picture("of another run")
    make_run(steps=[{"screenshot": other}])
    shown = page(run_with((prompt(("user", {"image_sha256": other.pk})), {}, None)), engineer)
    assert "Not kept." in shown
    assert other.pk not in shown


def test_prompts_of_other_runs_are_not_reached(engineer):
    secret = kept(prompt(("user", "of another run")))
    record = {"llm_calls": [{"model": "m", "request": recorded(secret, "request")}]}
    shown = page(make_run(steps=[{"record": record}]), engineer)
    assert "of another run" not in shown
    assert "Not kept." in shown


def test_calls_that_are_none_end_no_page(engineer):
    record = {"llm_calls": ["x", {}, {"model": "m", "cost": "dear"}, {"model": "a-model"}]}
    shown = page(make_run(steps=[{"record": record}]), engineer)
    assert "a-model" in shown
    assert "Not kept." in shown


def test_a_step_without_calls_says_so(engineer):
    assert "Asks no model" in page(make_run(steps=1), engineer)


@pytest.mark.parametrize("hides_identity", [True, False])
def test_who_judges_the_run_sees_no_prompt(engineer, hides_identity):
    run = run_with((prompt(("user", "I am model-0")), {"text": "secret"}, "unusable"))
    make_study(
        runs=[run], annotators=[engineer, make_user("annotator")], hides_identity=hides_identity
    )
    assert client_of(engineer).get(f"/runs/{run.pk}/steps/0/calls/").status_code == 404
    run_page = client_of(engineer).get(f"/runs/{run.pk}/").content.decode()
    assert 'data-view="prompts"' not in run_page
    assert "unusable reply" not in run_page


def test_queries_do_not_grow_with_calls(engineer, django_assert_max_num_queries):
    def count(calls: int) -> int:
        run = run_with(*[(prompt(("user", str(n))), {"text": str(n)}, None) for n in range(calls)])
        client = client_of(engineer)
        with django_assert_max_num_queries(30) as counted:
            client.get(f"/runs/{run.pk}/steps/0/calls/")
        return len(counted)

    assert count(1) == count(5)
