"""What the page of a run shows of its policy, and what stopping a run early saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

from runs.launching.policies.words import rule_in_words
from runs.models import Run
from runs.models.policies import body_of
from runs.models.runs.run import hides_something

if TYPE_CHECKING:
    from runs.models.runs.run import ShownRun


@dataclass(frozen=True, slots=True)
class Saving:
    """At most so many steps, and what they would have cost at the run's own price a step.

    `dollars` is None where no model call had a price.
    """

    steps: int
    dollars: Decimal | None

    def __add__(self, other: Saving) -> Saving:
        known = [each for each in (self.dollars, other.dollars) if each is not None]
        return Saving(self.steps + other.steps, sum(known, Decimal(0)) if known else None)


def saving_of(run: ShownRun) -> Saving | None:
    """What the early stop of the run saved; None where it was not stopped, or is hidden."""
    if run.is_blind or run.is_anonymous or run.end_reason != Run.EndReason.HARNESS_LOOP_STOP:
        return None
    extra = run.record.get("extra")
    recovery = extra.get("recovery") if isinstance(extra, dict) else None
    return saving_in(recovery, run.n_steps, run.cost) if isinstance(recovery, dict) else None


def saving_in(recovery: Mapping[str, JsonValue], n_steps: int, cost: Decimal | None) -> Saving:
    """The saving by the summary of recovery in a run's record."""
    saved, replayed = recovery.get("steps_saved_at_most"), recovery.get("replayed_steps")
    steps = saved if isinstance(saved, int) else 0
    decided = n_steps - (replayed if isinstance(replayed, int) else 0)
    if cost is None or decided <= 0:
        return Saving(steps, None)
    return Saving(steps, cost / decided * steps)


def policy_facts(run: Run) -> dict[str, Any]:
    """Policy, the rule that had the run made, and what an early stop saved.

    Nothing of them where the run hides something from the viewer: a policy may name agents, and a
    rule tells how the run before this one went.
    """
    if hides_something(run):
        return {}
    return {
        "policy": run.policy,
        "rerun_rule": _rule(run),
        "saving": saving_of(cast("Any", run)),
    }


def _rule(run: Run) -> str:
    if run.policy is None or not run.rerun_rule:
        return ""
    rules = {rule.key: rule for rule in body_of(run.policy).reruns}
    rule = rules.get(run.rerun_rule)
    return rule_in_words(rule) if rule else ""
