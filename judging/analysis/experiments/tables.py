"""The tables of an experiment that can be taken away, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from judging.analysis.experiments.course_tables import (
    detections_table,
    endings_table,
    infrastructure_table,
    modes_table,
    recovery_table,
)
from judging.analysis.experiments.outcome_tables import (
    configurations_table,
    controls_table,
    groups_table,
    lengths_table,
    pairs_table,
    trials_table,
)
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.run_table import runs_table
from judging.analysis.miniwob.tables import (
    miniwob_causes_table,
    miniwob_excluded_table,
    miniwob_steps_table,
    miniwob_table,
    miniwob_tasks_table,
)
from judging.analysis.reports import Table

TABLES: Mapping[str, Callable[[ReportQuery], Table]] = {
    "configurations": configurations_table,
    "groups": groups_table,
    "recovery": recovery_table,
    "detections": detections_table,
    "lengths": lengths_table,
    "modes": modes_table,
    "endings": endings_table,
    "trials": trials_table,
    "pairs": pairs_table,
    "controls": controls_table,
    "infrastructure": infrastructure_table,
    "miniwob": miniwob_table,
    "miniwob_steps": miniwob_steps_table,
    "miniwob_tasks": miniwob_tasks_table,
    "miniwob_excluded": miniwob_excluded_table,
    "miniwob_causes": miniwob_causes_table,
    "runs": runs_table,
}
"""By the name in their address."""
PER_RUN = frozenset({"runs"})
"""Tables with a row a run, too long for a document."""
