"""What the tables of an experiment have in common: titles, notes, and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.reports import Column, Table, Value

CONFIGURATION = Column("configuration", gettext_lazy("configuration"))
SHARE = [
    Column("successes", gettext_lazy("successes")),
    Column("n", gettext_lazy("n, runs with a verdict")),
    Column("value", gettext_lazy("share")),
    Column("low", gettext_lazy("lower end, 95 %, Wilson")),
    Column("high", gettext_lazy("upper end, 95 %, Wilson")),
]
TABLE_NAMES: Mapping[str, Promise] = {
    "configurations": gettext_lazy("Configurations"),
    "groups": gettext_lazy("Sites, templates, levels, kinds"),
    "recovery": gettext_lazy("Recovery"),
    "detections": gettext_lazy("Anomalies noticed"),
    "lengths": gettext_lazy("Number of steps"),
    "modes": gettext_lazy("Failure modes"),
    "endings": gettext_lazy("End reasons"),
    "trials": gettext_lazy("Several trials"),
    "pairs": gettext_lazy("Configurations in pairs"),
    "controls": gettext_lazy("Controls"),
    "infrastructure": gettext_lazy("Infrastructure errors"),
    "miniwob": gettext_lazy("MiniWoB++: success rates"),
    "miniwob_steps": gettext_lazy("MiniWoB++: one-step and many-step tasks"),
    "miniwob_tasks": gettext_lazy("MiniWoB++: tasks"),
    "miniwob_excluded": gettext_lazy("MiniWoB++: tasks left out"),
    "miniwob_causes": gettext_lazy("MiniWoB++: what failed"),
    "runs": gettext_lazy("Runs"),
}
"""By the name in their address."""


def titled(
    asked: ReportQuery,
    name: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Value]],
    notes: Iterable[str] = (),
    *,
    counts: str = "",
) -> Table:
    """The table of that name. It says whose verdicts it counts: what the page asks for, usually."""
    return Table(
        name=name,
        title=asked.title(str(TABLE_NAMES[name])),
        columns=columns,
        rows=list(rows),
        notes=[counts or asked.note, *notes],
    )
