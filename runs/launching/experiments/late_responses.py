"""What a plan's retry policy cannot do about stuck agents, because runs end too soon."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from runs.launching.experiments.plans import Plan
from runs.models.policies import body_of
from webagent.recovery.retry_policy import AnomalyResponse, RecoveryPolicy


def late_responses(plan: Plan) -> list[str]:
    """A sentence for each response of the policy that comes too late for runs of the plan."""
    body = body_of(plan.policy) if plan.policy else None
    if body is None or body.recovery is None:
        return []
    most = body.run.steps
    asked = [plan.step_limit(task, agent) for task in plan.tasks for agent in plan.agents]
    limits = [min(limit, most or limit) for limit in asked]
    said = []
    for words, steps in _noticed_after(body.recovery):
        # With its last step a run ends, whatever is noticed then.
        late = sum(limit <= steps for limit in limits) * plan.trials
        if late:
            said.append(words % {"steps": steps, "late": late, "total": plan.n_runs})
    return said


def _noticed_after(policy: RecoveryPolicy) -> Iterator[tuple[str, int]]:
    """For each response, what to say of it, and the fewest steps that it takes."""
    if policy.on_loop is not AnomalyResponse.IGNORE:
        words = _(
            "The retry policy notices a loop after %(steps)d steps at the earliest: too late for "
            "%(late)d of %(total)d runs, whose step limit ends them by then."
        )
        yield words, policy.loop_shortest
    if policy.on_false_completion is not AnomalyResponse.IGNORE:
        words = _(
            "The retry policy notices repeated completion after %(steps)d steps at the earliest: "
            "too late for %(late)d of %(total)d runs, whose step limit ends them by then."
        )
        yield words, policy.false_completions
