"""What the page of a run tells of its policy."""

from __future__ import annotations

from typing import Any, cast

from runs.launching.carrying_out.savings import saving_of
from runs.launching.policies.words import rule_in_words
from runs.models import Run
from runs.models.policy_documents import body_of
from runs.models.shown_runs import hides_something


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
