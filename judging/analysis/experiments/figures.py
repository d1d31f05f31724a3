"""What each agent configuration of an experiment achieved, took and cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Case, Count, IntegerField, Max, Min, Sum, When

from judging.analysis.experiments.population import COUNTED, DECIDED, RunResult, Scope, Source
from judging.statistics.figures import Interval, Share
from judging.statistics.success import Mean, clustered_rate, mean_interval, success_rate
from runs.catalogue.agents import setting_in_words, usual_setting
from runs.models import AgentConfiguration

MOST_ORDERED = 100
"""Configurations in whose order runs are listed; those of further ones follow."""
Trials = tuple[int, int]
"""Trials with a verdict, and successes among them."""


class Sums(NamedTuple):
    """Runs of one configuration on one task that stand alike, added up."""

    agent: int
    task: int
    standing: RunResult
    runs: int
    seconds: float | None
    timed: int
    cost: Decimal | None
    priced: int
    steps: int
    first: datetime | None
    last: datetime | None


def standings_of(sums: Iterable[Sums]) -> Counter[RunResult]:
    """How many runs stand where."""
    total: Counter[RunResult] = Counter()
    for each in sums:
        total[each.standing] += each.runs
    return total


@dataclass(frozen=True, slots=True)
class Amount:
    """What runs took, of those of which it is known: unknown is not nothing."""

    total: float
    known: int
    runs: int

    @property
    def mean(self) -> float | None:
        """Per run of which it is known; None where it is known of none."""
        return self.total / self.known if self.known else None

    @property
    def known_total(self) -> float | None:
        """None where it is known of none."""
        return self.total if self.known else None


class Configuration:
    """One configuration. `standings` counts all that may be told of it, the rest what counts.

    Runs that the reader still judges are in neither: how many of them a configuration has would
    tell, by what it lacks beside others, whose the runs are that are not even counted as hidden.
    """

    def __init__(self, agent: AgentConfiguration, name: str, sums: Sequence[Sums]) -> None:
        shown = [each for each in sums if each.standing is not RunResult.HIDDEN]
        counted = [each for each in shown if each.standing in COUNTED]
        self.counted = runs = sum(each.runs for each in counted)
        trials: defaultdict[int, Counter[RunResult]] = defaultdict(Counter)
        for each in shown:
            if each.standing in DECIDED:
                trials[each.task][each.standing] += each.runs
        self.agent = agent
        self.name = name
        self.standings: Mapping[RunResult, int] = standings_of(shown)
        self.trials: Mapping[int, Trials] = {
            task: (n.total(), n[RunResult.SUCCESS]) for task, n in trials.items()
        }
        """By task, of those with a verdict."""
        self.tasks = len({each.task for each in counted})
        seconds = sum(each.seconds or 0.0 for each in counted)
        self.seconds = Amount(seconds, sum(each.timed for each in counted), runs)
        self.cost = _cost(counted)
        self.steps = Amount(float(sum(each.steps for each in counted)), runs, runs)
        self.spent = _cost(shown)
        """The cost of everything: errors and earlier attempts too."""
        self.started = min((each.first for each in shown if each.first), default=None)
        self.ended = max((each.last for each in shown if each.last), default=None)

    @property
    def pk(self) -> int:
        return self.agent.pk

    @property
    def successes(self) -> int:
        return self.standings.get(RunResult.SUCCESS, 0)

    @property
    def failures(self) -> int:
        return self.standings.get(RunResult.FAILURE, 0)

    @property
    def decided(self) -> int:
        """n: runs with a verdict."""
        return self.successes + self.failures

    @property
    def undecided(self) -> int:
        """Runs that count and have no verdict from this source."""
        return self.standings.get(RunResult.NONE, 0)

    @property
    def accuracy(self) -> Share:
        """Successes among the runs with a verdict, with Wilson's interval."""
        return Share(self.successes, self.decided)

    @property
    def naive(self) -> Mean:
        """The same with the standard error of independent runs."""
        return success_rate(self.successes, self.decided)

    @property
    def clustered(self) -> Mean:
        """The same with a standard error that knows that runs share tasks."""
        return clustered_rate(list(self.trials.values()))

    @property
    def by_task(self) -> Interval | None:
        """The interval that knows that runs share tasks; None where they share none, or too few."""
        clustered = self.clustered
        if clustered.clusters == clustered.runs:
            return None
        found = mean_interval(clustered, low=0.0, high=1.0)
        return found if isinstance(found, Interval) else None

    @property
    def wall_seconds(self) -> float | None:
        """From the first start to the last end, whatever ran side by side."""
        if self.started is None or self.ended is None:
            return None
        return max(0.0, (self.ended - self.started).total_seconds())


class ExperimentFigures:
    """All configurations of an experiment under one source, and how many runs stand where.

    Takes two queries, however many runs there are.
    """

    def __init__(self, scope: Scope, source: Source) -> None:
        self.scope, self.source = scope, source
        self.sums = _sums(scope, source)
        by_agent: defaultdict[int, list[Sums]] = defaultdict(list)
        for each in self.sums:
            by_agent[each.agent].append(each)
        agents = AgentConfiguration.objects.in_bulk(by_agent)
        names = configuration_names(agents.values())
        self.configurations: Sequence[Configuration] = [
            Configuration(agents[pk], name, by_agent[pk]) for pk, name in names.items()
        ]
        self.standings = standings_of(self.sums)
        self.decided = sum(each.decided for each in self.configurations)
        self.counted = sum(each.counted for each in self.configurations)


def configuration_names(agents: Iterable[AgentConfiguration]) -> dict[int, str]:
    """Name and model of each, and what is set differently among those that share them.

    The version is told where there are several, and a number where nothing else tells two apart.
    Of those that share name and model, the one with the usual settings comes first, then those
    that change one of them, and so on.
    """
    agents = list(agents)
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for agent in agents:
        versions[agent.name].add(agent.version)
    by_name: defaultdict[str, list[AgentConfiguration]] = defaultdict(list)
    for agent in agents:
        bare = str(agent) if len(versions[agent.name]) > 1 else agent.name
        by_name[f"{bare} · {agent.model}" if agent.model else bare].append(agent)
    found = sorted(
        (name, len(changed), ", ".join(_settings(agent, keys)), agent.pk)
        for name, alike in by_name.items()
        for keys in [_differing(alike)]
        for agent in alike
        for changed in [[key for key in keys if _is_changed(agent, key)]]
    )
    names = {pk: f"{name} ({setting})" if setting else name for name, _n, setting, pk in found}
    often = Counter(names.values())
    return {pk: f"{name} #{pk}" if often[name] > 1 else name for pk, name in names.items()}


def names_in(scope: Scope) -> dict[int, str]:
    """What the configurations are called that are known to have acted in the experiment, in the
    order in which they are shown.
    """
    acted = scope.visible.order_by().values("agent")
    return configuration_names(AgentConfiguration.objects.filter(pk__in=acted))


def place_among(names: Iterable[int]) -> Case:
    """The place of a run's configuration among these, for the order of runs."""
    places = [When(agent=pk, then=n) for n, pk in enumerate(names) if n < MOST_ORDERED]
    return Case(*places, default=MOST_ORDERED, output_field=IntegerField())


def _differing(agents: Sequence[AgentConfiguration]) -> list[str]:
    """The settings that not all of them share."""
    keys = sorted({key for agent in agents for key in agent.config})
    return [
        key
        for key in keys
        if any(agent.config.get(key) != agents[0].config.get(key) for agent in agents)
    ]


def _is_changed(agent: AgentConfiguration, key: str) -> bool:
    usual = usual_setting(agent.name, key)
    return bool(agent.config.get(key, usual) != usual)


def _settings(agent: AgentConfiguration, keys: Iterable[str]) -> Iterator[str]:
    """Those of the settings that the agent has; some that are as usual are not stored with it."""
    for key in keys:
        if key in agent.config:
            yield setting_in_words(key, agent.config[key])
        elif usual := usual_setting(agent.name, key):
            yield setting_in_words(key, usual)


def _sums(scope: Scope, source: Source) -> list[Sums]:
    rows = (
        scope.standing(source)
        .values_list("agent", "task", "standing")
        .annotate(
            n=Count("*"),
            sum_seconds=Sum("seconds"),
            timed=Count("seconds"),
            sum_cost=Sum("cost"),
            priced=Count("cost"),
            sum_steps=Sum("n_steps"),
            first=Min("started_at"),
            last=Max("ended_at"),
        )
    )
    return [Sums(agent, task, RunResult(word), *rest) for agent, task, word, *rest in rows]


def _cost(sums: Sequence[Sums]) -> Amount:
    total = sum((each.cost or Decimal(0) for each in sums), Decimal(0))
    return Amount(float(total), sum(each.priced for each in sums), sum(each.runs for each in sums))
