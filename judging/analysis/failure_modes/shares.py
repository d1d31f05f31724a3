"""How often an agent's failures show each mode, by whose word, with intervals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import QuerySet

from judging.analysis.failure_modes.sources import ModeSource, with_modes
from judging.models import FailureReview
from judging.statistics.figures import Reason, Share
from webagent.recovery.failure_kinds import OF_THE_AGENT, Mode, Side


class RunModes(NamedTuple):
    """The failure modes of one run by each source; None where it has not examined the run."""

    agent: int
    is_error: bool
    """It ended in an error: no failure, and looked at for the environment alone."""
    by_rules: frozenset[Mode] | None
    by_judge: frozenset[Mode] | None
    by_people: frozenset[Mode] | None
    judge_side: str = ""
    people_side: str = ""

    def modes(self, by: ModeSource) -> frozenset[Mode] | None:
        """The modes by this word. A run that shows the environment shows nothing else."""
        proposed = [each for each in (self.by_judge, self.by_rules) if each is not None]
        known = frozenset().union(*proposed) if proposed else None
        found = {
            ModeSource.MECHANICAL: self.by_rules,
            ModeSource.JUDGE: self.by_judge,
            ModeSource.PEOPLE: self.by_people,
            ModeSource.KNOWN: known if self.by_people is None else self.by_people,
        }[by]
        return frozenset({Mode.ENVIRONMENT}) if found and Mode.ENVIRONMENT in found else found

    def side(self, by: ModeSource) -> Side | None:
        """Operation or reasoning; fixed rules never say."""
        people = self.people_side if self.by_people is not None else None
        word = {
            ModeSource.MECHANICAL: "",
            ModeSource.JUDGE: self.judge_side,
            ModeSource.PEOPLE: people or "",
            ModeSource.KNOWN: self.judge_side if people is None else people,
        }[by]
        return Side(word) if word in set(Side) else None


@dataclass(slots=True)
class ModeFigures:
    """One configuration's failures under one word."""

    by: ModeSource
    failures: int = 0
    examined: int = 0
    """Failures of which somebody whose word counts has spoken."""
    environment: int = 0
    """Those of them that the environment spoiled: none of them is the agent's."""
    errors: int = 0
    """Runs that ended in an error of the environment; they are no failures."""
    modes: Counter[Mode] = field(default_factory=Counter)
    none: int = 0
    """The agent's failures in which no mode was found."""
    sides: Counter[Side] = field(default_factory=Counter)

    @property
    def unknown(self) -> int:
        return self.failures - self.examined

    @property
    def agents(self) -> int:
        """Failures that count: examined, and not the environment's."""
        return self.examined - self.environment

    def share(self, mode: Mode) -> Share:
        """Of the agent's failures; for the environment of all examined failures and errors."""
        if mode is Mode.ENVIRONMENT:
            return Share(self.environment + self.errors, self.examined + self.errors)
        return Share(self.modes[mode], self.agents, Reason.NO_FAILED_RUNS)

    @property
    def without_mode(self) -> Share:
        return Share(self.none, self.agents, Reason.NO_FAILED_RUNS)

    def side_share(self, side: Side) -> Share:
        """Among the agent's failures of which the side is known."""
        return Share(self.sides[side], self.sides.total(), Reason.NO_FAILED_RUNS)

    def add(self, run: RunModes) -> None:
        found = run.modes(self.by)
        if run.is_error:
            self.errors += Mode.ENVIRONMENT in (found or ())
            return
        self.failures += 1
        if found is None:
            return
        self.examined += 1
        if Mode.ENVIRONMENT in found:
            self.environment += 1
            return
        self.modes.update(mode for mode in OF_THE_AGENT if mode in found)
        self.none += not found
        if side := run.side(self.by):
            self.sides[side] += 1


def count(runs: Iterable[RunModes], by: ModeSource) -> dict[int, ModeFigures]:
    """The figures by configuration."""
    found: defaultdict[int, ModeFigures] = defaultdict(lambda: ModeFigures(by))
    for run in runs:
        found[run.agent].add(run)
    return dict(found)


def modes_of_runs(failures: QuerySet[Any], errors: QuerySet[Any]) -> list[RunModes]:
    """The failure modes of these runs, in two queries."""
    columns = ("agent", "by_rules", "by_judge", "by_people", "judge_side", "people_side")
    return [
        RunModes(
            agent=agent,
            is_error=is_error,
            by_rules=_modes(by_rules),
            by_judge=_modes(by_judge),
            by_people=_modes(by_people),
            judge_side=judge_side or "",
            people_side=people_side or "",
        )
        for is_error, runs in ((False, failures), (True, errors))
        for agent, by_rules, by_judge, by_people, judge_side, people_side in with_modes(
            runs
        ).values_list(*columns)
    ]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What people made of proposals."""

    decisions: Mapping[str, int]

    @property
    def confirmed(self) -> Share:
        """Proposals confirmed as they stood among those that people have spoken of."""
        decision = FailureReview.Decision
        total = sum(n for word, n in self.decisions.items() if word != decision.WITHDRAWN)
        return Share(self.decisions.get(decision.CONFIRMED, 0), total)


def reviewed(failures: QuerySet[Any]) -> Reviewed:
    """What people made of the proposals on these runs, where something was proposed."""
    current = FailureReview.objects.filter(
        run__in=failures.order_by().values("pk"), is_current=True
    )
    rows = current.values_list("decision", "proposed")
    return Reviewed(Counter(decision for decision, proposed in rows if proposed.get("modes")))


def _modes(stored: object) -> frozenset[Mode] | None:
    """Stored modes; words that this version does not know are left out."""
    if not isinstance(stored, dict):
        return None
    return frozenset(mode for mode in Mode if mode in stored)
