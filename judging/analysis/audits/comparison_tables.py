"""Comparisons of evaluators with each other and with people, as tables to take away."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.ceiling import Against, ceiling_of
from judging.analysis.audits.columns import EVALUATOR, RUNS, UNDEFINED
from judging.analysis.audits.comparison import Comparison, Flips, additions_of, compare_all
from judging.analysis.audits.verdict_sources import voices_of
from judging.analysis.reports.columns import ends, number, why
from judging.analysis.reports.report import Column, Report, Value
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix

FIRST = Column("first", gettext_lazy("first"))
SECOND = Column("second", gettext_lazy("second"))
FLIPS = [
    Column("fixed_fn", gettext_lazy("FN repaired")),
    Column("new_fn", gettext_lazy("new FN")),
    Column("fixed_fp", gettext_lazy("FP repaired")),
    Column("new_fp", gettext_lazy("new FP")),
]
P_VALUE = Column("p_value", gettext_lazy("McNemar, exact"))
ADJUSTED = Column("p_holm", gettext_lazy("p by Holm"))
CELLS = ("tp", "fn", "tn", "fp")


def _flips(flips: Flips) -> list[Value]:
    return [flips.fixed_fn, flips.new_fn, flips.fixed_fp, flips.new_fp]


def pairs_table(study: Study) -> Report:
    """One row a pair of evaluators: what flips from the first to the second."""
    rows: list[list[Value]] = [
        [
            pair.first.name,
            pair.second.name,
            pair.flips.runs,
            *_flips(pair.flips),
            pair.flips.test.told,
            pair.adjusted if pair.flips.test.told is not None else None,
        ]
        for pair in compare_all(study, voices_of(study))
    ]
    columns = [FIRST, SECOND, RUNS, *FLIPS, P_VALUE, ADJUSTED]
    title = _("%(study)s: evaluators compared") % {"study": study.name}
    note = _(
        "McNemar's exact test over the runs on which both have a verdict; Holm over all pairs."
    )
    return Report(name="pairs", title=title, columns=columns, rows=rows, notes=[note])


def comparison_table(study: Study, comparison: Comparison) -> Report:
    """Two evaluators: all runs in the first row, then every site, template and kind."""
    whole = comparison.flips
    first, second = comparison.matrices
    rows: list[list[Value]] = [
        [
            "all",
            None,
            whole.runs,
            *_flips(whole),
            whole.test.told,
            None,
            *_cells(first),
            *_cells(second),
        ]
    ]
    for kind, groups in comparison.groups.items():
        rows += [
            [
                kind,
                group.name,
                group.flips.runs,
                *_flips(group.flips),
                None if group.is_small else group.flips.test.told,
                group.adjusted,
                *_cells(group.first),
                *_cells(group.second),
            ]
            for group in groups
        ]
    columns = [
        Column("by", gettext_lazy("by")),
        Column("group", gettext_lazy("group")),
        RUNS,
        *FLIPS,
        P_VALUE,
        ADJUSTED,
        *(Column(f"first_{cell}", f"{cell.upper()} 1") for cell in CELLS),
        *(Column(f"second_{cell}", f"{cell.upper()} 2") for cell in CELLS),
    ]
    names = {
        "study": study.name,
        "first": comparison.first.name,
        "second": comparison.second.name,
    }
    title = _("%(study)s: from %(first)s (1) to %(second)s (2)") % names
    return Report(name="comparison", title=title, columns=columns, rows=rows)


def _cells(matrix: ConfusionMatrix) -> list[Value]:
    return [getattr(matrix, cell) for cell in CELLS]


def steps_table(study: Study) -> Report:
    """One row a step of an evaluator: alone, and what it adds to the steps before it."""
    voices = voices_of(study)
    rows: list[list[Value]] = []
    for voice in voices.evaluators:
        found = additions_of(study, voices, voice)
        if found is None:
            continue
        for step in found.steps:
            added: list[Value] = [None, None] if step.is_first else [step.new_tp, step.new_fp]
            rows.append(
                [voice.name, step.step.step, step.alone.decided, *_cells(step.alone), *added]
            )
        together = found.together
        rows.append([voice.name, "together", together.decided, *_cells(together), None, None])
    columns = [
        EVALUATOR,
        Column("step", gettext_lazy("step")),
        Column("asked", gettext_lazy("runs with a verdict")),
        *(Column(cell, cell.upper()) for cell in CELLS),
        Column("new_tp", gettext_lazy("adds TP")),
        Column("new_fp", gettext_lazy("adds FP")),
    ]
    title = _("%(study)s: what each step of an evaluator adds") % {"study": study.name}
    return Report(name="steps", title=title, columns=columns, rows=rows)


def people_table(study: Study) -> Report:
    """One row a pair of annotators, or of an evaluator and an annotator."""
    ceiling = ceiling_of(study, voices_of(study))
    rows = list(_against("people", ceiling.people))
    for voice in ceiling.shown:
        rows += _against("evaluator", ceiling.evaluators[voice.key])
    columns = [
        Column("kind", gettext_lazy("kind")),
        Column("voice", gettext_lazy("who")),
        Column("annotator", gettext_lazy("against")),
        RUNS,
        Column("agreement", gettext_lazy("agreement")),
        Column("agreement_low", gettext_lazy("lower end, 95 %")),
        Column("agreement_high", gettext_lazy("upper end, 95 %")),
        Column("kappa", gettext_lazy("Cohen's kappa")),
        Column("kappa_low", gettext_lazy("lower end, 95 %")),
        Column("kappa_high", gettext_lazy("upper end, 95 %")),
        UNDEFINED,
    ]
    title = _("%(study)s: evaluators and annotators against annotators") % {"study": study.name}
    note = _("Over the runs on which both say success or failure.")
    return Report(name="people", title=title, columns=columns, rows=rows, notes=[note])


def _against(kind: str, found: Iterable[Against]) -> Iterable[list[Value]]:
    for each in found:
        agreement, kappa = each.agreement.value, each.kappa
        yield [
            kind,
            each.voice.name,
            each.annotator.name,
            each.runs,
            number(agreement),
            *ends(each.agreement.interval),
            number(kappa),
            *ends(each.kappa_interval),
            why(agreement) or why(kappa),
        ]
