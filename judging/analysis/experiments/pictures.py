"""The pictures of an experiment, with the runs behind every mark."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils import formats
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
from judging.analysis.pictures import (
    MARGIN,
    WIDTH,
    Curve,
    IntervalRow,
    curves_picture,
    draw_bar,
    interval_picture,
)
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.progress.rows import Progressed, RunRow
from judging.analysis.progress.step_reports import curve_of
from judging.analysis.reports.registry import html_tables
from judging.analysis.reports.showing import rate_interval
from judging.statistics.figures import Undefined
from judging.statistics.success import TaskMean
from runs.interface.pictures import LINE, as_picture, canvas, write

QUESTIONS: Mapping[str, Promise] = {
    "accuracy": gettext_lazy("Which configuration succeeds most?"),
    "detections": gettext_lazy("How often does a run get stuck, and does it recover?"),
    "lengths": gettext_lazy("Do longer runs succeed less?"),
    "trials": gettext_lazy("What do more trials bring?"),
}
"""The pictures of an experiment, by the question that each answers."""
Count = tuple[int, str]
"""How many runs, and where they are listed."""
HEIGHT, GAP = 200, 28
TOP, BOTTOM = 44, 158


class ShownPicture(NamedTuple):
    """A picture of one configuration, or of all, with its address as a file if it is one.

    `n` are the runs of the configuration that it is of.
    """

    configuration: Configuration | None
    picture: SafeString
    n: int = 0
    url: str = ""


def shown_pictures(facts: Facts, name: str) -> list[ShownPicture]:
    """The pictures of that name for a page; of anomalies only where there are any."""
    path = reverse("judging:experiment_picture", args=[facts.experiment.pk, name])
    selector = {"selector": facts.query.selector.key} if facts.query.selector else {}
    by_pk = {each.pk: each for each in facts.configurations}
    drawn = PICTURES[name](facts)
    if name == "detections":
        bare = {each.configuration.pk for each in facts.detections if not each.most}
        drawn = {pk: picture for pk, picture in drawn.items() if pk not in bare}
    found = []
    for pk, picture in drawn.items():
        query = {"verdict": facts.source.key, **({"agent": str(pk)} if pk else {}), **selector}
        of = by_pk.get(pk)
        n = of.decided if of else 0
        found.append(ShownPicture(of, picture, n, f"{path}?{urlencode(query)}"))
    return found


def _accuracies(facts: Facts) -> dict[int, SafeString]:
    rows = [
        IntervalRow(
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
        found.configuration.pk: _histograms(
            [bar(found, RunResult.SUCCESS, n, won) for n, won, _lost in found.numbers],
            [bar(found, RunResult.FAILURE, n, lost) for n, _won, lost in found.numbers],
            label=f"{QUESTIONS['detections']} {found.configuration.name}",
        )
        for found in facts.detections
    }


def _histograms(successes: Sequence[Count], failures: Sequence[Count], *, label: str) -> SafeString:
    """Runs by how often an anomaly was noticed in them, from never, the number over each bar.

    Two histograms on one scale.
    """
    most = max([1, *(n for n, _url in (*successes, *failures))])
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    titles: dict[str, str] = {}
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        sides = (("success", _("successes"), successes), ("failure", _("failures"), failures))
        for number, (kind, title, bars) in enumerate(sides):
            left = MARGIN + number * (width + GAP)
            write(axes, left, 14, title, "name")
            axes.plot([left, left + width], [BOTTOM, BOTTOM], color=LINE, lw=1, gid=".grid")
            step = width / max(len(bars), 1)
            for place, (runs, url) in enumerate(bars):
                x, height = left + place * step, runs / most * (BOTTOM - TOP)
                middle = x + step / 2
                draw_bar(
                    axes,
                    x + 0.14 * step,
                    BOTTOM - height,
                    0.72 * step,
                    height,
                    kind=kind,
                    url=url if runs else "",
                )
                count = formats.number_format(runs)
                if runs and url:
                    titles[url] = f"{title}, {place}: {count}"
                write(axes, middle, BOTTOM - height - 5, count, "words", ha="center")
                write(axes, middle, BOTTOM + 15, str(place), "axis", ha="center")
        words = _("anomalies noticed in a run")
        write(axes, WIDTH / 2, HEIGHT - 6, words, "axis", ha="center")
        return as_picture(figure, label, titles)


def _lengths(facts: Facts) -> dict[int, SafeString]:
    """The success rate of runs by number of steps."""

    def row(each: Length) -> IntervalRow:
        steps = f"{each.first}-{each.last}"
        url = facts.url(each.configuration, steps=steps, standing=ANY_DECIDED)
        name = ngettext("%(n)s step", "%(n)s steps", each.last) % {"n": each.words}
        return IntervalRow(name, each.share.value, each.share.interval, counted=each.share, url=url)

    rows: defaultdict[int, list[IntervalRow]] = defaultdict(list)
    for each in lengths_of(facts.figures):
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
        for found in trials_of(facts.figures, facts.query.selector)
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
        by_trial=True,
    )


def _points(means: Iterable[tuple[int, TaskMean | None]]) -> list[tuple[int, float]]:
    return [(k, mean.value) for k, mean in means if mean and not isinstance(mean.value, Undefined)]


PICTURES: Mapping[str, Callable[[Facts], dict[int, SafeString]]] = {
    "accuracy": _accuracies,
    "detections": _detections,
    "lengths": _lengths,
    "trials": _trials,
}
"""What draws the pictures of a name: by configuration, or one of all of them under 0."""


def _beside_success(facts: Facts) -> list[ShownPicture]:
    """Two rows a configuration: how far its runs got, and how many succeeded."""
    found = [(each.name, Progressed(facts.rows_of(each))) for each in facts.configurations]
    if not any(each.n for _name, each in found):
        return []
    rows = []
    for name, each in found:
        progress = _("progress · %(name)s") % {"name": name}
        success = _("success · %(name)s") % {"name": name}
        ends, won = rate_interval(each.reached), each.success
        rows.append(IntervalRow(progress, each.reached.value, ends, meaning="agent"))
        rows.append(IntervalRow(success, won.value, won.interval, meaning="evaluator"))
    label = _("How much progress does success hide?")
    return [ShownPicture(None, interval_picture(rows, label=label, meaning="agent"))]


def _by_step(facts: Facts) -> list[ShownPicture]:
    return [
        ShownPicture(each, _curve(each.name, known), len(known))
        for each in facts.configurations
        if (known := [row for row in facts.rows_of(each) if row.is_known])
    ]


def _curve(name: str, known: Sequence[RunRow]) -> SafeString:
    """Progress reached and held after every step, and how many runs had succeeded by then."""
    curve = curve_of(known)
    solved = [
        (at.step, sum(row.is_success and row.n_steps <= at.step for row in known) / len(known))
        for at in curve
    ]
    curves = [
        Curve("reached", _("reached"), [(at.step, at.reached) for at in curve]),
        Curve("solved", _("success"), solved),
    ]
    if any(at.held < at.reached - 1e-9 for at in curve):
        curves.insert(1, Curve("held", _("held"), [(at.step, at.held) for at in curve]))
    label = _("How far had runs of %(name)s got after every step?") % {"name": name}
    return curves_picture(curves, label=label, axis=_("steps"), by_trial=False)


DRAWN: Mapping[str, Callable[[Facts], Sequence[ShownPicture]]] = {
    "configurations": _beside_success,
    "curve": _by_step,
}
"""Pictures by the name of the report beside which they stand."""


def shown_sections(facts: Facts) -> list[dict[str, Any]]:
    """The reports that have something to show, each as a section with its pictures."""
    return [
        {
            "name": name,
            "title": entry.words,
            "report": report,
            "tables": html_tables(report),
            "pictures": DRAWN[name](facts) if name in DRAWN else (),
        }
        for name, entry in PROGRESS.entries.items()
        if not entry.lists_runs
        for report in [PROGRESS.make(name, facts)]
        if report.rows and report.page_rows != []
    ]
