"""The pictures of an experiment, with the runs behind every mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from judging.analysis.experiments.course import Detections, Length, lengths_of
from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.outcome_reports import TrialFigures, trials_of
from judging.analysis.experiments.population import RunResult
from judging.analysis.pictures import IntervalRow, figure_row, interval_picture
from judging.analysis.pictures_bars import Count, detections_picture
from judging.analysis.pictures_progress import TRIALS, Curve, curves_picture
from judging.statistics.figures import Undefined
from judging.statistics.success import TaskMean

QUESTIONS: Mapping[str, Promise] = {
    "accuracy": gettext_lazy("Which configuration succeeds most?"),
    "detections": gettext_lazy("How often does a run get stuck, and does it recover?"),
    "lengths": gettext_lazy("Do longer runs succeed less?"),
    "trials": gettext_lazy("What do more trials bring?"),
}
"""The pictures of an experiment, by the question that each answers."""


class ShownPicture(NamedTuple):
    """A picture of one configuration, or of all, with its address as a file if it is one."""

    configuration: Configuration | None
    picture: SafeString
    url: str = ""


def draw(facts: Facts, name: str) -> dict[int, SafeString]:
    """The pictures of that name by configuration; under 0 that of all of them.

    Raises KeyError where there is none of that name.
    """
    return _DRAWN[name](facts)


def shown_pictures(facts: Facts, name: str) -> list[ShownPicture]:
    """The same for a page; of anomalies only where there are any."""
    path = reverse("judging:experiment_picture", args=[facts.experiment.pk, name])
    selector = {"selector": facts.query.selector.key} if facts.query.selector else {}
    by_pk = {each.pk: each for each in facts.configurations}
    drawn = draw(facts, name)
    if name == "detections":
        bare = {each.configuration.pk for each in facts.detections if not each.most}
        drawn = {pk: picture for pk, picture in drawn.items() if pk not in bare}
    found = []
    for pk, picture in drawn.items():
        query = {"verdict": facts.source.key, **({"agent": str(pk)} if pk else {}), **selector}
        found.append(ShownPicture(by_pk.get(pk), picture, f"{path}?{urlencode(query)}"))
    return found


def _accuracies(facts: Facts) -> dict[int, SafeString]:
    rows = [
        figure_row(
            each.name,
            each.accuracy.value,
            each.accuracy.interval,
            counted=each.accuracy,
            by_task=each.by_task,
            url=facts.cell(each.accuracy, each).url,
        )
        for each in facts.configurations
    ]
    label = f"{QUESTIONS['accuracy']} {facts.source.name}"
    return {0: interval_picture(rows, label=label, meaning="agent")}


def _detections(facts: Facts) -> dict[int, SafeString]:
    """Successes and failures by how often an anomaly was noticed."""

    def bar(found: Detections, result: RunResult, n: int, runs: int) -> Count:
        return runs, facts.url(found.configuration, standing=result, detections=n)

    return {
        found.configuration.pk: detections_picture(
            [bar(found, RunResult.SUCCESS, n, won) for n, won, _lost in found.numbers],
            [bar(found, RunResult.FAILURE, n, lost) for n, _won, lost in found.numbers],
            label=f"{QUESTIONS['detections']} {found.configuration.name}",
        )
        for found in facts.detections
    }


def _lengths(facts: Facts) -> dict[int, SafeString]:
    """The success rate of runs by number of steps."""

    def row(each: Length) -> IntervalRow:
        steps = f"{each.first}-{each.last}"
        url = facts.url(each.configuration, steps=steps, standing=ANY_DECIDED)
        name = ngettext("%(steps)s step", "%(steps)s steps", each.last) % {"steps": each.words}
        return figure_row(name, each.share.value, each.share.interval, counted=each.share, url=url)

    rows: defaultdict[int, list[IntervalRow]] = defaultdict(list)
    for each in lengths_of(facts.figures, facts.scope):
        rows[each.configuration.pk] += [row(each)] if each.share.total else []
    return {
        each.pk: interval_picture(
            rows[each.pk], label=f"{QUESTIONS['lengths']} {each.name}", meaning="agent"
        )
        for each in facts.configurations
    }


def _trials(facts: Facts) -> dict[int, SafeString]:
    """pass@k, pass^k and the best of k, of configurations with several trials of a task."""
    return {
        found.configuration.pk: _curves(found)
        for found in trials_of(facts.figures, facts.scope, facts.query.selector)
        if len(found.rows) > 1
    }


def _curves(found: TrialFigures) -> SafeString:
    curves = [
        Curve("pass-at", "pass@k", _points((row.k, row.pass_at) for row in found.rows)),
        Curve("best", _("best of k"), _points((row.k, row.best) for row in found.rows)),
        Curve("pass-hat", "pass^k", _points((row.k, row.pass_hat) for row in found.rows)),
    ]
    return curves_picture(
        [curve for curve in curves if curve.points],
        label=f"{QUESTIONS['trials']} {found.configuration.name}",
        axis="k",
        first=1,
        frame=TRIALS,
        by_trial=True,
    )


def _points(means: Iterable[tuple[int, TaskMean | None]]) -> list[tuple[int, float]]:
    return [(k, mean.value) for k, mean in means if mean and not isinstance(mean.value, Undefined)]


_DRAWN: Mapping[str, Callable[[Facts], dict[int, SafeString]]] = {
    "accuracy": _accuracies,
    "detections": _detections,
    "lengths": _lengths,
    "trials": _trials,
}
