"""The part of an experiment's page that speaks of MiniWoB++ as a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

from judging.analysis.audits.triangle_links import Linked, LinkedShare
from judging.analysis.experiments.population import COUNTED, RunResult
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import joined, runs_url
from judging.analysis.experiments.sources import Source
from judging.analysis.miniwob import published
from judging.analysis.miniwob.figures import Group, Rule, Suite, SuiteFigures, suite_of
from judging.analysis.miniwob.tables import rule_note
from judging.analysis.miniwob.words import (
    EXCLUSIONS,
    RULES,
    STEPS,
    UNDECIDED,
    UNREWARDED,
    steps_words,
)
from judging.statistics.figures import Figure, Interval, Undefined
from judging.statistics.proportions import Share
from runs.models import Experiment, Run
from webagent.environment.miniwob_suite import TASK_SET, Exclusion, Steps, exclusion_of, steps_of


@dataclass(frozen=True, slots=True)
class RateShown:
    """Some tasks of one configuration under one rule."""

    group: Group
    rule: Rule

    @property
    def value(self) -> Figure:
        return self.group.rate(self.rule).value

    @property
    def interval(self) -> Interval | Undefined:
        """By task; that of all runs where there is one task, or all tasks are alike."""
        by_task = self.group.interval(self.rule)
        return by_task if isinstance(by_task, Interval) else self.pooled.interval

    @property
    def pooled(self) -> Share:
        return self.group.pooled(self.rule)

    @property
    def mean_steps(self) -> float | None:
        return self.group.mean_steps(self.rule)


@dataclass(frozen=True, slots=True)
class ConfigurationShown:
    """One configuration: over all tasks that count, and by steps."""

    figures: SuiteFigures
    experiment: Experiment

    @property
    def elsewhere(self) -> list[tuple[Promise, Linked]]:
        """Runs that failed here and are in no accuracy of the experiment, by why."""
        return [
            (words, Linked(n, self._listed(standing)))
            for n, words, standing in (
                (self.figures.undecided, UNDECIDED, RunResult.ERROR),
                (self.figures.unrewarded, UNREWARDED, RunResult.NONE),
            )
            if n
        ]

    def _listed(self, standing: RunResult) -> str:
        # Only the agent's own errors: others are left out here too.
        return runs_url(
            self.experiment,
            Source(),
            agent=self.figures.agent,
            standing=standing,
            errors=Run.ErrorOrigin.AGENT,
        )

    @property
    def overall(self) -> list[RateShown]:
        return _rates(self.figures.counted)

    @property
    def by_steps(self) -> list[tuple[Promise, int, list[RateShown]]]:
        groups = [(STEPS[steps], self.figures.of(steps)) for steps in Steps]
        groups.append((steps_words(None), self.figures.excluded))
        return [(words, len(each.tasks), _rates(each)) for words, each in groups if each.tasks]


@dataclass(frozen=True, slots=True)
class CellShown:
    """One configuration at one task: its runs by both rules."""

    shares: Sequence[LinkedShare]
    mean_steps: float | None


def suite_page(asked: ReportQuery) -> dict[str, Any]:
    """What the part's template takes."""
    suite, experiment = suite_of(asked.scope), asked.scope.experiment
    return {
        "suite": [ConfigurationShown(each, experiment) for each in suite.configurations],
        "broken": sum(each.broken for each in suite.configurations),
        "rules": list(RULES.values()),
        "rows": [
            (task, _kind(task), [_cell(experiment, one, task) for one in suite.configurations])
            for task in suite.tasks
        ],
        "excluded": _excluded(suite),
        "rule_note": rule_note(),
        "published": published,
    }


def _rates(group: Group) -> list[RateShown]:
    return [RateShown(group, rule) for rule in Rule]


def _kind(task: str) -> Promise:
    why = exclusion_of(task)
    return EXCLUSIONS[why] if why else steps_words(steps_of(task))


def _cell(experiment: Experiment, one: SuiteFigures, task: str) -> CellShown | None:
    found = one.at(task)
    if found is None:
        return None
    address = runs_url(
        experiment,
        Source(),
        agent=one.agent,
        task=f"{TASK_SET}.{task}",
        standing=joined((*COUNTED, RunResult.ERROR)),
        errors=Run.ErrorOrigin.AGENT,
    )
    shares = [LinkedShare(found.share(rule), address) for rule in Rule]
    return CellShown(shares, found.mean_steps(Rule.POSITIVE))


def _excluded(suite: Suite) -> list[tuple[Promise, list[str]]]:
    """What was not run because the source leaves it out: reasons with their tasks."""
    by_reason: dict[Exclusion, list[str]] = {}
    for name, why in suite.not_run:
        by_reason.setdefault(why, []).append(name)
    return [(EXCLUSIONS[why], names) for why, names in by_reason.items()]
