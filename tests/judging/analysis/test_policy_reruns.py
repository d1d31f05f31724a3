"""Which runs a policy runs again: with verdicts and marked causes, and without telling them."""

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from judging.extension import RerunFacts
from judging.models import ReferenceVerdict
from runs.launching.policies import rerun_plans as policy_reruns
from runs.launching.policies import rerun_views
from runs.launching.policies.rerun_plans import PlanOutcome, launch_by_policy, plan_reruns
from runs.launching.policies.services import save_policy
from runs.launching.reruns.services import RerunError, queue_run
from runs.models import RetryPolicy, Run, RunStatus, User
from tests.judging.factories import annotators_of, make_evaluation, make_label, make_study
from tests.runs.factories import client_of, make_agent, make_experiment, make_run, make_user
from webagent.recovery.retry_policy import PolicyBody

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_reruns, "wake_workers", lambda: None)


def make_policy(*rules: dict[str, Any], **body: Any) -> RetryPolicy:
    whole = PolicyBody.model_validate({**body, "reruns": rules})
    return save_policy(name="Again", body=whole, is_new=False)


def ended(outcome: str = "failure", **fields: Any) -> Run:
    """A run that can run here, ended as told."""
    made = queue_run(task="miniwob.click-test", agent="oracle", seed=4)
    status = RunStatus.FAILED if outcome == "error" else RunStatus.FINISHED
    values = {"status": status, "outcome": outcome, "end_reason": "task_ended", **fields}
    Run.objects.filter(pk=made.pk).update(**values)
    return Run.objects.get(pk=made.pk)


def end(run: Run, outcome: str = "failure") -> None:
    Run.objects.filter(pk=run.pk).update(
        status=RunStatus.FINISHED, outcome=outcome, end_reason="task_ended"
    )


def answers(policy: RetryPolicy, user: User | None = None) -> dict[uuid.UUID, PlanOutcome]:
    firsts = Run.objects.filter(rerun_rule="")
    return {row.run.pk: row.answer for row in plan_reruns(policy, firsts, user).rows}


def launch(policy: RetryPolicy, *runs: Run, token: uuid.UUID | None = None) -> list[Run]:
    chosen = Run.objects.filter(pk__in=[run.pk for run in runs])
    return launch_by_policy(
        policy=policy, runs=chosen, token=token or uuid.uuid4(), user=make_user()
    ).runs


def settle(run: Run, verdict: str) -> None:
    study = make_study(runs=[run])
    ReferenceVerdict.objects.create(
        item=study.items.get(),
        run=run,
        verdict=verdict,
        origin=ReferenceVerdict.Origin.IMPORTED,
        decided_at=timezone.now(),
    )
    study.items.update(status="settled")


@pytest.mark.slow
def test_whose_word_a_failure_is_makes_the_difference() -> None:
    by_reward, by_people, by_matcher = ended("failure"), ended("success"), ended("success")
    settle(by_people, "failure")
    settle(by_reward, "success")
    make_evaluation(by_matcher, "failed")
    wanted = {
        "failed_outcome": {by_reward.pk},
        "failed_reference": {by_people.pk},
        "failed_evaluator": {by_matcher.pk},
    }
    for when, runs in wanted.items():
        subject = "matcher" if when == "failed_evaluator" else ""
        said = answers(make_policy({"when": when, "subject": subject}))
        assert {pk for pk, answer in said.items() if answer is PlanOutcome.RERUN} == runs
    assert said[by_reward.pk] is PlanOutcome.NO_VERDICT


def test_no_verdict_of_an_evaluator_is_no_failure() -> None:
    run = ended("success")
    make_evaluation(run, "error")
    rule = {"when": "failed_evaluator", "subject": "matcher"}
    assert answers(make_policy(rule))[run.pk] is PlanOutcome.NO_VERDICT


def test_what_cannot_be_executed_has_not_failed() -> None:
    run = ended()
    settle(run, "not_executable")
    assert answers(make_policy({"when": "failed_reference"}))[run.pk] is PlanOutcome.NO_VERDICT


def test_a_marked_cause_counts_once_its_label_may_be_read() -> None:
    run, reader = ended(), make_user("engineer")
    study = make_study(runs=[run])
    first, second = annotators_of(study)
    make_label(study.items.get(), first, "failure", causes=["misread"])
    facts = RerunFacts()
    assert facts.of([run.pk], None)[run.pk].causes == {"misread"}
    # The second label is still to come, so nobody reads the first.
    assert run.pk not in facts.of([run.pk], reader)
    make_label(study.items.get(), second, "failure", causes=[])
    policy = make_policy({"when": "marked", "subject": "misread"})
    assert answers(policy, reader)[run.pk] is PlanOutcome.RERUN


@pytest.mark.slow
def test_a_rule_reruns_up_to_its_number_and_follows_its_own_reruns() -> None:
    run = ended()
    policy = make_policy({"when": "failed_outcome", "at_most": 2})
    (first,) = launch(policy, run)
    assert (first.rerun_of, first.family, first.policy) == (run, run.pk, policy)
    assert first.rerun_rule == PolicyBody.model_validate(policy.body).reruns[0].key
    assert answers(policy)[run.pk] is PlanOutcome.MOVING
    with pytest.raises(RerunError):
        launch(policy, run)
    end(first)
    (second,) = launch(policy, run)
    assert second.rerun_of == first
    end(second)
    row = plan_reruns(policy, Run.objects.filter(pk=run.pk), None).rows[0]
    assert (row.answer, row.made, row.last) == (PlanOutcome.USED_UP, 2, second)


def test_a_success_ends_the_reruns() -> None:
    run = ended()
    policy = make_policy({"when": "failed_outcome", "at_most": 5})
    (first,) = launch(policy, run)
    end(first, "success")
    assert answers(policy)[run.pk] is PlanOutcome.NO_RULE


def test_a_later_version_goes_on_counting() -> None:
    run = ended()
    (first,) = launch(make_policy({"when": "failed_outcome", "at_most": 1}), run)
    end(first)
    more = make_policy({"when": "failed_outcome", "at_most": 2})
    row = plan_reruns(more, Run.objects.filter(pk=run.pk), None).rows[0]
    assert (row.answer, row.made) == (PlanOutcome.RERUN, 1)


def test_a_rerun_that_never_started_is_none() -> None:
    run = ended()
    policy = make_policy({"when": "failed_outcome"})
    (first,) = launch(policy, run)
    Run.objects.filter(pk=first.pk).update(status=RunStatus.CANCELLED, outcome="incomplete")
    (again,) = launch(policy, run)
    assert again.pk != first.pk
    assert again.rerun_of == run


def test_another_agent_and_seed_are_the_rules() -> None:
    run = ended()
    agent = {"name": "looping", "config": {}}
    (made,) = launch(make_policy({"when": "failed_outcome", "agent": agent, "new_seed": True}), run)
    assert made.agent.name == "looping"
    assert made.seed != run.seed
    assert made.goal == ""


def test_one_token_launches_once_and_two_people_do_not_launch_twice() -> None:
    run, token, user = ended(), uuid.uuid4(), make_user()
    policy = make_policy({"when": "failed_outcome", "at_most": 3})
    chosen = Run.objects.filter(pk=run.pk)
    first = launch_by_policy(policy=policy, runs=chosen, token=token, user=user)
    again = launch_by_policy(policy=policy, runs=chosen, token=token, user=user)
    assert (first.is_new, again.is_new) == (True, False)
    assert first.runs == again.runs
    with pytest.raises(RerunError):
        launch(policy, run)
    assert Run.objects.filter(rerun_of=run).count() == 1


def test_attempts_of_a_rerun_count_once() -> None:
    run = ended()
    policy = make_policy({"when": "failed_outcome", "at_most": 2})
    (first,) = launch(policy, run)
    Run.objects.filter(pk=first.pk).update(superseded=True, status=RunStatus.FAILED)
    ended("failure", rerun_of=run, family=run.pk, rerun_rule=first.rerun_rule, attempt=2)
    row = plan_reruns(policy, Run.objects.filter(pk=run.pk), None).rows[0]
    assert (row.answer, row.made) == (PlanOutcome.RERUN, 1)


def test_what_cannot_run_here_says_why() -> None:
    imported = ended(agent=make_agent("GenericAgent"))
    policy = make_policy({"when": "failed_outcome"})
    row = plan_reruns(policy, Run.objects.filter(pk=imported.pk), None).rows[0]
    assert row.answer is PlanOutcome.CANNOT
    assert "GenericAgent" in row.why


def test_nothing_is_said_of_a_run_that_the_person_judges() -> None:
    judge, other = make_user("engineer"), make_user("annotator")
    good, bad = ended("success"), ended("failure")
    make_study(runs=[good, bad], annotators=[judge, other])
    policy = make_policy({"when": "failed_outcome"})
    assert set(answers(policy, judge).values()) == {PlanOutcome.HIDDEN}
    with pytest.raises(RerunError):
        launch_by_policy(policy=policy, runs=Run.objects.all(), token=uuid.uuid4(), user=judge)
    page = client_of(judge).post(
        reverse("runs:policy_reruns"), {"policy": policy.pk, "run": [str(good.pk), str(bad.pk)]}
    )
    text = page.content.decode()
    assert text.count("still judged by you") == 3  # once counted, and once in each row
    assert "0 of 2 runs would be rerun" in text


@pytest.mark.slow
def test_the_page_says_what_would_be_rerun_and_a_double_click_launches_once() -> None:
    client = client_of(make_user("engineer"))
    experiment = make_experiment("Hoses")
    run = ended(experiment=experiment)
    ended("success", experiment=experiment)
    policy = make_policy({"when": "failed_outcome"}, batch={"runs": 5})
    url = reverse("runs:policy_reruns")
    asked = {"policy": str(policy.pk), "source": f"experiment:{experiment.pk}"}
    page = client.get(url, asked)
    text = page.content.decode()
    assert "1 of 2 runs would be rerun" in text
    assert "Failed by the benchmark&#x27;s outcome" in text
    token = page.context["form"]["token"].value()
    for _ in range(2):
        response = client.post(url, {**asked, "token": token, "launch": 1})
        assert response["Location"] == reverse("runs:rerun_list")
    assert Run.objects.get(rerun_of=run).launch is not None
    assert "already queued or running" in client.get(url, asked).content.decode()


def test_a_form_without_its_token_launches() -> None:
    run = ended(experiment=make_experiment("Hoses"))
    policy = make_policy({"when": "failed_outcome"})
    asked = {"policy": policy.pk, "source": f"experiment:{run.experiment_id}"}
    sent = {**asked, "token": " ", "launch": 1}
    answer = client_of(make_user("engineer")).post(reverse("runs:policy_reruns"), sent)
    assert answer.status_code == 302
    assert Run.objects.filter(rerun_of=run).exists()


@pytest.mark.slow
def test_an_older_source_than_the_menu_offers_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerun_views, "MOST_OFFERED", 1)
    client, older = client_of(make_user("engineer")), make_experiment("Hoses")
    study = make_study(runs=[ended(experiment=older)])
    make_experiment("Newer"), make_study(name="Newer", runs=[make_run(pictures=False)])
    policy = make_policy({"when": "failed_outcome"})
    url = reverse("runs:policy_reruns")
    assert "Hoses" not in client.get(url, {"policy": policy.pk}).content.decode()
    for source in (f"experiment:{older.pk}", f"study:{study.pk}"):
        text = client.get(url, {"policy": str(policy.pk), "source": source}).content.decode()
        assert "1 of 1 runs would be rerun" in text, source


@pytest.mark.slow
def test_the_page_takes_a_study_and_selected_runs() -> None:
    client, run = client_of(make_user("engineer")), ended()
    study = make_study(runs=[run, make_run(pictures=False)])
    policy = make_policy({"when": "failed_outcome"})
    url = reverse("runs:policy_reruns")
    assert (
        "of 2 runs"
        in client.get(
            url, {"policy": str(policy.pk), "source": f"study:{study.pk}"}
        ).content.decode()
    )
    assert (
        "1 of 1 runs"
        in client.post(url, {"policy": policy.pk, "run": [str(run.pk)]}).content.decode()
    )
    bare = client.get(url, {"policy": str(policy.pk), "source": "study:9999"})
    assert bare.status_code == 200
    assert "would be rerun</h2>" not in bare.content.decode()
    for query in ({"source": "study:9999"}, {"policy": str(policy.pk), "source": "study:9999"}):
        text = client.get(url, query).content.decode()
        assert "This no longer exists, or you may not see it." in text
        assert "Choose one." not in text
    wrong = client.get(url, {"policy": "9999"}).content.decode()
    assert "This no longer exists, or you may not see it." in wrong


def command(*args: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("rerun_by_policy", *args, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_says_and_then_queues() -> None:
    run = ended()
    make_policy({"when": "failed_outcome"})
    named = ("--policy", "Again@1", "--runs", str(run.pk))
    said, _ = command(*named, "--dry-run")
    assert "1 of 1 runs would be rerun." in said
    assert not Run.objects.filter(rerun_of=run).exists()
    answer = json.loads(command(*named, "--dry-run", "--json")[0])
    assert (answer["reruns"], answer["runs"][0]["answer"]) == (1, "rerun")
    token = str(uuid.uuid4())
    for _ in range(2):
        assert "1 runs are queued." in command(*named, "--token", token)[1]
    assert Run.objects.filter(rerun_of=run).count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("--policy", "Nobody", "--study", "1"),
        ("--policy", "Again", "--study", "77"),
        ("--policy", "Again", "--experiment", "none"),
    ],
)
def test_the_command_names_what_is_missing(wrong: tuple[str, ...]) -> None:
    make_policy({"when": "failed_outcome"})
    with pytest.raises(CommandError, match="There is no"):
        command(*wrong)
