"""The parts of an experiment's page that are fetched after it, each with its numbers linked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.triangle_links import Linked, LinkedShare
from judging.analysis.experiments import drawing
from judging.analysis.experiments.controls import CONTROLS, LetThrough, controls_name, controls_of
from judging.analysis.experiments.endings import endings_of, failure_modes_of, never_looked_at
from judging.analysis.experiments.figures import ExperimentFigures, Figures, names_in
from judging.analysis.experiments.groups import GROUPINGS, Group, groups_of, placed_tasks
from judging.analysis.experiments.lengths import lengths_of
from judging.analysis.experiments.pairs import FLIPPED, RULES, By, Cell, Pairing, pair_all
from judging.analysis.experiments.population import DECIDED, RunResult, Scope
from judging.analysis.experiments.recovery import Detections, detections_of
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.savings import StoppedEarly, stopped_early
from judging.analysis.experiments.selection import joined, runs_url
from judging.analysis.experiments.table_parts import TABLE_NAMES
from judging.analysis.experiments.trials import selector_words, trials_of
from judging.analysis.failure_modes.panel import mode_panel, read_whose
from judging.analysis.failure_modes.told import Word
from judging.analysis.miniwob import published
from judging.analysis.miniwob.causes import causes_of
from judging.analysis.miniwob.figures import is_suite
from judging.analysis.miniwob.page import suite_page
from judging.analysis.miniwob.tables import OF_SUITE
from judging.analysis.progress.page import summary_rows
from judging.analysis.progress.report_query import Options, ProgressAsked
from judging.analysis.progress.sources import default_progress_source, progress_choices
from runs.models import Experiment, Run, Task
from runs.operations.health.infrastructure import error_rates
from webagent.recovery.failure_kinds import Mode

MOST_GROUPS = 20
ANY_DECIDED = joined(DECIDED)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page: what it asks, its template, and what that is filled with."""

    title: Promise
    template: str
    fill: Callable[[ReportQuery, Mapping[str, str]], dict[str, Any]]


def _accuracy(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    return {"picture": drawing.accuracy(asked)}


def _groups(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    tasks = placed_tasks(asked.figures)
    every = {by: groups_of(asked.figures, by, tasks) for by in GROUPINGS}
    shown = [
        {
            "title": GROUPINGS[by],
            "rows": [(group, _linked_shares(asked, by, group)) for group in groups[:MOST_GROUPS]],
            "left_out": max(0, len(groups) - MOST_GROUPS),
        }
        for by, groups in every.items()
        if len(groups) > 1
    ]
    return {"groupings": shown}


def _linked_shares(asked: ReportQuery, by: str, group: Group) -> list[LinkedShare]:
    return [
        LinkedShare(
            share,
            _runs(asked, each, standing=ANY_DECIDED, **{by: group.name}) if share.total else "",
        )
        for each, share in zip(asked.figures.configurations, group.shares, strict=True)
    ]


def _recovery(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    pictures = drawing.detections(asked)
    found = detections_of(asked.figures, asked.scope)
    stopped = stopped_early(asked.scope, asked.source)
    return {
        "rows": [_recovered(asked, each, stopped) for each in found],
        "pictures": _pictures(asked, "detections", pictures, [e for e in found if e.most]),
        "has_any": any(each.most or each.recovered for each in found),
    }


def _recovered(
    asked: ReportQuery, found: Detections, stopped: Mapping[int, StoppedEarly]
) -> dict[str, Any]:
    each, won = found.configuration, RunResult.SUCCESS
    return {
        "found": found,
        "unaided": Linked(found.unaided, _runs(asked, each, standing=won, recovered="no")),
        "rescued": Linked(found.rescued, _runs(asked, each, standing=won, recovered="yes")),
        "detected": LinkedShare(
            found.among_detected, _runs(asked, each, standing=ANY_DECIDED, detections="1+")
        ),
        "recovered": LinkedShare(
            found.among_recovered, _runs(asked, each, standing=ANY_DECIDED, recovered="yes")
        ),
        "stopped": stopped.get(each.agent.pk),
    }


def _lengths(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    found = lengths_of(asked.figures, asked.scope)
    bins = [
        (
            drawing.steps_words(first),
            [
                (
                    LinkedShare(
                        each.bins[number].share,
                        _runs(
                            asked,
                            each.configuration,
                            standing=ANY_DECIDED,
                            steps=f"{first.first}-{first.last}",
                        ),
                    ),
                    each.bins[number].within,
                )
                for each in found
            ],
        )
        for number, first in enumerate(found[0].bins if found else [])
    ]
    drawn = drawing.lengths(asked)
    return {"bins": bins, "pictures": _pictures(asked, "lengths", drawn, found)}


def _failures(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    told = failure_modes_of(asked.figures, asked.scope)
    word = _whose(query)
    by_pk = {each.agent.pk: each for each in asked.figures.configurations}

    def link(pk: int, shown: str, by: Word) -> str:
        standings = (RunResult.FAILURE, RunResult.ERROR)
        standing = joined(standings) if shown == Mode.ENVIRONMENT else RunResult.FAILURE
        return _runs(asked, by_pk[pk], standing=standing, mode=shown, by=by)

    columns = [(each.agent.pk, each.name, found) for each, found in told.by(word)]
    return {
        "panel": mode_panel(columns, word, told.reviewed, link),
        "never_looked_at": never_looked_at(asked.figures, asked.scope),
    }


def _whose(query: Mapping[str, str]) -> Word:
    try:
        return read_whose(query.get("by", ""))
    except ValueError:
        return Word.KNOWN


def _endings(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    found = endings_of(asked.figures, asked.scope)
    standings = (RunResult.SUCCESS, RunResult.FAILURE, RunResult.NONE)
    reasons = [
        (
            each.configuration,
            Run.EndReason(reason).label,
            [
                Linked(
                    counts[standing],
                    _runs(asked, each.configuration, standing=standing, end=reason),
                )
                for standing in standings
            ],
        )
        for each in found
        for reason, counts in each.reasons
    ]
    return {"reasons": reasons}


def _trials(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    found = trials_of(asked.figures, asked.scope, asked.selector)
    return {
        "found": found,
        "pictures": _pictures(asked, "trials", drawing.trials(asked), found),
        "selector": asked.selector,
        "selector_words": selector_words(asked.selector, found),
    }


def _pairs(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    by_pk = {each.agent.pk: each for each in asked.figures.configurations}
    found = pair_all(asked.scope, list(by_pk), asked.source, asked.by)
    shown = [
        PairShown(asked, by_pk[first], by_pk[second], pairing) for first, second, pairing in found
    ]
    wanted = (query.get("first"), query.get("second"))
    chosen = next(
        (p for p in shown if (str(p.first.agent.pk), str(p.second.agent.pk)) == wanted), None
    ) or max(shown, key=lambda pair: pair.pairing.decided, default=None)
    return {"pairs": shown, "chosen": chosen}


@dataclass(frozen=True, slots=True)
class PairShown:
    """Two configurations of an experiment: the 2×2 table and the runs behind it."""

    asked: ReportQuery
    first: Figures
    second: Figures
    pairing: Pairing

    @property
    def rule(self) -> Promise:
        return RULES[self.pairing.by]

    @property
    def other_rule(self) -> By:
        return By.TRIAL if self.pairing.by is By.SEED else By.SEED

    @property
    def address(self) -> str:
        return compare_url(self.asked, self.first, self.second, self.pairing.by)

    @property
    def cells(self) -> dict[str, Linked]:
        """Every cell with its runs."""
        counts = self.pairing.counts
        return {
            cell.value: Linked(counts[cell], f"{self.address}&cell={cell}#pairs") for cell in Cell
        }

    @property
    def alone(self) -> tuple[int, int]:
        """Unpaired runs of either."""
        return len(self.pairing.only_in_first), len(self.pairing.only_in_second)

    @property
    def flipped(self) -> int:
        return sum(self.pairing.counts[cell] for cell in FLIPPED)


def compare_url(asked: ReportQuery, first: Figures, second: Figures, by: By) -> str:
    """The page that compares two configurations of the experiment."""
    pk = asked.scope.experiment.pk
    query: dict[str, str | int] = {
        "a": pk,
        "a_agent": first.agent.pk,
        "b": pk,
        "b_agent": second.agent.pk,
        "verdict": asked.source.key,
        "pair": by.value,
    }
    return f"{reverse('judging:experiment_compare')}?{urlencode(query)}"


def _infrastructure(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    # What was launched here will have attempts; what came in by import never has.
    return {
        "rates": error_rates(asked.scope.told, names_in(asked.scope)),
        "is_ours": bool(asked.scope.experiment.plan),
    }


def _progress(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    choices = progress_choices(asked.scope.told)
    progress = ProgressAsked(asked, default_progress_source(choices), Options())
    return {
        "progress": progress,
        "rows": summary_rows(progress) if choices else [],
        "whole": reverse("judging:experiment_progress_rates", args=[asked.scope.experiment.pk]),
        "tasks": _tasks_url(asked.figures),
    }


def _tasks_url(figures: ExperimentFigures) -> str:
    """The list of tasks, of the sets that this is about: their milestones are written there."""
    told = {each.task for each in figures.sums if each.standing is not RunResult.HIDDEN}
    sets = Task.objects.filter(pk__among=told).order_by("task_set").values_list("task_set")
    query = urlencode([("task_set", pk) for (pk,) in sets.distinct()])
    return f"{reverse('runs:task_list')}?{query}"


def _controls(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    controls = controls_of(asked.scope)
    return {
        "controls": controls,
        "rows": [(found, _let_through(asked, found)) for found in controls.sources],
        "every": list(CONTROLS.values()),
        "beside": Experiment.objects.filter(name=controls_name(asked.scope.experiment)).first(),
    }


def _let_through(asked: ReportQuery, found: LetThrough) -> list[tuple[LinkedShare, int]]:
    return [
        (
            LinkedShare(
                share,
                runs_url(
                    asked.scope.experiment,
                    found.source,
                    control=name,
                    standing=RunResult.SUCCESS if share.count else ANY_DECIDED,
                ),
            ),
            found.undecided[name],
        )
        for name, share in ((key, found.passed[key]) for key in CONTROLS if key in found.passed)
    ]


def _runs(asked: ReportQuery, each: Figures, **chosen: object) -> str:
    return runs_url(asked.scope.experiment, asked.source, agent=each.agent.pk, **chosen)


def _pictures(
    asked: ReportQuery, name: str, pictures: Mapping[int, Any], found: Sequence[Any]
) -> list[tuple[Figures, Any, str]]:
    """Each configuration with its picture, and where that can be taken away."""
    address = reverse("judging:experiment_picture", args=[asked.scope.experiment.pk, name])
    return [
        (
            each.configuration,
            pictures[pk],
            f"{address}?{urlencode(picture_query(asked, pk))}",
        )
        for each in found
        if (pk := each.configuration.agent.pk) in pictures
    ]


def picture_query(asked: ReportQuery, agent: int) -> dict[str, str | int]:
    """What the address of a picture says."""
    query: dict[str, str | int] = {"verdict": asked.source.key, "agent": agent}
    return query | ({"selector": asked.selector.key} if asked.selector else {})


def _miniwob(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    return suite_page(asked)


def _miniwob_causes(asked: ReportQuery, query: Mapping[str, str]) -> dict[str, Any]:
    return {"samples": causes_of(asked.scope), "published": published}


PARTS: Mapping[str, Part] = {
    "accuracy": Part(drawing.QUESTIONS["accuracy"], "_experiment_accuracy", _accuracy),
    "miniwob": Part(_("How well is MiniWoB++ solved?"), "_experiment_miniwob", _miniwob),
    "miniwob_causes": Part(
        _("What fails on MiniWoB++: seeing or reasoning?"),
        "_experiment_miniwob_causes",
        _miniwob_causes,
    ),
    "groups": Part(_("Where does it succeed?"), "_experiment_groups", _groups),
    "progress": Part(_("How far do runs get?"), "_experiment_progress_rates", _progress),
    "pairs": Part(_("What does one solve that another does not?"), "_experiment_pairs", _pairs),
    "recovery": Part(drawing.QUESTIONS["detections"], "_experiment_recovery", _recovery),
    "trials": Part(drawing.QUESTIONS["trials"], "_experiment_trials", _trials),
    "lengths": Part(drawing.QUESTIONS["lengths"], "_experiment_lengths", _lengths),
    "failures": Part(_("How do runs fail?"), "_experiment_failures", _failures),
    "endings": Part(_("How do runs end?"), "_experiment_endings", _endings),
    "controls": Part(
        _("What do evaluators let through for agents that solve nothing?"),
        "_experiment_controls",
        _controls,
    ),
    "infrastructure": Part(
        _("How often did the infrastructure fail?"), "_experiment_infrastructure", _infrastructure
    ),
}
"""By name in the address, in the page's order."""


def shown_for(scope: Scope) -> dict[str, Any]:
    """The parts and tables that have something to say of the experiment."""
    if is_suite(scope):
        return {"parts": PARTS, "tables": TABLE_NAMES}
    return {
        "parts": {name: part for name, part in PARTS.items() if not name.startswith(OF_SUITE)},
        "tables": {name: w for name, w in TABLE_NAMES.items() if not name.startswith(OF_SUITE)},
    }
