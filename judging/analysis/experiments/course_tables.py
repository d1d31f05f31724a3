"""How runs went and ended, as tables to take away."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy

from judging.analysis.experiments.endings import endings_of, failure_modes_of
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import RunResult
from judging.analysis.experiments.recovery import detections_of
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.savings import StoppedEarly, stopped_early
from judging.analysis.experiments.table_parts import CONFIGURATION, SHARE, titled
from judging.analysis.failure_modes.tables import MODE_COLUMNS, MODES_NOTE, mode_rows
from judging.analysis.failure_modes.told import Word
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import counted
from runs.operations.health.infrastructure import error_rates


def recovery_table(asked: ReportQuery) -> Table:
    """One row a configuration: success without recovery, and rescued by one."""
    columns = [
        CONFIGURATION,
        *SHARE,
        Column("without_recovery", gettext_lazy("successes without recovery")),
        Column("rescued", gettext_lazy("successes rescued by recovery")),
        Column("recovered", gettext_lazy("runs with a recovery")),
        Column("detected", gettext_lazy("runs with an anomaly noticed")),
        Column("detected_successes", gettext_lazy("successes among them")),
        Column("stopped_early", gettext_lazy("runs stopped early")),
        Column("steps_saved", gettext_lazy("steps saved by that, at most")),
        Column("dollars_saved", gettext_lazy("dollars saved by that, at most")),
    ]
    stopped = stopped_early(asked.scope, asked.source)
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            *counted(found.configuration.accuracy),
            found.unaided,
            found.rescued,
            found.recovered,
            found.among_detected.total,
            found.among_detected.count,
            *_saved(stopped.get(found.configuration.agent.pk, StoppedEarly())),
        ]
        for found in detections_of(asked.figures, asked.scope)
    ]
    return titled(asked, "recovery", columns, rows)


def _saved(stopped: StoppedEarly) -> tuple[Value, Value, Value]:
    dollars = stopped.saved.dollars
    return stopped.runs, stopped.saved.steps, None if dollars is None else float(dollars)


def detections_table(asked: ReportQuery) -> Table:
    """One row a configuration and number of anomalies noticed in a run."""
    columns = [
        CONFIGURATION,
        Column("detections", gettext_lazy("anomalies noticed")),
        Column("successes", gettext_lazy("successes")),
        Column("failures", gettext_lazy("failures")),
    ]
    rows: list[Sequence[Value]] = [
        [found.configuration.name, *numbers]
        for found in detections_of(asked.figures, asked.scope)
        for numbers in found.numbers
    ]
    return titled(asked, "detections", columns, rows)


def modes_table(asked: ReportQuery) -> Table:
    """One row a configuration, word and failure mode; a failure may show several modes."""
    told = failure_modes_of(asked.figures, asked.scope)
    rows: list[Sequence[Value]] = [
        [each.name, *row]
        for word in Word
        for each, found in told.by(word)
        for row in mode_rows(found)
    ]
    return titled(asked, "modes", [CONFIGURATION, *MODE_COLUMNS], rows, [str(MODES_NOTE)])


def endings_table(asked: ReportQuery) -> Table:
    """One row a configuration and end reason."""
    columns = [
        CONFIGURATION,
        Column("end_reason", gettext_lazy("end reason")),
        Column("successes", gettext_lazy("successes")),
        Column("failures", gettext_lazy("failures")),
        Column("no_verdict", gettext_lazy("no verdict")),
    ]
    standings = (RunResult.SUCCESS, RunResult.FAILURE, RunResult.NONE)
    rows: list[Sequence[Value]] = [
        [found.configuration.name, reason, *(counts[each] for each in standings)]
        for found in endings_of(asked.figures, asked.scope)
        for reason, counts in found.reasons
    ]
    return titled(asked, "endings", columns, rows)


def infrastructure_table(asked: ReportQuery) -> Table:
    """One row a configuration: how many of its attempts an infrastructure error ended."""
    columns = [
        CONFIGURATION,
        Column("attempts", gettext_lazy("attempts")),
        Column("errors", gettext_lazy("infrastructure errors")),
        Column("share", gettext_lazy("share")),
        Column("low", gettext_lazy("lower end, 95 %, Wilson")),
        Column("high", gettext_lazy("upper end, 95 %, Wilson")),
        Column("never_through", gettext_lazy("runs that never got through")),
        Column("faults", gettext_lazy("of which")),
    ]
    rows: list[Sequence[Value]] = [
        [
            rate.name,
            rate.attempts,
            rate.errors,
            rate.share,
            *(rate.interval or (None, None)),
            rate.never_through,
            "; ".join(f"{found.attempts} {found.words}" for found in rate.faults) or None,
        ]
        for rate in error_rates(asked.scope.told, names_in(asked.scope)).by_agent
    ]
    return titled(asked, "infrastructure", columns, rows)
