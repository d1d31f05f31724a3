"""The pictures of an experiment's progress."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.pictures import figure_row, interval_picture
from judging.analysis.pictures_progress import StepCurve, progress_picture
from judging.analysis.progress.figures import Progressed, curve_of
from judging.analysis.progress.rows import RunRow
from judging.analysis.reports.showing import rate_interval


def beside_success(found: Sequence[tuple[str, Progressed]]) -> SafeString:
    """Two rows a configuration: how far its runs got, and how many succeeded."""
    rows = []
    for name, each in found:
        progress = _("progress · %(name)s") % {"name": name}
        success = _("success · %(name)s") % {"name": name}
        ends = rate_interval(each.reached)
        rows.append(figure_row(progress, each.reached.value, ends, meaning="agent"))
        won = each.success
        rows.append(figure_row(success, won.value, won.interval, meaning="evaluator"))
    label = _("How much progress does success hide?")
    return interval_picture(rows, label=label, meaning="agent")


def by_step(name: str, rows: Sequence[RunRow]) -> SafeString:
    """Progress reached and held after every step, and how many runs had succeeded by then."""
    known, curve = [row for row in rows if row.is_known], curve_of(rows)
    solved = [
        sum(row.is_success and row.n_steps <= point.step for row in known) / len(known)
        for point in curve
    ]
    curves = [
        StepCurve("reached", _("reached"), [point.reached for point in curve]),
        StepCurve("solved", _("success"), solved),
    ]
    if any(point.held < point.reached - 1e-9 for point in curve):
        curves.insert(1, StepCurve("held", _("held"), [point.held for point in curve]))
    label = _("How far had runs of %(name)s got after every step?") % {"name": name}
    return progress_picture(curves, label=label, axis=_("steps"))
