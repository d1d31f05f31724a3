"""Runs of two sides paired by task and seed, or by task and trial, and what became of each pair."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.population import RunResult, Scope, Source
from judging.statistics.comparison import Difference, McNemar, mcnemar, paired_difference
from judging.statistics.figures import Share
from runs.models import AgentConfiguration


class By(models.TextChoices):
    """What two runs of a task must share to be a pair."""

    SEED = (
        "seed",
        _(
            "Runs pair by task and seed; where several share both, the first with the first, in "
            "the order of their trials. Runs without a seed pair with none."
        ),
    )
    TRIAL = (
        "trial",
        _(
            "Runs pair by task and number of the trial; where several share both, the first with "
            "the first, in the order of their seeds."
        ),
    )


class Cell(models.TextChoices):
    """What became of a pair. The first four are the 2×2 table."""

    BOTH = "both", _("both succeed")
    ONLY_FIRST = "only_first", _("only the first succeeds")
    ONLY_SECOND = "only_second", _("only the second succeeds")
    NEITHER = "neither", _("neither succeeds")
    NO_VERDICT = "no_verdict", _("no verdict on one or both")


FLIPPED = (Cell.ONLY_FIRST, Cell.ONLY_SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two: an experiment, or one configuration of it."""

    scope: Scope
    agent: AgentConfiguration | None = None
    agent_name: str = ""

    @property
    def name(self) -> str:
        experiment = self.scope.experiment.name
        return f"{experiment}: {self.agent_name}" if self.agent_name else experiment


class Paired(NamedTuple):
    """One run of a side, as far as a comparison needs it."""

    run: UUID
    agent: int | str
    """Its configuration's number or name: runs are compared by one of them."""
    task: tuple[str, str]
    """Its set and its own name: the same in every version of the set."""
    seed: int | None
    trial: int
    standing: RunResult
    seconds: float | None
    cost: float | None
    steps: int

    @property
    def success(self) -> bool | None:
        """Whether it succeeded; None without a verdict."""
        return None if self.standing is RunResult.NONE else self.standing is RunResult.SUCCESS


Holds = Callable[[Paired], bool]


class Pair(NamedTuple):
    first: Paired
    second: Paired

    @property
    def query(self) -> str:
        """What the address of the page says that shows both runs side by side."""
        return urlencode({"a": str(self.first.run), "b": str(self.second.run)})

    @property
    def cell(self) -> Cell:
        one, two = self.first.success, self.second.success
        if one is None or two is None:
            return Cell.NO_VERDICT
        if one:
            return Cell.BOTH if two else Cell.ONLY_FIRST
        return Cell.ONLY_SECOND if two else Cell.NEITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """All pairs of two sides, and the runs that found no partner."""

    by: By
    pairs: Sequence[Pair]
    only_in_first: Sequence[Paired]
    only_in_second: Sequence[Paired]

    @property
    def counts(self) -> Counter[Cell]:
        return Counter(pair.cell for pair in self.pairs)

    @property
    def flipped(self) -> list[Pair]:
        """Those on which just one succeeds."""
        return [pair for pair in self.pairs if pair.cell in FLIPPED]

    @property
    def decided(self) -> list[Pair]:
        """Those in which both runs have a verdict."""
        return [pair for pair in self.pairs if pair.cell is not Cell.NO_VERDICT]

    @property
    def successes(self) -> tuple[Share, Share]:
        """Of the decided pairs, those in which the first succeeds, and the second."""
        counts, total = self.counts, len(self.decided)
        one, two = (Share(counts[Cell.BOTH] + counts[cell], total) for cell in FLIPPED)
        return one, two

    @property
    def gain(self) -> Difference:
        """Of these, with runs of one task taken together."""
        return self.gain_of(lambda run: bool(run.success), lambda run: bool(run.success))

    def gain_of(self, first: Holds, second: Holds) -> Difference:
        """By how much more often the one holds of the second runs than the other of the first."""
        gains = [float(second(two)) - float(first(one)) for one, two in self.decided]
        return paired_difference(gains, [pair.first.task for pair in self.decided], largest=1)

    @property
    def test(self) -> McNemar:
        """Exact, over the pairs on which just one succeeds."""
        counts = self.counts
        return mcnemar(counts[Cell.ONLY_FIRST], counts[Cell.ONLY_SECOND])

    @property
    def union(self) -> Share:
        """Pairs of which at least one succeeds: what the two could do together."""
        counts = self.counts
        won = counts[Cell.BOTH] + counts[Cell.ONLY_FIRST] + counts[Cell.ONLY_SECOND]
        return Share(won, len(self.decided))


def pair_up(first: Side, second: Side, source: Source, by: By | None = None) -> Pairing:
    """The pairs of two sides, in two queries. Only runs that count take part.

    By seed where the sides share one, unless it is said otherwise.
    """
    # Two whole experiments with the same configurations are compared like with like.
    is_whole = first.agent is None and second.agent is None
    return pair_runs(runs_of(first, source), runs_of(second, source), by, like_with_like=is_whole)


def pair_all(
    scope: Scope, configurations: Sequence[Configuration], source: Source, by: By | None = None
) -> list[tuple[Configuration, Configuration, Pairing]]:
    """The pairs of every two configurations of an experiment, in one query."""
    of_agent: defaultdict[int | str, list[Paired]] = defaultdict(list)
    for run in runs_of(Side(scope=scope), source):
        of_agent[run.agent].append(run)
    return [
        (one, two, pair_runs(of_agent[one.pk], of_agent[two.pk], by))
        for one, two in combinations(configurations, 2)
    ]


def pair_runs(
    ours: Sequence[Paired],
    theirs: Sequence[Paired],
    by: By | None = None,
    *,
    like_with_like: bool = False,
) -> Pairing:
    """The pairs among these runs.

    Args:
        like_with_like: only runs of one configuration pair, if there is one on both sides.
    """
    chosen = by or (By.SEED if _share_a_seed(ours, theirs) else By.TRIAL)
    by_agent = like_with_like and not {each.agent for each in ours}.isdisjoint(
        each.agent for each in theirs
    )
    left, right = _buckets(ours, chosen, by_agent), _buckets(theirs, chosen, by_agent)
    pairs: list[Pair] = []
    alone: tuple[list[Paired], list[Paired]] = ([], [])
    for key in left.keys() | right.keys():
        of_first, of_second = left.get(key, []), right.get(key, [])
        can_pair = chosen is By.TRIAL or key[1] is not None
        n = min(len(of_first), len(of_second)) if can_pair else 0
        pairs += map(Pair, of_first[:n], of_second[:n])
        alone[0].extend(of_first[n:])
        alone[1].extend(of_second[n:])
    pairs.sort(key=lambda pair: (pair.first.task, pair.first.trial, pair.first.run))
    for runs in alone:
        runs.sort(key=lambda run: (run.task, run.trial, run.run))
    return Pairing(by=chosen, pairs=pairs, only_in_first=alone[0], only_in_second=alone[1])


Key = tuple[tuple[str, str], int | None, int | str | None]


def _buckets(runs: Iterable[Paired], by: By, by_agent: bool) -> dict[Key, list[Paired]]:
    """Runs that may pair with one another, in the order in which they do."""
    found: defaultdict[Key, list[Paired]] = defaultdict(list)
    for run in sorted(runs, key=lambda each: (each.trial, each.seed or 0, each.run)):
        agent = run.agent if by_agent else None
        found[run.task, run.seed if by is By.SEED else run.trial, agent].append(run)
    return dict(found)


def _share_a_seed(first: Iterable[Paired], second: Iterable[Paired]) -> bool:
    seeds = {(each.task, each.seed) for each in first if each.seed is not None}
    return any((each.task, each.seed) in seeds for each in second)


def runs_of(side: Side, source: Source) -> list[Paired]:
    """The runs of a side that count."""
    runs = side.scope.counted(source)
    if side.agent is not None:
        runs = runs.filter(agent=side.agent)
    rows = runs.values_list("pk", "agent", "standing", *STORED)
    return [paired(pk, agent, RunResult(word), *rest) for pk, agent, word, *rest in rows]


STORED = (
    "task__task_set__name",
    "task__external_id",
    "seed",
    "trial",
    "seconds",
    "cost",
    "n_steps",
)
"""What a pair must know of a run as it is stored."""


def paired(run: UUID, agent: int | str, standing: RunResult, *stored: Any) -> Paired:
    """A run with its values of `STORED`, as far as a comparison needs it."""
    task_set, task, seed, trial, seconds, cost, steps = stored
    dollars = None if cost is None else float(cost)
    return Paired(run, agent, (task_set, task), seed, trial, standing, seconds, dollars, steps)
