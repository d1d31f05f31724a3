"""The pictures of an experiment, with the runs behind every mark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.figures import Figures
from judging.analysis.experiments.lengths import Bin, lengths_of
from judging.analysis.experiments.population import DECIDED, RunResult
from judging.analysis.experiments.recovery import Detections, detections_of
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import joined, runs_url
from judging.analysis.experiments.trials import TrialFigures, trials_of
from judging.analysis.pictures import IntervalRow, figure_row, interval_picture
from judging.analysis.pictures_detections import Bar, detections_picture
from judging.analysis.pictures_trials import Curve, trials_picture
from judging.statistics.figures import Undefined
from judging.statistics.success import TaskMean

QUESTIONS: Mapping[str, Promise] = {
    "accuracy": gettext_lazy("Which configuration succeeds most?"),
    "detections": gettext_lazy("How often does a run get stuck, and does it recover?"),
    "lengths": gettext_lazy("Do longer runs succeed less?"),
    "trials": gettext_lazy("What do more trials bring?"),
}
"""The pictures of an experiment, by the question that each answers."""


def accuracy(asked: ReportQuery) -> SafeString:
    """All configurations on one axis, with Wilson's interval and the one by task."""
    rows = [_accuracy(asked, each) for each in asked.figures.configurations]
    label = f"{QUESTIONS['accuracy']} {asked.source.name}"
    return interval_picture(rows, label=label, meaning="agent")


def detections(asked: ReportQuery) -> dict[int, SafeString]:
    """By configuration: successes and failures by how often an anomaly was noticed."""
    return {
        found.configuration.agent.pk: detections_picture(
            [_bar(asked, found, RunResult.SUCCESS, n, won) for n, won, _lost in found.numbers],
            [_bar(asked, found, RunResult.FAILURE, n, lost) for n, _won, lost in found.numbers],
            label=f"{QUESTIONS['detections']} {found.configuration.name}",
        )
        for found in detections_of(asked.figures, asked.scope)
    }


def lengths(asked: ReportQuery) -> dict[int, SafeString]:
    """By configuration: the success rate of runs by number of steps."""
    return {
        found.configuration.agent.pk: interval_picture(
            [_length(asked, found.configuration, each) for each in found.bins if each.share.total],
            label=f"{QUESTIONS['lengths']} {found.configuration.name}",
            meaning="agent",
        )
        for found in lengths_of(asked.figures, asked.scope)
    }


def trials(asked: ReportQuery) -> dict[int, SafeString]:
    """By configuration with several trials of a task: pass@k, pass^k and the best of k."""
    return {
        found.configuration.agent.pk: _trials(found)
        for found in trials_of(asked.figures, asked.scope, asked.selector)
        if len(found.rows) > 1
    }


PER_CONFIGURATION: Mapping[str, Callable[[ReportQuery], dict[int, SafeString]]] = {
    "detections": detections,
    "lengths": lengths,
    "trials": trials,
}


def picture(asked: ReportQuery, name: str, agent: int | None) -> SafeString:
    """One picture to take away.

    Raises:
        KeyError: there is none of that name, or none of that configuration.
    """
    if name == "accuracy":
        return accuracy(asked)
    return PER_CONFIGURATION[name](asked)[agent or 0]


def steps_words(each: Bin) -> str:
    """A range of steps in words."""
    return str(each.first) if each.first == each.last else f"{each.first}–{each.last}"


def _accuracy(asked: ReportQuery, each: Figures) -> IntervalRow:
    url = runs_url(
        asked.scope.experiment, asked.source, agent=each.agent.pk, standing=joined(DECIDED)
    )
    share = each.accuracy
    return figure_row(
        each.name, share.value, share.interval, counted=share, by_task=each.by_task, url=url
    )


def _length(asked: ReportQuery, configuration: Figures, each: Bin) -> IntervalRow:
    url = runs_url(
        asked.scope.experiment,
        asked.source,
        agent=configuration.agent.pk,
        steps=f"{each.first}-{each.last}",
        standing=joined(DECIDED),
    )
    name = _("%(steps)s steps") % {"steps": steps_words(each)}
    return figure_row(name, each.share.value, each.share.interval, counted=each.share, url=url)


def _bar(asked: ReportQuery, found: Detections, standing: RunResult, n: int, runs: int) -> Bar:
    url = runs_url(
        asked.scope.experiment,
        asked.source,
        agent=found.configuration.agent.pk,
        standing=standing,
        detections=n,
    )
    return Bar(str(n), runs, url)


def _trials(found: TrialFigures) -> SafeString:
    curves = [
        Curve("pass-at", "pass@k", _points((row.k, row.pass_at) for row in found.rows)),
        Curve("best", _("best of k"), _points((row.k, row.best) for row in found.rows)),
        Curve("pass-hat", "pass^k", _points((row.k, row.pass_hat) for row in found.rows)),
    ]
    return trials_picture(curves, label=f"{QUESTIONS['trials']} {found.configuration.name}")


def _points(means: Iterable[tuple[int, TaskMean | None]]) -> list[tuple[int, float]]:
    return [(k, mean.value) for k, mean in means if mean and not isinstance(mean.value, Undefined)]
