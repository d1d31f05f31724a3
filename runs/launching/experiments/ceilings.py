"""The most that a plan can take under the limits of its retry policy."""

from dataclasses import dataclass

from django.conf import settings

from runs.launching.experiments.plans import Plan
from runs.models.policies import body_of
from webagent.recovery.retry_policy import BatchLimits, PolicyBody


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most attempts of runs, and US dollars, None where nothing limits them.

    Runs that are under way when a limit is reached go on, so a few may come on top.
    """

    attempts: int
    dollars: float | None
    limits: BatchLimits

    def is_below(self, n_runs: int, dollars: float | None, seconds: float | None) -> bool:
        """Whether so much, as far as it is known, reaches a limit before all runs have started."""
        expected = (
            (self.limits.runs, n_runs),
            (self.limits.dollars, dollars),
            (self.limits.seconds, seconds),
        )
        return any(limit and amount and amount > limit for limit, amount in expected)


def ceiling_of(plan: Plan) -> Ceiling | None:
    """What the plan's policy allows; None where none was chosen."""
    if plan.policy is None:
        return None
    body = body_of(plan.policy)
    attempts = plan.n_runs * _attempts(body)
    attempts = min(attempts, body.batch.runs or attempts)
    dollars = [body.batch.dollars, body.run.dollars and body.run.dollars * attempts]
    known = [float(each) for each in dollars if each is not None]
    return Ceiling(attempts, min(known, default=None), body.batch)


def _attempts(body: PolicyBody) -> int:
    if body.infrastructure is None:
        return settings.ENV.MAX_ATTEMPTS
    return body.infrastructure.attempts if body.infrastructure.faults else 1
