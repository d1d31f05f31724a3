"""Matrices and figures of the evaluators as tables to take away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

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
from judging.analysis.audits.matrices import Audit, Corrected, audit_of, corrected_rates
from judging.analysis.audits.measures import MEASURES, measure
from judging.analysis.audits.resampling import resampled
from judging.analysis.reports.columns import (
    ends,
    in_files,
    method,
    number,
    on_pages,
    value_and_ends,
    why,
)
from judging.analysis.reports.report import Column, FileColumn, Report, Value
from judging.analysis.reports.showing import Shown, percent, percent_ends, show
from judging.models import Study
from judging.statistics.figures import Undefined


def _population_note(audit: Audit) -> str:
    return gettext(
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
            "; ".join(f"{n} {gettext(reason)}" for reason, n in each.reasons) or None,
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
        Column("no_verdict", _("no verdict")),
        Column("coverage", _("coverage")),
        Column("no_verdict_because", _("no verdict because")),
    ]
    title = gettext("%(study)s: evaluators against reference verdicts") % {"study": study.name}
    return Report(
        name="matrices", title=title, columns=columns, rows=rows, notes=[_population_note(audit)]
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
        Column("figure", _("figure")),
        Column("formula", _("formula")),
        VALUE,
        LOW,
        HIGH,
        METHOD,
        Column("by_task_low", _("by task from")),
        Column("by_task_high", _("by task to")),
        COUNT,
        TOTAL,
        UNDEFINED,
    ]
    title = gettext("%(study)s: figures of the evaluators") % {"study": study.name}
    return Report(
        name="figures", title=title, columns=columns, rows=rows, notes=[_population_note(audit)]
    )


def corrected_table(study: Study) -> Report:
    """One row an evaluator: the success rate of the runs without a reference verdict."""
    return corrected_report(study, corrected_rates(audit_of(study)))


def corrected_report(study: Study, found: Sequence[Corrected]) -> Report:
    """The same of rates that are known."""
    title = gettext("%(study)s: runs without a reference verdict") % {"study": study.name}
    note = gettext(
        "Rogan and Gladen's correction of the pass rate, by the rates on the other runs."
    )
    rates = ("passed", _("passed")), ("total", TOTAL.name), ("pass_rate", _PASS_RATE)
    return Report(
        name="corrected",
        title=title,
        columns=[
            in_files(EVALUATOR.key, EVALUATOR.name),
            in_files(VERSION.key, VERSION.name),
            on_pages(EVALUATOR.name, is_text=True),
            Column(
                "passed",
                _("passed"),
                parts=[FileColumn(*each) for each in rates],
                spread=lambda share: [share.count, share.total, number(share.value)],
            ),
            Column(
                "value",
                _("success rate behind it"),
                parts=[
                    FileColumn("value", _("success rate behind it")),
                    *(FileColumn(each.key, each.name) for each in (LOW, HIGH, METHOD, UNDEFINED)),
                ],
                spread=lambda each: [*value_and_ends(each), method(each.interval), why(each.value)],
                show=_show_corrected,
            ),
        ],
        rows=[
            [*named(each.audit.evaluator), str(each.audit.evaluator), each.passed, each]
            for each in found
        ],
        notes=[note],
    )


_PASS_RATE = _("pass rate")


def _show_corrected(each: Corrected) -> Shown:
    if isinstance(each.value, Undefined):
        return show(each.value)
    return Shown(percent(each.value), percent_ends(each.interval))


def agreement_table(study: Study) -> Report:
    """Agreement of all annotators, of each pair, and of each with themselves."""
    agreement = agreement_of(study)
    everybody = gettext("all annotators")
    rows = [
        *_agreed_rows("all", everybody, agreement.runs, agreement.figures),
        *(row for pair in agreement.pairs for row in _pair_rows("pair", pair)),
        *(row for pair in agreement.repeats for row in _pair_rows("repeat", pair)),
    ]
    columns = [
        Column("kind", _("kind")),
        Column("annotators", _("annotators")),
        RUNS,
        Column("figure", _("figure")),
        VALUE,
        LOW,
        HIGH,
        METHOD,
        UNDEFINED,
    ]
    title = gettext("%(study)s: agreement of the annotators before adjudication") % {
        "study": study.name
    }
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
