"""Reports on evaluators compared with each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.comparing.evaluators import (
    Addition,
    Comparison,
    Flips,
    additions_of,
    compare_all,
)
from judging.analysis.audits.facts import RUNS, AuditFacts, in_cells, source_column
from judging.analysis.audits.population import GROUP_NAMES
from judging.analysis.audits.population import Shown as Verdict
from judging.analysis.audits.verdict_sources import VerdictSource
from judging.analysis.reports.report import (
    Cell,
    Column,
    Layout,
    Report,
    Value,
    in_files,
    on_pages,
    text,
)
from judging.analysis.reports.showing import DASH, Shown, p_words
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix

MOST_GROUPS = 12
GROUPINGS = {"all": _("all runs"), **{key: capfirst(name) for key, name in GROUP_NAMES.items()}}
FLIPS = {
    "fixed_fn": (_("FN repaired"), "fn", Verdict.FN, Verdict.TP),
    "new_fn": (_("new FN"), "fn", Verdict.TP, Verdict.FN),
    "fixed_fp": (_("FP repaired"), "fp", Verdict.FP, Verdict.TN),
    "new_fp": (_("new FP"), "fp", Verdict.TN, Verdict.FP),
}
"""What a second evaluator does to a first, the error that it is about, and the cell of such runs
under the first and under the second.
"""
_FLIPS = [Column(key, words) for key, (words, *_about) in FLIPS.items()]
_CELLS = ("tp", "fn", "tn", "fp")
_TEST = _("McNemar's exact test over the runs on which both have a verdict; Holm over all pairs.")


def _show_p(p: float | None) -> Shown:
    return Shown(DASH if p is None else p_words(p))


_P_VALUES = [
    Column("p_value", _("McNemar, exact"), show=_show_p),
    Column("p_holm", _("p by Holm"), show=_show_p),
]


def flip_cells(
    study: Study,
    first: VerdictSource,
    second: VerdictSource,
    flips: Flips,
    groups: Mapping[str, str] | None = None,
) -> list[Cell]:
    """The four flips between right and wrong, each with its runs."""
    return [
        in_cells(study, getattr(flips, key), [(first, [before]), (second, [after])], groups)
        for key, (_words, _error, before, after) in FLIPS.items()
    ]


def pairs(facts: AuditFacts) -> Report:
    """One row a pair of evaluators: what flips from the first to the second, of the runs on which
    both have a verdict.
    """
    address = reverse("judging:audit_compare", args=[facts.study.pk])
    rows = []
    for pair in compare_all(facts.sources):
        query = urlencode({"first": pair.first.key, "second": pair.second.key})
        p = pair.flips.test.tested_p
        rows.append(
            [
                Cell(pair.first, f"{address}?{query}"),
                pair.second,
                pair.flips.shared,
                *flip_cells(facts.study, pair.first, pair.second, pair.flips),
                Cell(p, note="" if p is not None else p_words(p)),
                pair.adjusted if p is not None else None,
            ]
        )
    return Report(
        columns=[
            source_column("first", _("first")),
            source_column("second", _("second")),
            RUNS,
            *_FLIPS,
            *_P_VALUES,
        ],
        rows=rows,
        page_rows=sorted(rows, key=lambda row: 1.0 if row[7].value is None else row[7].value),
        notes=[str(_TEST)],
        remarks=[_TEST],
    )


def comparison_report(study: Study, comparison: Comparison) -> Report:
    """Two evaluators: all runs in the first row, then every site, template and kind."""
    first, second, whole = comparison.first, comparison.second, comparison.flips
    rows = [
        [
            *("all", None, whole.runs),
            *flip_cells(study, first, second, whole),
            *(whole.test.tested_p, None),
            *_cells(comparison.matrices[0]),
            *_cells(comparison.matrices[1]),
        ]
    ]
    for kind, groups in comparison.groups.items():
        for group in groups:
            chosen = {kind: group.name}
            p = None if group.is_small else group.flips.test.tested_p
            few = gettext("too few runs to tell") if group.is_small else p_words(None)
            rows.append(
                [
                    *(kind, group.name, in_cells(study, group.flips.runs, [], chosen)),
                    *flip_cells(study, first, second, group.flips, chosen),
                    *(Cell(p, note="" if p is not None else few), group.adjusted),
                    *_cells(group.first),
                    *_cells(group.second),
                ]
            )
    names = {"study": study.name, "first": first.name, "second": second.name}
    return Report(
        name="comparison",
        title=gettext("%(study)s: from %(first)s (1) to %(second)s (2)") % names,
        columns=[
            text("by", _("grouping"), words=GROUPINGS),
            text("group", _("group")),
            RUNS,
            *_FLIPS,
            *_P_VALUES,
            *(in_files(f"first_{cell}") for cell in _CELLS),
            *(in_files(f"second_{cell}") for cell in _CELLS),
        ],
        rows=rows,
        page_rows=rows[1:],
        layout=Layout(split="by", most=MOST_GROUPS),
    )


def _cells(matrix: ConfusionMatrix) -> list[Value]:
    return [getattr(matrix, cell) for cell in _CELLS]


def steps(facts: AuditFacts, evaluators: Sequence[VerdictSource] | None = None) -> Report:
    """One row a step of an evaluator: alone, and what it adds to the steps before it.

    Args:
        evaluators: those of which to tell, as far as they take steps; all if None.
    """
    rows: list[list[Any]] = []
    for evaluator in facts.sources.evaluators if evaluators is None else evaluators:
        found = additions_of(facts.sources, evaluator)
        if found is None:
            continue
        for step in found.steps:
            alone = gettext("%(name)s alone") % {"name": step.step.step_name}
            rows.append(
                [
                    *(evaluator, step.step.step, alone, step.alone.decided),
                    *_cells(step.alone),
                    *_added(facts.study, step),
                ]
            )
        together, words = found.together, gettext("any step passes")
        rows.append([evaluator, "together", words, together.decided, *_cells(together), None, None])
    return Report(
        columns=[
            source_column("evaluator", _("evaluator")),
            in_files("step"),
            on_pages(_("step"), is_text=True),
            Column("asked", _("runs with a verdict")),
            *(Column(cell, cell.upper()) for cell in _CELLS),
            Column("new_tp", _("adds TP")),
            Column("new_fp", _("adds FP")),
        ],
        rows=rows,
        layout=Layout(split="evaluator"),
    )


def _added(study: Study, step: Addition) -> list[Cell | None]:
    """Runs that the step passes and no step before it passed: TP and FP."""
    if not step.earlier:
        return [None, None]
    cells: list[Cell | None] = []
    for n, failed, passed in (
        (step.new_tp, Verdict.FN, Verdict.TP),
        (step.new_fp, Verdict.TN, Verdict.FP),
    ):
        earlier = [(source, [failed, Verdict.NONE]) for source in step.earlier]
        cells.append(in_cells(study, n, [*earlier, (step.step, [passed])]))
    return cells
