"""Stored policies: versions, the database's guard, and what runs under them may take."""

import hashlib
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils.text import capfirst

from runs.catalogue.agents import NotRunnableError
from runs.launching.experiments.progress import progress_of
from runs.launching.experiments.starting import budget_of
from runs.launching.policies.rule_forms import WHEN
from runs.launching.policies.services import PolicyError, save_policy
from runs.launching.policies.words import in_words, lines, rule_in_words
from runs.launching.running import carry_out, terms_of
from runs.models import RetryPolicy, Run, RunStatus
from runs.models.policies import READY, add_ready_policies, body_of
from runs.operations.integrity import violations
from runs.queue.leases import claim
from runs.queue.sweeping import follow_up, next_attempt, wait_before_next
from tests.judging.factories import make_study
from tests.runs.factories import make_experiment, make_run, make_user
from webagent.recovery.retry_policy import (
    NEEDS_SUBJECT,
    AnomalyResponse,
    Comparison,
    Fallback,
    PolicyBody,
    RecoveryPolicy,
    RepeatedWrites,
    RerunRule,
    RerunWhen,
    WaitingSteps,
)
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.django_db


def make_policy(name: str = "Mine", **body: Any) -> RetryPolicy:
    return save_policy(name=name, body=PolicyBody.model_validate(body), is_new=False)


def test_an_edit_is_the_next_version_and_the_same_again_is_not() -> None:
    first = make_policy(run={"steps": 5})
    second = make_policy(run={"steps": 6})
    assert [first.version, second.version] == [1, 2]
    assert make_policy(run={"steps": 6}) == second
    # What an old version said can be said again.
    assert make_policy(run={"steps": 5}).version == 3
    assert body_of(RetryPolicy.objects.get(pk=first.pk)).run.steps == 5


def test_a_new_policy_needs_a_name_of_its_own() -> None:
    make_policy()
    with pytest.raises(PolicyError):
        save_policy(name="Mine ", body=PolicyBody(run={"steps": 9}), is_new=True)


@pytest.mark.parametrize(
    "change", [{"name": "x"}, {"version": 9}, {"description": "x"}, {"body": {}}, {"body_hash": ""}]
)
def test_the_database_refuses_every_change(change: dict[str, Any]) -> None:
    policy = make_policy()
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        RetryPolicy.objects.filter(pk=policy.pk).update(**change)
    assert make_policy() == policy


def test_a_policy_saved_before_the_choice_compares_pages_too() -> None:
    said = RecoveryPolicy().model_dump(mode="json", exclude={"compare"})
    body = {**PolicyBody().to_json(), "recovery": said}
    old = RetryPolicy.objects.create(name="Old", version=1, body=body, body_hash="0" * 64)
    read = body_of(old)
    assert read.recovery is not None
    assert read.recovery.compare is Comparison.ACTIONS_AND_PAGE
    assert read.content_hash == hashlib.sha256(hashed_json(body)).hexdigest()
    assert save_policy(name="Old", body=read, is_new=False) == old


def test_a_version_is_there_once_and_a_used_one_stays() -> None:
    policy = make_policy()
    with pytest.raises(IntegrityError), transaction.atomic():
        RetryPolicy.objects.create(name="Mine", version=1, body={}, body_hash="")
    make_run(policy=policy, pictures=False)
    with pytest.raises(ProtectedError):
        policy.delete()


def test_the_account_of_an_author_can_be_deleted() -> None:
    user = make_user()
    policy = save_policy(name="Mine", body=PolicyBody(), user=user, is_new=True)
    user.delete()
    policy.refresh_from_db()
    assert policy.created_by is None


def test_the_ready_ones_are_there_once_and_left_as_they_are() -> None:
    add_ready_policies()
    assert set(READY) <= set(RetryPolicy.objects.values_list("name", flat=True))
    study = RetryPolicy.objects.get(name="Recover as in the study")
    assert body_of(study).recovery == RecoveryPolicy()
    count = RetryPolicy.objects.count()
    add_ready_policies()
    assert RetryPolicy.objects.count() == count


def test_a_policy_is_found_by_name_and_version() -> None:
    first, second = make_policy(run={"steps": 5}), make_policy(run={"steps": 6})
    odd = make_policy("odd@2")
    named = RetryPolicy.objects.named
    assert named("Mine") == second
    assert named("Mine@1") == first
    assert named("odd@2") == odd
    assert named("Mine@7") is None
    assert named("Nobody") is None


def said_of_stuck_agents(**recovery: Any) -> list[str]:
    return in_words(PolicyBody.model_validate({"recovery": recovery}))[1].lines


@pytest.mark.parametrize("answer", AnomalyResponse)
@pytest.mark.parametrize("waiting", WaitingSteps)
@pytest.mark.parametrize("compare", Comparison)
@pytest.mark.parametrize(("writes", "otherwise"), [*zip(RepeatedWrites, Fallback, strict=True)])
def test_every_choice_has_words(
    answer: AnomalyResponse,
    waiting: WaitingSteps,
    compare: Comparison,
    writes: RepeatedWrites,
    otherwise: Fallback,
) -> None:
    said = said_of_stuck_agents(
        on_loop=answer,
        on_false_completion=answer,
        waiting=waiting,
        compare=compare,
        writes=writes,
        otherwise=otherwise,
        other_steps=0,
    )
    recovers = answer is AnomalyResponse.RECOVER
    assert all(": " in line and "_" not in line for line in said)
    assert len(said) == (15 if recovers else 7)
    assert ("Agent that takes over: the same agent" in said) == recovers


def test_without_recoveries_going_back_is_not_allowed() -> None:
    said = said_of_stuck_agents(recoveries=0, otherwise="go_on")
    assert said[-2:] == ["Maximum recoveries per run: 0", "When stuck again: continue"]


@pytest.mark.parametrize("when", RerunWhen)
def test_every_rule_has_words(when: RerunWhen) -> None:
    said = rule_in_words(RerunRule(when=when, subject="it" if when in NEEDS_SUBJECT else ""))
    assert said.startswith(capfirst(str(WHEN[when])))
    assert said.endswith("Maximum reruns: 1 · Agent: the same agent")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"infrastructure": {"attempts": 7}}, "Total attempts: 7"),
        ({"infrastructure": {"backoff_s": 0.5}}, "Seconds before the second attempt: 0.5"),
        ({"infrastructure": {"backoff_cap_s": 3723}}, "Maximum seconds: 3,723"),
        ({"infrastructure": {"faults": ["http_429"]}}, "site limits requests (429)"),
        ({"infrastructure": {"faults": []}}, "Infrastructure error: Never retry"),
        ({}, "Infrastructure error: Default settings"),
        ({}, "Stuck agents: Ignore"),
        ({"recovery": {"loop_shortest": 13}}, "Shortest loop, in steps: 13"),
        ({"recovery": {"false_completions": 12}}, "Messages or waits in a row: 12"),
        ({"recovery": {"steps_before": 1}}, "Steps to go back: 1"),
        ({"recovery": {"recoveries": 1}}, "Maximum recoveries per run: 1"),
        ({"recovery": {"settle_ms": 77}}, "Milliseconds between checks: 77"),
        ({"recovery": {}, "other_agent": {"name": "oracle"}}, "Agent that takes over: oracle"),
        ({"recovery": {}}, "Agent that takes over: the same agent"),
        ({"run": {"steps": 1234}}, "Limits per run: Steps: 1,234"),
        ({"run": {"tokens": 56789}}, "Limits per run: Tokens: 56,789"),
        ({"run": {"dollars": "0.0035"}}, "Limits per run: US dollars: 0.0035"),
        ({"run": {"seconds": 61}}, "Limits per run: Seconds: 61"),
        ({"batch": {"runs": 40}}, "Limits per launch: Runs: 40"),
        ({"batch": {"tokens": 4000}}, "Limits per launch: Tokens: 4,000"),
        ({"batch": {"dollars": "20"}}, "Limits per launch: US dollars: 20"),
        ({"batch": {"seconds": 3600}}, "Limits per launch: Seconds: 3,600"),
        ({}, "Limits per launch: None"),
        ({"reruns": [{"when": "failed_outcome", "at_most": 2}]}, "Maximum reruns: 2"),
        ({"reruns": [{"when": "failed_evaluator", "subject": "judge-7"}]}, "Evaluator: judge-7"),
        ({"reruns": [{"when": "marked", "subject": "environment"}]}, "Cause: environment"),
        ({"reruns": [{"when": "broke", "faults": ["http_429"]}]}, "Only these errors: site limits"),
        ({"reruns": [{"when": "looped", "agent": {"name": "oracle"}}]}, "Agent: oracle"),
        ({"reruns": [{"when": "looped", "new_seed": True}]}, "with a new seed"),
    ],
)
def test_every_number_is_in_the_words(part: dict[str, Any], said: str) -> None:
    assert said in " ".join(lines(PolicyBody.model_validate(part)))


def test_an_attempt_carries_policy_launch_and_rule() -> None:
    policy = make_policy()
    launch = make_run(pictures=False).pk
    run = make_run(policy=policy, launch=launch, rerun_rule="looped-1", pictures=False)
    later = next_attempt(run)
    assert (later.policy, later.launch, later.rerun_rule) == (policy, launch, "looped-1")


def test_its_errors_attempts_and_waits_are_the_policys() -> None:
    policy = make_policy(
        infrastructure={
            "faults": ["http_429", "provider_other"],
            "attempts": 5,
            "backoff_s": 100,
            "backoff_cap_s": 150,
        }
    )
    run = make_run(policy=policy, pictures=False)
    wait = wait_before_next(run, Fault.HTTP_429, may_pass=True)
    assert wait is not None
    assert 50 <= wait <= 150
    # What the policy names is tried again, whatever else is thought of it.
    assert wait_before_next(run, Fault.PROVIDER_OTHER, may_pass=False) is not None
    assert wait_before_next(run, Fault.BROWSER_CRASH, may_pass=True) is None
    assert wait_before_next(run, None, may_pass=True) is None
    run.attempt = settings.ENV.MAX_ATTEMPTS + 1
    assert follow_up(run, Fault.HTTP_429) is not None
    run.attempt = 5
    assert wait_before_next(run, Fault.HTTP_429, may_pass=True) is None


def test_without_a_policy_the_settings_decide() -> None:
    run = make_run(policy=make_policy(run={"steps": 3}), pictures=False)
    assert wait_before_next(run, Fault.BROWSER_CRASH, may_pass=True) is not None
    assert wait_before_next(run, Fault.BROWSER_MISSING, may_pass=False) is None
    run.attempt = settings.ENV.MAX_ATTEMPTS
    assert wait_before_next(run, Fault.BROWSER_CRASH, may_pass=True) is None


def test_limits_only_tighten_what_was_asked_for() -> None:
    policy = make_policy(run={"steps": 8, "seconds": 10**6, "tokens": 5, "dollars": "1.5"})
    terms = terms_of(make_run(policy=policy, max_steps=20, pictures=False))
    limits = (terms["max_steps"], terms["max_tokens"], terms["max_cost"])
    assert limits == (8, 5, Decimal("1.5"))
    assert terms["time_limit_s"] == settings.ENV.RUN_TIME_LIMIT_S
    assert terms_of(make_run(policy=policy, max_steps=4, pictures=False))["max_steps"] == 4


def test_who_takes_over_is_made_for_the_run_or_it_cannot_run() -> None:
    policy = make_policy(recovery={}, other_agent={"name": "oracle"})
    other = terms_of(make_run(policy=policy, pictures=False))["other_agent"]
    assert other is not None
    assert other.describe().name == "oracle"
    gone = make_policy("Gone", recovery={}, other_agent={"name": "GenericAgent"})
    with pytest.raises(NotRunnableError):
        terms_of(make_run(policy=gone, pictures=False))


def test_a_batch_is_an_experiment_under_one_policy_or_a_launch() -> None:
    policy, other = make_policy(batch={"runs": 2}), make_policy("Other", batch={"runs": 2})
    experiment = make_experiment()
    runs = [make_run(policy=policy, experiment=experiment, pictures=False) for _ in range(2)]
    alone = make_run(policy=other, experiment=experiment, pictures=False)
    spent = budget_of(runs[0])
    assert spent is not None
    assert (spent.spent.runs, spent.is_spent) == (2, True)
    unspent = budget_of(alone)
    assert unspent is not None
    assert not unspent.is_spent
    assert budget_of(make_run(policy=policy, pictures=False)) is None
    launched = make_run(policy=policy, launch=alone.pk, pictures=False)
    found = budget_of(launched)
    assert found is not None
    assert found.spent.runs == 1


def test_what_runs_under_way_took_counts_already() -> None:
    policy, experiment = make_policy(batch={"dollars": "1"}), make_experiment()
    fields: dict[str, Any] = {"policy": policy, "experiment": experiment, "pictures": False}
    make_run(cost=Decimal("0.4"), input_tokens=10, output_tokens=5, **fields)
    going = make_run(
        steps=[{"cost": Decimal("0.35"), "input_tokens": 1, "output_tokens": 2}] * 2,
        status=RunStatus.RUNNING,
        **fields,
    )
    budget = budget_of(going)
    assert budget is not None
    assert budget.spent.dollars == Decimal("1.1")
    assert budget.spent.tokens == 21
    assert budget.reached == ("dollars",)


def test_no_run_starts_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, experiment = make_policy(batch={"runs": 1}), make_experiment()
    make_run(policy=policy, experiment=experiment, pictures=False)
    waiting = make_run(
        steps=0,
        policy=policy,
        experiment=experiment,
        status=RunStatus.QUEUED,
        outcome=Run.Outcome.UNKNOWN,
        started_at=None,
    )
    claimed = claim(waiting.pk)
    assert claimed is not None
    carry_out(*claimed)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.outcome) == (RunStatus.CANCELLED, Run.Outcome.INCOMPLETE)
    assert waiting.end_reason == Run.EndReason.NEVER_STARTED
    assert "Mine @1" in waiting.error_message
    assert waiting.started_at is None
    assert str(waiting.pk) not in {each.key for each in violations()}
    assert progress_of(experiment, make_user("engineer")).spent == policy
    judge = make_user("engineer")
    make_study(runs=[waiting], annotators=[judge])
    assert progress_of(experiment, judge).spent is None
