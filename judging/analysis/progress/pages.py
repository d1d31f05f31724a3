"""What pages show on how far runs got: sections of an experiment, judges against annotators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.pictures import ShownPicture
from judging.analysis.pictures import figure_row, interval_picture
from judging.analysis.pictures_progress import STEPS, Curve, agreement_picture, curves_picture
from judging.analysis.pictures_progress import Pair as Mark
from judging.analysis.progress.figures import Progressed, curve_of
from judging.analysis.progress.people import Pair, PeopleFacts
from judging.analysis.progress.people_reports import OVERALL
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.progress.rows import RunRow
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.showing import percent, points_words, rate_interval
from judging.statistics.figures import Undefined


def _beside_success(facts: Facts) -> list[ShownPicture]:
    """Two rows a configuration: how far its runs got, and how many succeeded."""
    found = [(each.name, Progressed(facts.rows_of(each))) for each in facts.configurations]
    if not any(each.n for _name, each in found):
        return []
    rows = []
    for name, each in found:
        progress = gettext("progress · %(name)s") % {"name": name}
        success = gettext("success · %(name)s") % {"name": name}
        ends, won = rate_interval(each.reached), each.success
        rows.append(figure_row(progress, each.reached.value, ends, meaning="agent"))
        rows.append(figure_row(success, won.value, won.interval, meaning="evaluator"))
    label = gettext("How much progress does success hide?")
    return [ShownPicture(None, interval_picture(rows, label=label, meaning="agent"))]


def _by_step(facts: Facts) -> list[ShownPicture]:
    return [
        ShownPicture(each, _curve(each.name, known, facts.rows_of(each)))
        for each in facts.configurations
        if (known := [row for row in facts.rows_of(each) if row.is_known])
    ]


def _curve(name: str, known: Sequence[RunRow], rows: Sequence[RunRow]) -> SafeString:
    """Progress reached and held after every step, and how many runs had succeeded by then."""
    curve = curve_of(rows)
    solved = [
        (at.step, sum(row.is_success and row.n_steps <= at.step for row in known) / len(known))
        for at in curve
    ]
    curves = [
        Curve("reached", gettext("reached"), [(at.step, at.reached) for at in curve]),
        Curve("solved", gettext("success"), solved),
    ]
    if any(at.held < at.reached - 1e-9 for at in curve):
        curves.insert(1, Curve("held", gettext("held"), [(at.step, at.held) for at in curve]))
    label = gettext("How far had runs of %(name)s got after every step?") % {"name": name}
    axis = gettext("steps")
    return curves_picture(curves, label=label, axis=axis, first=0, frame=STEPS, by_trial=False)


DRAWN: Mapping[str, Callable[[Facts], Sequence[ShownPicture]]] = {
    "configurations": _beside_success,
    "curve": _by_step,
}
"""Pictures by the name of the report beside which they stand."""


def shown_sections(facts: Facts) -> list[dict[str, Any]]:
    """The reports that have something to show, each as a section with its pictures."""
    entries = {name: each for name, each in PROGRESS.entries.items() if not each.lists_runs}
    reports = [(name, PROGRESS.make(name, facts)) for name in entries]
    return [
        {
            "name": name,
            "title": entries[name].words,
            "report": report,
            "tables": html_tables(report),
            "pictures": DRAWN[name](facts) if name in DRAWN else (),
        }
        for name, report in reports
        if report.rows and report.page_rows != []
    ]


def people_picture(facts: PeopleFacts) -> SafeString:
    """Bland and Altman's picture of the runs that both speak of."""

    def words(pair: Pair) -> dict[str, object]:
        return {
            "n": pair.ticked.position,
            "people": percent(pair.ticked.people.maximum),
            "judge": percent(pair.judge.maximum),
        }

    marks = [
        Mark(
            people=pair.ticked.people.maximum,
            judge=pair.judge.maximum,
            url=f"{reverse('runs:run_detail', args=[pair.ticked.run])}?study={facts.study.pk}",
            title=gettext("#%(n)s: people %(people)s, judge %(judge)s") % words(pair),
        )
        for pair in facts.pairs
    ]
    label = gettext("How far is the judge's progress from people's?")
    reported = OVERALL.bias, gettext("reported")
    return agreement_picture(marks, facts.whole.differences, label=label, reported=reported)


def people_sentence(facts: PeopleFacts) -> str:
    """What the figures mean."""
    bias, share = facts.whole.differences.bias, facts.whole.agreement.value
    if isinstance(bias, Undefined) or isinstance(share, Undefined):
        return gettext("No run has both ticks and a progress rate.")
    near = gettext(
        "On %(share)s of the runs the judge is within %(tolerance)s points of people;"
    ) % {"share": percent(share), "tolerance": facts.query.tolerance}
    if not round(100 * abs(bias), 1):
        return f"{near} {gettext('on average it says as much as they do.')}"
    more = (
        gettext("on average it is %(bias)s points higher.")
        if bias > 0
        else gettext("on average it is %(bias)s points lower.")
    )
    return f"{near} " + more % {"bias": points_words(abs(bias)).lstrip("+")}
