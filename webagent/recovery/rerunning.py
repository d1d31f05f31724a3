"""Which rule of a policy, if any, has a run run again. Pure: facts in, decision out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from webagent.recovery.retry_policy import RerunRule, RerunWhen
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import EndReason, Outcome

LIMITS = frozenset(
    {
        EndReason.MAX_STEPS,
        EndReason.TIME_LIMIT,
        EndReason.TOKEN_LIMIT,
        EndReason.COST_LIMIT,
        EndReason.MESSAGE_LIMIT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run that has ended.

    `reference` and `evaluators` hold `True` for a success, `False` for a failure, and nothing
    where there is no verdict. `causes` are those that people marked in their labels.
    """

    outcome: Outcome
    end_reason: EndReason
    fault: Fault | None = None
    looped: bool = False
    declared_too_early: bool = False
    reference: bool | None = None
    evaluators: Mapping[str, bool] = field(default_factory=dict)
    causes: frozenset[str] = frozenset()


class RuleOutcome(StrEnum):
    """What becomes of a run under a policy."""

    RERUN = "rerun"
    USED_UP = "used_up"
    """A rule fits, and has made as many reruns of it as it may."""
    NO_RULE = "no_rule"
    NO_VERDICT = "no_verdict"
    """No rule fits as far as is known: one asks for a verdict that there is not."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`rule` is the one that fires, or the first that fits and is used up."""

    answer: RuleOutcome
    rule: RerunRule | None = None


def decide(
    rules: Sequence[RerunRule], facts: RunFacts, made: Mapping[str, int] | None = None
) -> Decision:
    """What the rules have done with the run: the first that fits and is not used up.

    Args:
        made: how many reruns each rule, by its key, has made of the run and its kin.
    """
    made = made or {}
    fits = [rule for rule in rules if applies(rule, facts)]
    for rule in fits:
        if made.get(rule.key, 0) < rule.at_most:
            return Decision(RuleOutcome.RERUN, rule)
    if fits:
        return Decision(RuleOutcome.USED_UP, fits[0])
    if any(applies(rule, facts) is None for rule in rules):
        return Decision(RuleOutcome.NO_VERDICT)
    return Decision(RuleOutcome.NO_RULE)


def applies(rule: RerunRule, facts: RunFacts) -> bool | None:
    """Whether the rule is about this run; None where a verdict that it asks for is missing."""
    verdict: bool | None
    match rule.when:
        case RerunWhen.FAILED_OUTCOME:
            return facts.outcome is Outcome.FAILURE
        case RerunWhen.FAILED_REFERENCE:
            verdict = facts.reference
        case RerunWhen.FAILED_EVALUATOR:
            verdict = facts.evaluators.get(rule.subject)
        case RerunWhen.MARKED:
            return rule.subject in facts.causes
        case RerunWhen.BROKE:
            if facts.outcome is not Outcome.ERROR or facts.fault is None:
                return False
            return rule.faults is None or facts.fault in rule.faults
        case RerunWhen.LOOPED:
            return facts.looped
        case RerunWhen.FALSE_COMPLETION:
            return facts.declared_too_early
        case RerunWhen.AT_LIMIT:
            return facts.end_reason in LIMITS
    return None if verdict is None else not verdict
