"""The tables of an audit that can be taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.audits.agreement import Agreed, Pair, agreement_of
from judging.audits.causes_tables import causes_table, success_rates_table, tags_table
from judging.audits.cells import Shown, items_in_cells
from judging.audits.comparison_tables import pairs_table, people_table, steps_table
from judging.audits.corrected import corrected_rates
from judging.audits.detectors import detectors_table
from judging.audits.explanations import decided_by
from judging.audits.matrices import Audit, audit_of
from judging.audits.measures import MEASURES, measure
from judging.audits.resampling import resampled
from judging.audits.triangle_tables import triangle_table
from judging.models import EvaluatorVersion, Study
from judging.reports import Column, Table, Value
from judging.statistics.figures import Figure, Interval, Undefined
from judging.wording import why_undefined

EVALUATOR = Column("evaluator", gettext_lazy("evaluator"))
VERSION = Column("version", gettext_lazy("version"))
VALUE = Column("value", gettext_lazy("value"))
LOW = Column("low", gettext_lazy("lower end, 95 %"))
HIGH = Column("high", gettext_lazy("upper end, 95 %"))
METHOD = Column("method", gettext_lazy("interval"))
UNDEFINED = Column("undefined_because", gettext_lazy("undefined because"))
RUNS = Column("runs", gettext_lazy("runs"))


def _population_note(audit: Audit) -> str:
    return _(
        "Runs with a reference verdict: %(runs)s; %(successes)s successes, %(failures)s failures."
    ) % {
        "runs": audit.population.runs,
        "successes": audit.population.references.successes,
        "failures": audit.population.references.failures,
    }


def matrices_table(study: Study) -> Table:
    """One row an evaluator: the four cells and the fifth."""
    audit = audit_of(study)
    rows = [
        (
            each.evaluator.name,
            each.evaluator.full_version,
            each.matrix.runs,
            each.matrix.tp,
            each.matrix.fn,
            each.matrix.tn,
            each.matrix.fp,
            each.matrix.no_verdict,
            _number(each.matrix.coverage.value),
            "; ".join(f"{n} {_(reason)}" for reason, n in each.reasons) or None,
        )
        for each in audit.evaluators
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("runs", "N"),
        Column("tp", "TP"),
        Column("fn", "FN"),
        Column("tn", "TN"),
        Column("fp", "FP"),
        Column("no_verdict", gettext_lazy("no verdict")),
        Column("coverage", gettext_lazy("coverage")),
        Column("no_verdict_because", gettext_lazy("no verdict because")),
    ]
    title = _("%(study)s: evaluators against reference verdicts") % {"study": study.name}
    return Table(
        name="matrices",
        title=title,
        columns=columns,
        rows=rows,
        notes=[_population_note(audit)],
    )


def figures_table(study: Study) -> Table:
    """One row a figure of an evaluator, with its intervals and what it was computed from."""
    audit = audit_of(study)
    intervals = resampled(audit)
    rows: list[list[Value]] = []
    for each in audit.evaluators:
        for kind in MEASURES:
            found = measure(each, kind, intervals)
            share = found.share
            rows.append(
                [
                    each.evaluator.name,
                    each.evaluator.full_version,
                    kind.key,
                    kind.formula,
                    _number(found.value),
                    *_ends(found.interval),
                    *_ends(found.by_task)[:2],
                    share.count if share else None,
                    share.total if share else None,
                    why_undefined(found.value) if isinstance(found.value, Undefined) else None,
                ]
            )
    columns = [
        EVALUATOR,
        VERSION,
        Column("figure", gettext_lazy("figure")),
        Column("formula", gettext_lazy("formula")),
        VALUE,
        LOW,
        HIGH,
        METHOD,
        Column("by_task_low", gettext_lazy("by task from")),
        Column("by_task_high", gettext_lazy("by task to")),
        Column("count", gettext_lazy("count")),
        Column("total", gettext_lazy("of")),
        UNDEFINED,
    ]
    title = _("%(study)s: figures of the evaluators") % {"study": study.name}
    return Table(
        name="figures", title=title, columns=columns, rows=rows, notes=[_population_note(audit)]
    )


def corrected_table(study: Study) -> Table:
    """One row an evaluator: the success rate of the runs without a reference verdict."""
    rows: list[list[Value]] = [
        [
            each.audit.evaluator.name,
            each.audit.evaluator.full_version,
            each.passed.count,
            each.passed.total,
            _number(each.passed.value),
            _number(each.value),
            *_ends(each.interval),
            why_undefined(each.value) if isinstance(each.value, Undefined) else None,
        ]
        for each in corrected_rates(audit_of(study))
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("passed", gettext_lazy("passed")),
        Column("total", gettext_lazy("of")),
        Column("pass_rate", gettext_lazy("pass rate")),
        Column("value", gettext_lazy("success rate behind it")),
        LOW,
        HIGH,
        METHOD,
        UNDEFINED,
    ]
    title = _("%(study)s: runs without a reference verdict") % {"study": study.name}
    note = _("Rogan and Gladen's correction of the pass rate, by the rates on the other runs.")
    return Table(name="corrected", title=title, columns=columns, rows=rows, notes=[note])


def agreement_table(study: Study) -> Table:
    """Agreement of all annotators, of each pair, and of each with themselves."""
    agreement = agreement_of(study)
    everybody = _("all annotators")
    rows = [
        *_agreed_rows("all", everybody, agreement.runs, agreement.figures),
        *(row for pair in agreement.pairs for row in _pair_rows("pair", pair)),
        *(row for pair in agreement.repeats for row in _pair_rows("repeat", pair)),
    ]
    columns = [
        Column("kind", gettext_lazy("kind")),
        Column("annotators", gettext_lazy("annotators")),
        RUNS,
        Column("figure", gettext_lazy("figure")),
        VALUE,
        LOW,
        HIGH,
        METHOD,
        UNDEFINED,
    ]
    title = _("%(study)s: agreement of the annotators before adjudication") % {"study": study.name}
    return Table(name="agreement", title=title, columns=columns, rows=rows)


TABLES: Mapping[str, Callable[[Study], Table]] = {
    "matrices": matrices_table,
    "figures": figures_table,
    "corrected": corrected_table,
    "agreement": agreement_table,
    "pairs": pairs_table,
    "steps": steps_table,
    "people": people_table,
    "triangle": triangle_table,
    "causes": causes_table,
    "success_rates": success_rates_table,
    "tagged_errors": tags_table,
    "detectors": detectors_table,
}
"""By the name in their address. A new table is an entry here: pages, downloads and the report
then have it."""
PER_RUN = frozenset({"triangle", "tagged_errors"})
"""Tables with a row a run, too long for a document."""
TABLE_NAMES: Mapping[str, Promise] = {
    "matrices": gettext_lazy("Matrices"),
    "figures": gettext_lazy("Figures"),
    "corrected": gettext_lazy("Runs without a reference verdict"),
    "agreement": gettext_lazy("Agreement"),
    "pairs": gettext_lazy("Evaluators compared"),
    "steps": gettext_lazy("What steps add"),
    "people": gettext_lazy("Beside people"),
    "triangle": gettext_lazy("Triangle"),
    "causes": gettext_lazy("Causes of errors"),
    "success_rates": gettext_lazy("Success rates if repaired"),
    "tagged_errors": gettext_lazy("Tagged errors"),
    "detectors": gettext_lazy("Detectors of anomalies"),
}
"""The same for people."""


def cells_table(study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]) -> Table:
    """One row a run of the cells, in the study's order."""
    items = items_in_cells(study, evaluator, cells)
    rows = [
        (
            item.position,
            str(item.run_id),
            item.run.task.external_id,
            item.run.task.site,
            item.run.goal or item.run.task.goal,
            item.verdict.verdict,
            item.cell,
            item.said_verdict,
            item.said_score,
            item.said_reason,
            decided_by(item.said_details),
            item.run.final_answer,
        )
        for item in items
    ]
    columns = [
        Column("number", gettext_lazy("number")),
        Column("run", gettext_lazy("run")),
        Column("task", gettext_lazy("task")),
        Column("site", gettext_lazy("site")),
        Column("goal", gettext_lazy("goal")),
        Column("reference", gettext_lazy("reference")),
        Column("cell", gettext_lazy("cell")),
        Column("verdict", gettext_lazy("verdict")),
        Column("score", gettext_lazy("score")),
        Column("reason", gettext_lazy("reason")),
        Column("decided_by", gettext_lazy("decided by")),
        Column("final_answer", gettext_lazy("final answer")),
    ]
    names = ", ".join(cell.upper() for cell in cells)
    title = _("%(study)s: %(cells)s of %(evaluator)s") % {
        "study": study.name,
        "cells": names,
        "evaluator": evaluator,
    }
    return Table(name="-".join(cells), title=title, columns=columns, rows=rows)


def _pair_rows(kind: str, pair: Pair) -> Iterable[list[Value]]:
    names = pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}"
    return _agreed_rows(kind, names, pair.runs, pair.figures)


def _agreed_rows(
    kind: str, names: str, runs: int, figures: Iterable[Agreed]
) -> Iterable[list[Value]]:
    for each in figures:
        why = why_undefined(each.value) if isinstance(each.value, Undefined) else str(each.why)
        yield [kind, names, runs, each.key, _number(each.value), *_ends(each.interval), why or None]


def _number(figure: Figure | None) -> float | None:
    return None if figure is None or isinstance(figure, Undefined) else float(figure)


def _ends(interval: Interval | Undefined | None) -> tuple[Value, Value, Value]:
    if interval is None or isinstance(interval, Undefined):
        return None, None, None
    return interval.low, interval.high, interval.method
