"""Matrices and figures of the evaluators as tables to take away."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.agreement import Agreed, Pair, agreement_of
from judging.analysis.audits.columns import (
    COUNT,
    EVALUATOR,
    HIGH,
    LOW,
    METHOD,
    RUNS,
    TOTAL,
    UNDEFINED,
    VALUE,
    VERSION,
    named,
)
from judging.analysis.audits.matrices import Audit, audit_of, corrected_rates
from judging.analysis.audits.measures import MEASURES, measure
from judging.analysis.audits.resampling import resampled
from judging.analysis.reports.columns import ends, method, number, why
from judging.analysis.reports.report import Column, Report, Value
from judging.models import Study


def _population_note(audit: Audit) -> str:
    return _(
        "Runs with a reference verdict: %(runs)s; %(successes)s successes, %(failures)s failures."
    ) % {
        "runs": audit.population.runs,
        "successes": audit.population.references.successes,
        "failures": audit.population.references.failures,
    }


def matrices_table(study: Study) -> Report:
    """One row an evaluator: the four cells and the fifth."""
    audit = audit_of(study)
    rows = [
        (
            *named(each.evaluator),
            each.matrix.runs,
            each.matrix.tp,
            each.matrix.fn,
            each.matrix.tn,
            each.matrix.fp,
            each.matrix.no_verdict,
            number(each.matrix.coverage.value),
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
    return Report(
        name="matrices",
        title=title,
        columns=columns,
        rows=rows,
        notes=[_population_note(audit)],
    )


def figures_table(study: Study) -> Report:
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
                    *named(each.evaluator),
                    kind.key,
                    kind.formula,
                    number(found.value),
                    *ends(found.interval),
                    method(found.interval),
                    *ends(found.by_task),
                    share.count if share else None,
                    share.total if share else None,
                    why(found.value),
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
        COUNT,
        TOTAL,
        UNDEFINED,
    ]
    title = _("%(study)s: figures of the evaluators") % {"study": study.name}
    return Report(
        name="figures", title=title, columns=columns, rows=rows, notes=[_population_note(audit)]
    )


def corrected_table(study: Study) -> Report:
    """One row an evaluator: the success rate of the runs without a reference verdict."""
    rows: list[list[Value]] = [
        [
            *named(each.audit.evaluator),
            each.passed.count,
            each.passed.total,
            number(each.passed.value),
            number(each.value),
            *ends(each.interval),
            method(each.interval),
            why(each.value),
        ]
        for each in corrected_rates(audit_of(study))
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("passed", gettext_lazy("passed")),
        TOTAL,
        Column("pass_rate", gettext_lazy("pass rate")),
        Column("value", gettext_lazy("success rate behind it")),
        LOW,
        HIGH,
        METHOD,
        UNDEFINED,
    ]
    title = _("%(study)s: runs without a reference verdict") % {"study": study.name}
    note = _("Rogan and Gladen's correction of the pass rate, by the rates on the other runs.")
    return Report(name="corrected", title=title, columns=columns, rows=rows, notes=[note])


def agreement_table(study: Study) -> Report:
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
    return Report(name="agreement", title=title, columns=columns, rows=rows)


def _pair_rows(kind: str, pair: Pair) -> Iterable[list[Value]]:
    names = pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}"
    return _agreed_rows(kind, names, pair.runs, pair.figures)


def _agreed_rows(
    kind: str, names: str, runs: int, figures: Iterable[Agreed]
) -> Iterable[list[Value]]:
    for each in figures:
        yield [
            kind,
            names,
            runs,
            each.key,
            number(each.value),
            *ends(each.interval),
            method(each.interval),
            why(each.value) or str(each.why) or None,
        ]
