"""A retry policy as sentences in reading order: which, and the values in each.

A page holds the words for each key, in its reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from webagent.recovery.policy import ClauseKey
from webagent.recovery.retry_policy import AgentChoice, PolicyBody, RerunRule
from webagent.trajectory.faults import Fault

Value = int | float | Decimal | str | AgentChoice | tuple[Fault, ...] | None


class Sentence(StrEnum):
    """What a policy says beside recovery, whose sentences are those of `ClauseKey`.

    `retried` has `faults`, `attempts`; `backoff` has `seconds` and `cap`; limits have `value`;
    the `reruns_*` have `at_most`, `agent` (None: the same), `subject` and `faults`.
    """

    AS_SET = "as_set"
    RETRIED = "retried"
    BACKOFF = "backoff"
    NEVER_RETRIED = "never_retried"
    LEFT_ALONE = "left_alone"
    TAKES_OVER = "takes_over"
    NOBODY_TAKES_OVER = "nobody_takes_over"
    RUN_STEPS = "run_steps"
    RUN_TOKENS = "run_tokens"
    RUN_DOLLARS = "run_dollars"
    RUN_SECONDS = "run_seconds"
    RUN_UNLIMITED = "run_unlimited"
    BATCH_RUNS = "batch_runs"
    BATCH_TOKENS = "batch_tokens"
    BATCH_DOLLARS = "batch_dollars"
    BATCH_SECONDS = "batch_seconds"
    BATCH_UNLIMITED = "batch_unlimited"
    RERUNS_FAILED_OUTCOME = "reruns_failed_outcome"
    RERUNS_FAILED_REFERENCE = "reruns_failed_reference"
    RERUNS_FAILED_EVALUATOR = "reruns_failed_evaluator"
    RERUNS_MARKED = "reruns_marked"
    RERUNS_BROKE = "reruns_broke"
    RERUNS_LOOPED = "reruns_looped"
    RERUNS_FALSE_COMPLETION = "reruns_false_completion"
    RERUNS_AT_LIMIT = "reruns_at_limit"
    NEW_SEED = "new_seed"
    NO_RERUNS = "no_reruns"


class Section(StrEnum):
    """The parts of a policy, in reading order."""

    INFRASTRUCTURE = "infrastructure"
    RECOVERY = "recovery"
    LIMITS = "limits"
    RERUNS = "reruns"


@dataclass(frozen=True, slots=True)
class PolicyClause:
    """One sentence: which, and the values in it."""

    key: Sentence | ClauseKey
    values: Mapping[str, Value] = field(default_factory=dict)


def clauses(
    body: PolicyBody, *, ends_at_first_message: bool = False
) -> dict[Section, tuple[PolicyClause, ...]]:
    """The sentences of each part.

    Args:
        ends_at_first_message: of the environment, see `RecoveryPolicy.in_words`.
    """
    return {
        Section.INFRASTRUCTURE: _infrastructure(body),
        Section.RECOVERY: _recovery(body, ends_at_first_message=ends_at_first_message),
        Section.LIMITS: _limits(body),
        Section.RERUNS: _reruns(body),
    }


def _infrastructure(body: PolicyBody) -> tuple[PolicyClause, ...]:
    part = body.infrastructure
    if part is None:
        return (PolicyClause(Sentence.AS_SET),)
    if part.attempts == 1 or not part.faults:
        return (PolicyClause(Sentence.NEVER_RETRIED),)
    return (
        PolicyClause(Sentence.RETRIED, {"faults": part.faults, "attempts": part.attempts}),
        PolicyClause(Sentence.BACKOFF, {"seconds": part.backoff_s, "cap": part.backoff_cap_s}),
    )


def _recovery(body: PolicyBody, *, ends_at_first_message: bool) -> tuple[PolicyClause, ...]:
    if body.recovery is None:
        return (PolicyClause(Sentence.LEFT_ALONE),)
    said: list[PolicyClause] = []
    for clause in body.recovery.in_words(ends_at_first_message=ends_at_first_message):
        if clause.key is not ClauseKey.OTHER_AGENT:
            said.append(PolicyClause(clause.key, clause.values))
        elif body.other_agent is None:
            said.append(PolicyClause(Sentence.NOBODY_TAKES_OVER))
        else:
            values: dict[str, Value] = {**clause.values, "agent": body.other_agent}
            said.append(PolicyClause(Sentence.TAKES_OVER, values))
    return tuple(said)


def _limits(body: PolicyBody) -> tuple[PolicyClause, ...]:
    run = [
        PolicyClause(Sentence(f"run_{name}"), {"value": value})
        for name, value in body.run
        if value is not None
    ]
    batch = [
        PolicyClause(Sentence(f"batch_{name}"), {"value": value})
        for name, value in body.batch
        if value is not None
    ]
    return (
        *(run or [PolicyClause(Sentence.RUN_UNLIMITED)]),
        *(batch or [PolicyClause(Sentence.BATCH_UNLIMITED)]),
    )


def _reruns(body: PolicyBody) -> tuple[PolicyClause, ...]:
    said = tuple(clause for rule in body.reruns for clause in rule_clauses(rule))
    return said or (PolicyClause(Sentence.NO_RERUNS),)


def rule_clauses(rule: RerunRule) -> tuple[PolicyClause, ...]:
    """The sentences of one rule."""
    values: dict[str, Value] = {
        "at_most": rule.at_most,
        "agent": rule.agent,
        "subject": rule.subject,
        "faults": rule.faults or (),
    }
    said = PolicyClause(Sentence(f"reruns_{rule.when.value}"), values)
    return (said, PolicyClause(Sentence.NEW_SEED)) if rule.new_seed else (said,)
