"""The pictures of an experiment, with the runs behind every mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.urls import reverse
from django.utils import formats
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.course import Detections, Length, lengths_of
from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.population import RunResult
from judging.analysis.experiments.trials import TrialFigures, trials_of
from judging.analysis.pictures import IntervalRow, figure_row, interval_picture
from judging.analysis.pictures_bars import DetectionsBar, detections_picture
from judging.analysis.pictures_progress import apart
from judging.statistics.figures import Undefined
from judging.statistics.success import TaskMean
from runs.interface.pictures import as_picture, canvas

WIDTH, HEIGHT = 404, 210
"""The names at the ends of the curves take as much room as the longest of any language."""
LEFT, RIGHT, TOP, BOTTOM = 40, 318, 12, 172
_MUTED, _LINE = "#585e67", "#dfe0dd"
_INK = {"pass-at": "#1f4ea3", "pass-hat": "#585e67", "best": "#886600"}
"""For the picture on its own; in a page, style sheets paint by class."""
_DASHES = {"pass-at": "-", "pass-hat": "--", "best": ":"}


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure by k: (k, share), without those k for which there is none."""

    kind: str
    name: str
    points: Sequence[tuple[int, float]]


def trials_picture(curves: Sequence[Curve], *, label: str) -> SafeString:
    """Curves over k on one axis from 0 to 100 %, each with its name at the end."""
    drawn = [curve for curve in curves if curve.points]
    most = max((k for curve in drawn for k, _ in curve.points), default=1)

    def at(k: int, share: float) -> tuple[float, float]:
        across = (k - 1) / (most - 1) if most > 1 else 0.0
        return LEFT + across * (RIGHT - LEFT), BOTTOM - share * (BOTTOM - TOP)

    with canvas(WIDTH, HEIGHT) as (figure, axes):
        for tick in (0, 25, 50, 75, 100):
            y = at(1, tick / 100)[1]
            axes.plot([LEFT, RIGHT], [y, y], color=_LINE, lw=1, gid=".grid")
            words = f"{formats.number_format(tick)} %"
            axes.text(LEFT - 6, y + 4, words, ha="right", size=11, color=_MUTED, gid=".axis")
        for k in range(1, most + 1):
            x = at(k, 0)[0]
            axes.text(x, BOTTOM + 16, str(k), ha="center", size=11, color=_MUTED, gid=".axis")
        axes.text(
            (LEFT + RIGHT) / 2, HEIGHT - 6, "k", ha="center", size=11, color=_MUTED, gid=".axis"
        )
        heights = apart([at(*curve.points[-1])[1] for curve in drawn])
        for curve, height in zip(drawn, heights, strict=True):
            places = [at(*point) for point in curve.points]
            colour = _INK[curve.kind]
            axes.plot(
                [x for x, _ in places],
                [y for _, y in places],
                color=colour,
                lw=2,
                ls=_DASHES[curve.kind],
                gid=f".line.{curve.kind}",
            )
            axes.plot(
                [x for x, _ in places],
                [y for _, y in places],
                marker="o",
                ls="",
                ms=6,
                color=colour,
                gid=f".point.{curve.kind}",
            )
            axes.text(
                places[-1][0] + 8, height + 4, curve.name, size=12, color=_MUTED, gid=".words"
            )
        return as_picture(figure, label)


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

    Raises:
        KeyError: there is none of that name.
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

    def bar(found: Detections, result: RunResult, n: int, runs: int) -> DetectionsBar:
        url = facts.url(found.configuration, standing=result, detections=n)
        return DetectionsBar(str(n), runs, url)

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
        name = _("%(steps)s steps") % {"steps": each.words}
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
    return trials_picture(curves, label=f"{QUESTIONS['trials']} {found.configuration.name}")


def _points(means: Iterable[tuple[int, TaskMean | None]]) -> list[tuple[int, float]]:
    return [(k, mean.value) for k, mean in means if mean and not isinstance(mean.value, Undefined)]


_DRAWN: Mapping[str, Callable[[Facts], dict[int, SafeString]]] = {
    "accuracy": _accuracies,
    "detections": _detections,
    "lengths": _lengths,
    "trials": _trials,
}
