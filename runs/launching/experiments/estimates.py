"""What an experiment will take, told from what such runs took before, and the most it can."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, quantiles

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from runs.catalogue.agents import agent_hash, setting_in_words, usual_setting
from runs.catalogue.language_models import ModelUnavailableError, offered_models
from runs.interface.sentences import listed
from runs.launching.experiments.plans import Plan
from runs.launching.experiments.selection import BUDGET_KEY, LIMIT_KEY
from runs.models import Run, RunStatus, User
from runs.models.experiments import KNOWLEDGE_KEY
from runs.models.policies import body_of
from runs.models.tasks import task_key
from runs.queue.workers import browsers
from webagent.recovery.retry_policy import BatchLimits, PolicyBody
from webagent.trajectory.records import AgentRecord, Json

MOST_PAST_RUNS = 1000


@dataclass(frozen=True, slots=True)
class Spread:
    """Amounts of past runs: how many there are, their mean, median and quartiles."""

    n: int
    mean: float
    median: float
    low: float
    high: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEstimate:
    """What one agent's runs will take, each; None where no past run tells."""

    agent: AgentRecord
    n_runs: int
    basis: str
    """Which past runs it rests on, in words; empty without any."""
    seconds: Spread | None
    cost: Spread | None
    model: str
    """Name of the model that it asks; empty for agents without one."""
    is_priced: bool
    """Whether the model's price is known."""

    @property
    def arm(self) -> str:
        """Its step limit, web knowledge and budget of that, in words, as far as they are set."""
        config = self.agent.config or {}
        if KNOWLEDGE_KEY in config:
            config = {BUDGET_KEY: usual_setting(self.agent.name, BUDGET_KEY)} | config
        return listed(
            setting_in_words(key, config[key])
            for key in (LIMIT_KEY, KNOWLEDGE_KEY, BUDGET_KEY)
            if key in config
        )

    @property
    def cost_words(self) -> str:
        """What is to be said of the cost where no past run tells it; empty where one does."""
        if not self.model:
            return _("asks no model")
        if self.cost is not None:
            return ""
        if not self.is_priced:
            return _("unknown: the price of %(model)s is not in the file of models") % {
                "model": self.model
            }
        return _("unknown: no such run yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the whole plan will take. Sums leave out what is not known, and say so."""

    n_runs: int
    browsers: int
    agents: tuple[AgentEstimate, ...]
    ceiling: Ceiling | None = None
    """The most that a retry policy allows; None without one."""

    @property
    def seconds(self) -> float | None:
        """Browser time of all runs whose agents have run before; None if none has."""
        known = [each.n_runs * each.seconds.mean for each in self.agents if each.seconds]
        return sum(known) if known else None

    @property
    def wall_seconds(self) -> float | None:
        """The same with all browsers at work, none of them for anybody else."""
        if self.seconds is None:
            return None
        longest = max(each.seconds.mean for each in self.agents if each.seconds)
        return max(self.seconds / self.browsers, longest)

    @property
    def cost(self) -> float | None:
        """US dollars; None where agents ask models and nothing is known of the cost."""
        known = [each.n_runs * each.cost.mean for each in self.agents if each.cost and each.model]
        if not known and self.asks_models:
            return None
        return sum(known)

    @property
    def asks_models(self) -> bool:
        return any(each.model for each in self.agents)

    @property
    def is_cut_short(self) -> bool:
        """Whether the policy's limits are expected to leave runs that never start."""
        return bool(self.ceiling and self.ceiling.is_below(self.n_runs, self.cost, self.seconds))

    @property
    def is_time_complete(self) -> bool:
        return all(each.seconds for each in self.agents)

    @property
    def is_cost_complete(self) -> bool:
        return all(each.cost or not each.model for each in self.agents)

    def to_json(self) -> Json:
        """For commands."""
        return {
            "runs": self.n_runs,
            "browsers": self.browsers,
            "seconds": self.seconds,
            "wall_seconds": self.wall_seconds,
            "seconds_complete": self.is_time_complete,
            "cost": self.cost,
            "cost_complete": self.is_cost_complete,
            "most_attempts": self.ceiling.attempts if self.ceiling else None,
            "most_cost": self.ceiling.dollars if self.ceiling else None,
            "agents": [_agent_json(each) for each in self.agents],
        }


def estimate(plan: Plan, user: User | None) -> Estimate:
    """What the plan will take, by past runs that hide nothing from the person."""
    priced = _priced_models()
    parallelism = plan.parallelism or browsers() or settings.BROWSERS
    at_a_time = min(parallelism, browsers() or settings.BROWSERS)
    return Estimate(
        n_runs=plan.n_runs,
        browsers=at_a_time,
        agents=tuple(_estimate(agent, plan, user, priced) for agent in plan.agents),
        ceiling=_ceiling_of(plan),
    )


def _ceiling_of(plan: Plan) -> Ceiling | None:
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


def _estimate(agent: AgentRecord, plan: Plan, user: User | None, priced: set[str]) -> AgentEstimate:
    seconds, costs, basis = _past(agent, plan, user)
    model = (agent.config or {}).get("model")
    return AgentEstimate(
        agent=agent,
        n_runs=len(plan.tasks) * plan.trials,
        basis=basis,
        seconds=_spread(seconds),
        cost=_spread(costs),
        model=model if isinstance(model, str) else "",
        is_priced=model in priced,
    )


def _past(
    agent: AgentRecord, plan: Plan, user: User | None
) -> tuple[list[float], list[float], str]:
    """Seconds and costs of this configuration's past runs, and which those are."""
    sets = {task.task_set.name for task in plan.tasks}
    names = {task.external_id for task in plan.tasks}
    names |= {task_key(task.task_set.name, task.external_id) for task in plan.tasks}
    past = _ended_runs(user).filter(agent__config_hash=agent_hash(agent))
    in_sets = past.filter(task__task_set__name__in=sets)
    for runs, basis in (
        (in_sets.filter(task__external_id__in=names), _("same task")),
        (in_sets, _("other tasks of the set")),
        (past, _("other task sets")),
    ):
        rows = list(runs.values_list("seconds", "cost")[:MOST_PAST_RUNS])
        if rows:
            costs = [float(cost) for _seconds, cost in rows if cost is not None]
            return [seconds for seconds, _cost in rows if seconds is not None], costs, basis
    return [], [], ""


def _ended_runs(user: User | None) -> QuerySet[Run]:
    """Runs that came to an end of their own, newest first.

    How long one took tells of its outcome and its agent, so those that the person still judges
    are left out.
    """
    runs = Run.objects.all()
    if user is not None:
        runs = runs.visible_to(user).not_blind().not_anonymous()
    return (
        runs.filter(status=RunStatus.FINISHED)
        .exclude(outcome=Run.Outcome.ERROR)
        .order_by("-created_at", "-pk")
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    low, _middle, high = quantiles(values, n=4, method="inclusive") if values[1:] else [*values] * 3
    return Spread(len(values), mean(values), median(values), low, high)


def _priced_models() -> set[str]:
    """Models of the file whose prices are in it."""
    try:
        return {offer.name for offer in offered_models() if offer.has_price}
    except ModelUnavailableError:
        return set()


def _agent_json(each: AgentEstimate) -> Json:
    def amounts(spread: Spread | None) -> Json | None:
        if spread is None:
            return None
        return {
            "past_runs": spread.n,
            "mean": spread.mean,
            "median": spread.median,
            "quartiles": [spread.low, spread.high],
        }

    return {
        "agent": each.agent.name,
        "config": each.agent.config,
        "runs": each.n_runs,
        "basis": each.basis or None,
        "seconds_per_run": amounts(each.seconds),
        "cost_per_run": amounts(each.cost),
        "model": each.model or None,
        "price_known": each.is_priced if each.model else None,
    }
