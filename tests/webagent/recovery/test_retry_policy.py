"""The document of a retry policy: what it takes, its hash, its sentences, its decisions."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from webagent.recovery.rerunning import RuleOutcome, RunFacts, applies, decide
from webagent.recovery.retry_policy import (
    NEEDS_SUBJECT,
    AgentChoice,
    BatchLimits,
    Infrastructure,
    PolicyBody,
    RecoveryPolicy,
    RerunRule,
    RerunWhen,
    RunLimits,
    Spent,
    reached,
)
from webagent.recovery.retry_policy import AnomalyResponse as OnAnomaly
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import EndReason, Outcome

FAILED = RunFacts(outcome=Outcome.FAILURE, end_reason=EndReason.TASK_ENDED)
dollars = st.decimals(min_value="0.000001", max_value="999", places=6)
numbers = st.integers(min_value=1, max_value=10_000)
agents = st.builds(
    AgentChoice,
    name=st.sampled_from(["oracle", "generic"]),
    config=st.dictionaries(st.sampled_from("abc"), st.integers() | st.text(max_size=5), max_size=2),
)


@st.composite
def rules(draw: st.DrawFn) -> RerunRule:
    when = draw(st.sampled_from(list(RerunWhen)))
    faults = st.none() | st.sets(st.sampled_from(list(Fault)), min_size=1).map(tuple)
    return RerunRule(
        when=when,
        subject=draw(st.sampled_from(["environment", "judge"])) if when in NEEDS_SUBJECT else "",
        faults=draw(faults) if when is RerunWhen.BROKE else None,
        at_most=draw(st.integers(1, 20)),
        agent=draw(st.none() | agents),
        new_seed=draw(st.booleans()),
    )


@st.composite
def bodies(draw: st.DrawFn) -> PolicyBody:
    recovery = draw(
        st.none()
        | st.builds(
            RecoveryPolicy,
            on_loop=st.sampled_from(list(OnAnomaly)),
            loop_shortest=st.integers(2, 20),
            loop_longest=st.integers(20, 40),
            other_steps=st.integers(0, 20),
            recoveries=st.integers(0, 4),
        )
    )
    acts = recovery is not None and recovery.may_recover and recovery.other_steps > 0
    return PolicyBody(
        infrastructure=draw(
            st.none()
            | st.builds(
                Infrastructure,
                faults=st.sets(st.sampled_from(list(Fault))).map(tuple),
                attempts=st.integers(1, 10),
                backoff_s=st.floats(0.5, 10),
                backoff_cap_s=st.floats(10, 600),
            )
        ),
        recovery=recovery,
        other_agent=draw(st.none() | agents) if acts else None,
        run=RunLimits(
            steps=draw(st.none() | numbers),
            tokens=draw(st.none() | numbers),
            dollars=draw(st.none() | dollars),
            seconds=draw(st.none() | numbers),
        ),
        batch=BatchLimits(
            runs=draw(st.none() | numbers),
            tokens=draw(st.none() | numbers),
            dollars=draw(st.none() | dollars),
            seconds=draw(st.none() | numbers),
        ),
        reruns=tuple(draw(st.lists(rules(), max_size=5, unique_by=lambda rule: rule.key))),
    )


@given(bodies())
@pytest.mark.slow
def test_a_body_comes_back_from_json_as_the_same_with_the_same_hash(body: PolicyBody) -> None:
    again = PolicyBody.model_validate(body.to_json())
    assert again == body
    assert again.content_hash == body.content_hash
    assert PolicyBody.model_validate_json(body.model_dump_json()).content_hash == body.content_hash


def test_one_amount_has_one_hash() -> None:
    first, second = (PolicyBody(run={"dollars": Decimal(text)}) for text in ("1.50", "1.5"))
    assert first.content_hash == second.content_hash
    assert first.content_hash != PolicyBody(run={"dollars": "1.6"}).content_hash


@pytest.mark.parametrize(
    "wrong",
    [
        {"unknown": 1},
        {"run": {"steps": 0}},
        {"run": {"dollars": "0"}},
        {"infrastructure": {"backoff_s": 10, "backoff_cap_s": 5}},
        {"recovery": {"loop_shortest": 30, "loop_longest": 20}},
        {"other_agent": {"name": "oracle"}},
        {"recovery": {"other_steps": 0}, "other_agent": {"name": "oracle"}},
        {"reruns": [{"when": "marked"}]},
        {"reruns": [{"when": "looped", "subject": "x"}]},
        {"reruns": [{"when": "looped", "faults": ["http_429"]}]},
        {"reruns": [{"when": "looped"}, {"when": "looped", "at_most": 3}]},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PolicyBody.model_validate(wrong)


def test_a_body_never_changes() -> None:
    with pytest.raises(ValidationError):
        PolicyBody().recovery = RecoveryPolicy()  # type: ignore[misc] # that is what is tried


def test_waits_double_up_to_the_cap() -> None:
    part = Infrastructure(backoff_s=5, backoff_cap_s=15)
    assert [part.wait_s(attempt) for attempt in (1, 2, 3, 9)] == [5, 10, 15, 15]


def test_a_rule_is_remembered_by_what_it_asks_and_not_by_how_often() -> None:
    rule = RerunRule(when=RerunWhen.LOOPED)
    assert rule.key == RerunRule(when=RerunWhen.LOOPED, at_most=5, new_seed=True).key
    assert rule.key != RerunRule(when=RerunWhen.LOOPED, agent={"name": "oracle"}).key
    assert len(rule.key) <= 64


@pytest.mark.parametrize(
    ("rule", "facts", "fits"),
    [
        ({"when": "failed_outcome"}, {}, True),
        ({"when": "failed_outcome"}, {"outcome": Outcome.ERROR}, False),
        ({"when": "failed_reference"}, {"reference": False}, True),
        ({"when": "failed_reference"}, {"reference": True}, False),
        ({"when": "failed_reference"}, {}, None),
        ({"when": "failed_evaluator", "subject": "a"}, {"evaluators": {"a": False}}, True),
        ({"when": "failed_evaluator", "subject": "a"}, {"evaluators": {"b": False}}, None),
        ({"when": "marked", "subject": "env"}, {"causes": frozenset({"env"})}, True),
        ({"when": "marked", "subject": "env"}, {}, False),
        ({"when": "broke"}, {"outcome": Outcome.ERROR, "fault": Fault.HTTP_5XX}, True),
        ({"when": "broke"}, {"outcome": Outcome.ERROR}, False),
        (
            {"when": "broke", "faults": ["http_429"]},
            {"outcome": Outcome.ERROR, "fault": Fault.HTTP_5XX},
            False,
        ),
        ({"when": "looped"}, {"looped": True}, True),
        ({"when": "false_completion"}, {"declared_too_early": True}, True),
        ({"when": "at_limit"}, {"end_reason": EndReason.COST_LIMIT}, True),
        ({"when": "at_limit"}, {}, False),
    ],
)
def test_what_each_rule_is_about(
    rule: dict[str, Any], facts: dict[str, Any], fits: bool | None
) -> None:
    known = {"outcome": Outcome.FAILURE, "end_reason": EndReason.TASK_ENDED, **facts}
    assert applies(RerunRule.model_validate(rule), RunFacts(**known)) is fits


def test_the_first_rule_that_is_not_used_up_decides() -> None:
    once = RerunRule(when=RerunWhen.FAILED_OUTCOME, agent={"name": "oracle"})
    twice = RerunRule(when=RerunWhen.FAILED_OUTCOME, at_most=2)
    assert decide((once, twice), FAILED).rule == once
    assert decide((once, twice), FAILED, {once.key: 1}).rule == twice
    used_up = decide((once, twice), FAILED, {once.key: 1, twice.key: 2})
    assert (used_up.answer, used_up.rule) == (RuleOutcome.USED_UP, once)


def test_a_missing_verdict_is_said_and_is_no_failure() -> None:
    rule = RerunRule(when=RerunWhen.FAILED_REFERENCE)
    assert decide((rule,), FAILED).answer is RuleOutcome.NO_VERDICT
    assert decide((), FAILED).answer is RuleOutcome.NO_RULE


def test_a_budget_is_used_up_when_it_is_reached() -> None:
    limits = BatchLimits(runs=3, dollars="1.5")
    assert reached(limits, Spent(runs=2, dollars=Decimal("1.49"), tokens=10**9)) == ()
    assert reached(limits, Spent(runs=3, dollars=Decimal("1.5"))) == ("runs", "dollars")


@pytest.mark.parametrize(
    "without", [{"on_loop": "stop", "on_false_completion": "ignore"}, {"recoveries": 0}]
)
def test_some_policies_never_recover(without: dict[str, Any]) -> None:
    assert RecoveryPolicy().may_recover
    assert not RecoveryPolicy(**without).may_recover


@pytest.mark.parametrize(
    "wrong",
    [
        {"loop_shortest": 26},
        {"loop_shortest": 1},
        {"false_completions": 1},
        {"steps_before": -1},
        {"recoveries": -1},
        {"other_steps": "many"},
        {"writes": "ask"},
        {"stepsbefore": 5},
    ],
)
def test_recovery_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RecoveryPolicy(**wrong)
