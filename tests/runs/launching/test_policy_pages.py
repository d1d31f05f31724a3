"""Pages of retry policies: who may, what they say, how one is written."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs.launching.policies.services import save_policy
from runs.launching.policies.views import policy_form, versions_of
from runs.models import RetryPolicy, Run
from runs.models.policies import body_of
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_run, make_user
from webagent.recovery.retry_policy import AgentChoice, PolicyBody, RecoveryPolicy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
]
HTMX = {"HX-Request": "true"}
FULL: dict[str, Any] = {
    "infrastructure": {"faults": ["http_429", "http_5xx"], "attempts": 4, "backoff_s": 2},
    "recovery": {"on_loop": "stop", "steps_before": 3, "writes": "continue"},
    "other_agent": {"name": "oracle", "config": {}},
    "run": {"steps": 20, "dollars": "0.25"},
    "batch": {"runs": 100, "seconds": 3600},
    "reruns": [
        {"when": "failed_evaluator", "subject": "webarena-strict", "at_most": 2},
        {"when": "marked", "subject": "environment", "new_seed": True},
        {"when": "broke", "faults": ["http_429"], "agent": {"name": "looping", "config": {}}},
    ],
}


@pytest.fixture
def engineer() -> Client:
    return client_of(make_user("engineer"))


def make_policy(name: str = "Mine", **body: Any) -> RetryPolicy:
    return save_policy(name=name, body=PolicyBody.model_validate(body), is_new=False)


def filled(policy: RetryPolicy | None = None, **changes: Any) -> dict[str, Any]:
    """What a browser sends when the form of the policy is left as it came, but for the changes."""
    form = policy_form(make_user("engineer"), policy)
    sent: dict[str, Any] = {}
    for each in (form, form.rules.management_form, *form.rules.forms):
        for field in each:
            value = field.value()
            if value is not None and value is not False and value != "":
                sent[field.html_name] = value
    return {"name": "Mine", "save": 1, **sent, **changes}


def test_the_list_says_every_policy_in_words(engineer: Client) -> None:
    make_policy(run={"steps": 5})
    make_policy(run={"steps": 6})
    page = engineer.get(reverse("runs:policy_list")).content.decode()
    assert "On a loop: go back and try again" in page
    assert "<li>Steps: 6</li>" in page
    assert "<li>Steps: 5</li>" not in page
    assert "Limits per launch" not in page, "what a policy leaves alone is on its own page"


def test_a_form_that_is_left_alone_says_the_same_policy(engineer: Client) -> None:
    policy = make_policy(**FULL)
    url = reverse("runs:policy_edit", args=[policy.pk])
    response = engineer.post(url, filled(policy))
    assert response["Location"] == reverse("runs:policy_detail", args=[policy.pk])
    assert RetryPolicy.objects.filter(name="Mine").count() == 1


def test_an_edit_makes_the_next_version_and_keeps_the_old(engineer: Client) -> None:
    policy = make_policy(**FULL)
    url = reverse("runs:policy_edit", args=[policy.pk])
    changes = {"run_steps": 21, "rules-1-DELETE": "on", "name": "Another"}
    engineer.post(url, filled(policy, **changes))
    later = RetryPolicy.objects.get(name="Mine", version=2)
    assert body_of(later).run.steps == 21
    assert [rule.when.value for rule in body_of(later).reruns] == ["failed_evaluator", "broke"]
    assert body_of(later).other_agent == AgentChoice(name="oracle")
    policy.refresh_from_db()
    assert body_of(policy).run.steps == 20
    versions = versions_of("Mine")
    assert "Limits per run: Steps: 21" in versions[0]["added"]
    assert "Limits per run: Steps: 20" in versions[0]["removed"]
    page = engineer.get(reverse("runs:policy_detail", args=[policy.pk])).content.decode()
    assert "There is a newer version." in page
    assert "<ins>Limits per run: Steps: 21</ins>" in page


def test_a_new_policy_is_written_from_nothing(engineer: Client) -> None:
    data = filled(name="Fresh", watch="yes", on_loop="stop", batch_dollars="2.50")
    response = engineer.post(reverse("runs:policy_new"), data)
    policy = RetryPolicy.objects.get(name="Fresh")
    assert response["Location"] == reverse("runs:policy_detail", args=[policy.pk])
    body = body_of(policy)
    assert body.recovery == RecoveryPolicy(on_loop="stop")
    assert body.batch.dollars == Decimal("2.5")
    assert body.infrastructure is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "Stop when looping", "run_steps": 3}, "name"),
        ({"retries": "own", "backoff_s": 50, "backoff_cap_s": 5}, "backoff_cap_s"),
        ({"retries": "own", "attempts": 99}, "attempts"),
        ({"watch": "yes", "loop_shortest": 30, "loop_longest": 20}, "loop_longest"),
        ({"watch": "yes", "other_agent": "nobody"}, "other_agent"),
        ({"run_dollars": "0"}, "run_dollars"),
        ({"run_steps": "many"}, "run_steps"),
    ],
)
def test_errors_stand_beside_their_fields(
    changes: dict[str, Any], field: str, engineer: Client
) -> None:
    count = RetryPolicy.objects.count()
    url = reverse("runs:policy_new")
    response = engineer.post(url, filled(**changes), headers=HTMX)
    assert response.status_code == 422
    page = response.content.decode()
    assert "<html" not in page
    assert f'id="id_{field}_error"' in page
    assert RetryPolicy.objects.count() == count


def test_what_is_out_of_sight_is_not_checked(engineer: Client) -> None:
    data = filled(name="Fresh", retries="never", attempts="x", watch="no", loop_longest="y")
    assert engineer.post(reverse("runs:policy_new"), data).status_code == 302
    infrastructure = body_of(RetryPolicy.objects.get(name="Fresh")).infrastructure
    assert infrastructure is not None
    assert infrastructure.attempts == 1


def test_rules_say_what_is_missing_in_them(engineer: Client) -> None:
    rules: dict[str, Any] = {
        "rules-TOTAL_FORMS": 2,
        "rules-INITIAL_FORMS": 0,
        "rules-0-when": "looped",
        "rules-0-at_most": 1,
        "rules-1-when": "looped",
        "rules-1-at_most": 2,
    }
    url = reverse("runs:policy_new")
    twice = engineer.post(url, filled(**rules), headers=HTMX)
    assert "Two rules are the same." in twice.content.decode()
    removed = {"rules-TOTAL_FORMS": 3, "rules-2-at_most": "x", "rules-2-DELETE": "on"}
    beside = engineer.post(url, filled(**rules | removed), headers=HTMX).content.decode()
    assert "Two rules are the same." in beside
    assert "Value error" not in beside
    marked = engineer.post(url, filled(**rules | {"rules-1-when": "marked"}), headers=HTMX)
    assert "Choose one." in marked.content.decode()
    assert twice.status_code == marked.status_code == 422


def test_a_rule_is_added_and_nothing_saved(engineer: Client) -> None:
    data = {key: value for key, value in filled(name="").items() if key != "save"}
    response = engineer.post(reverse("runs:policy_new"), {**data, "add_rule": 1}, headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 200
    assert 'name="rules-0-when"' in page
    assert 'class="errors"' not in page
    assert not RetryPolicy.objects.filter(name="").exists()


def test_the_preview_says_it_in_words_and_saves_nothing(engineer: Client) -> None:
    count = RetryPolicy.objects.count()
    url = reverse("runs:policy_preview")
    words = engineer.post(url, filled(watch="yes", loop_shortest=9)).content.decode()
    assert "Shortest loop, in steps: 9" in words
    assert "larkfield" in words
    wrong = engineer.post(url, filled(run_steps="x")).content.decode()
    assert "Correct the marked fields" in wrong
    assert "Steps: Enter a whole number from 1 to 10,000." in wrong
    nameless = engineer.post(url, filled(name="", watch="yes")).content.decode()
    assert "Shortest loop, in steps: 15" in nameless
    assert RetryPolicy.objects.count() == count


def test_environments_that_end_at_the_first_message_are_named(engineer: Client) -> None:
    watching = make_policy("Watching", recovery={})
    silent = make_policy("Silent", recovery={"on_false_completion": "ignore"})
    for policy, is_said in ((watching, True), (silent, False)):
        page = engineer.get(reverse("runs:policy_detail", args=[policy.pk])).content.decode()
        assert ("only repeated waiting is noticed" in page) is is_said
        assert ("webarena" in page) is is_said


def stopped_early(policy: RetryPolicy, **fields: Any) -> Run:
    summary = {"steps_saved_at_most": 30, "replayed_steps": 0, "recoveries": 0}
    return make_run(
        steps=10,
        pictures=False,
        policy=policy,
        outcome="failure",
        end_reason="harness_loop_stop",
        cost=Decimal("0.5"),
        record={"extra": {"recovery": summary}},
        **fields,
    )


def test_what_stopping_early_saved_stands_where_the_policy_and_the_run_are_shown(
    engineer: Client,
) -> None:
    policy = make_policy(recovery={"on_loop": "stop"})
    run = stopped_early(policy)
    stopped_early(policy)
    rescued = {"extra": {"recovery": {"recoveries": 1}}}
    make_run(pictures=False, policy=policy, record=rescued)
    page = engineer.get(reverse("runs:policy_detail", args=[policy.pk])).content.decode()
    assert "60 steps, about $3.00" in page
    assert "Rescued by recovery" in page
    of_run = engineer.get(reverse("runs:run_detail", args=[run.pk])).content.decode()
    assert "30 steps, about $1.50" in of_run
    assert reverse("runs:policy_detail", args=[policy.pk]) in of_run


def test_runs_that_the_person_judges_are_neither_listed_nor_counted() -> None:
    policy, judge = make_policy(recovery={"on_loop": "stop"}), make_user("engineer")
    run = stopped_early(policy)
    make_study(runs=[run], annotators=[judge, make_user("annotator")])
    client = client_of(judge)
    page = client.get(reverse("runs:policy_detail", args=[policy.pk])).content.decode()
    assert str(run.pk) not in page
    assert "No runs" in page
    of_run = client.get(reverse("runs:run_detail", args=[run.pk])).content.decode()
    assert "Mine @1" not in of_run
    assert "Saved, at most" not in of_run


def test_stored_configurations_can_be_chosen_if_they_can_run(engineer: Client) -> None:
    make_agent("stuck", "", config={"first": [], "block": ["noop(5)"]})
    make_agent("GenericAgent", "")
    form = policy_form(make_user("engineer"), None)
    words = [str(words) for _value, words in form.agents.choices]
    assert any(words.startswith("stuck (block=") for words in words)
    assert not any("GenericAgent" in words for words in words)


def test_policies_that_come_with_the_installation_speak_the_readers_language(
    engineer: Client,
) -> None:
    make_policy()
    engineer.cookies["django_language"] = "ja"
    page = engineer.get(reverse("runs:policy_list")).content.decode()
    assert "失敗を再実行" in page
    assert "Rerun what failed" not in page
    assert "Mine" in page


def test_a_preview_without_runs_says_how_to_get_some(engineer: Client) -> None:
    page = engineer.get(reverse("runs:policy_reruns")).content.decode()
    assert "No runs to check" in page
    assert "<select" not in page.partition("<main")[2]
    RetryPolicy.objects.all().delete()
    assert (
        "No policy with rerun rules" in engineer.get(reverse("runs:policy_reruns")).content.decode()
    )
