"""Reports on two studies side by side."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.comparing.studies import TwoStudies
from judging.analysis.audits.figures import MEASURES
from judging.analysis.audits.population import Shown as Verdict
from judging.analysis.experiments.pairs import Cell, Paired
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import (
    SHARE_KEYS,
    Column,
    Layout,
    Report,
    Value,
    in_files,
    share,
    text,
    with_ends,
)
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.showing import p_words
from judging.statistics.comparison import difference_of_shares
from judging.statistics.figures import Share
from runs.interface.words import VERDICTS

MOST_TASKS = 100
"""Rows of tasks on a page; files have all."""
ALL, PAIRED = "all", "paired"
_RUNS: Mapping[str, Promise] = {ALL: _("all runs"), PAIRED: _("paired runs")}
_OWN_REFERENCE = gettext_noop(
    "Each run is held against the reference verdict of its own study, which may differ."
)
_SHARE_KEYS = ("count", *SHARE_KEYS[1:])
SUCCESS_RATE = "success_rate"
_FIGURES: Mapping[str, Promise | str] = {
    SUCCESS_RATE: _("success rate by reference verdict"),
    **{each.key: each.name for each in MEASURES},
}
_CELLS = [Verdict.TP, Verdict.FN, Verdict.TN, Verdict.FP, Verdict.NONE]
_NAMES: Mapping[str, Promise | str] = {
    **{each.value: each.value.upper() for each in _CELLS[:4]},
    Verdict.NONE.value: _("no verdict"),
}


def beside(facts: TwoStudies) -> Report:
    """One row a figure: the first study, the second, and how far they lie apart."""
    rows: list[list[Any]] = [
        [ALL, SUCCESS_RATE, *facts.success, facts.success_gain],
        [PAIRED, SUCCESS_RATE, *facts.pairing.successes, facts.pairing.gain],
    ]
    if facts.has_evaluators:
        one, two = facts.matrices
        for measure in MEASURES:
            first, second = measure.of(one), measure.of(two)
            if isinstance(first, Share) and isinstance(second, Share):
                rows.append([ALL, measure.key, first, second, difference_of_shares(first, second)])
        before, after = (matrix.fn_share for matrix in facts.paired_matrices)
        rows.append([PAIRED, "fn_share", before, after, facts.paired_fn_gain])
    return Report(
        columns=[
            text("runs", _("runs"), words=_RUNS),
            text("figure", _("figure"), words=_FIGURES),
            *(
                share(f"{side.name} ({n})", keys=[f"{key}_{n}" for key in _SHARE_KEYS])
                for n, side in enumerate(facts.sides, start=1)
            ),
            with_ends("difference", _("second minus first")),
        ],
        rows=rows,
        notes=[
            gettext(
                "Differences over all runs as of independent samples (Newcombe); over paired runs "
                "by pair, with runs of one task taken together."
            )
        ],
    )


def matrices(facts: TwoStudies) -> Report:
    """One row a study and its evaluator: the matrix over all runs, and over the paired ones."""
    both = ((ALL, facts.matrices), (PAIRED, facts.paired_matrices))
    rows = [
        [
            *(key, side.study.name, side.source.name if side.source else None, matrix.runs),
            *(matrix.tp, matrix.fn, matrix.tn, matrix.fp, matrix.no_verdict),
        ]
        for key, found in both
        for side, matrix in zip(facts.sides, found, strict=True)
    ]
    return Report(
        columns=[
            text("runs", _("runs"), words=_RUNS),
            text("study", _("study")),
            text("evaluator", _("evaluator")),
            Column("n", "N"),
            *(Column(each.value, str(_NAMES[each.value])) for each in _CELLS),
        ],
        rows=rows,
    )


def pairs(facts: TwoStudies) -> Report:
    """What became of the paired tasks: one row a kind of pair, then the runs without a partner."""
    pairing = facts.pairing
    counts, test = pairing.counts, pairing.test
    rows: list[list[Value]] = [
        [each.value, counts[each]] for each in Cell if each is not Cell.NO_VERDICT
    ]
    rows += [
        ["only_in_first", len(pairing.only_in_first)],
        ["only_in_second", len(pairing.only_in_second)],
    ]
    words = {
        **dict(Cell.choices),
        "only_in_first": _("unpaired, first"),
        "only_in_second": _("unpaired, second"),
    }
    p = p_words(test.tested_p)
    return Report(
        columns=[text("pair", _("pair"), words=words), Column("n", _("runs or pairs"))],
        rows=rows,
        notes=[gettext(_OWN_REFERENCE)],
        remarks=[
            gettext("McNemar's exact test over the pairs on which one succeeds: %(p)s.") % {"p": p}
        ],
    )


def joint(facts: TwoStudies) -> Report:
    """Pairs by the cell of the first run (rows) and the cell of the second (columns)."""
    if not facts.has_evaluators:
        return Report(columns=[], rows=[], empty=_("No evaluator is chosen in both studies."))
    axes = " · ".join(f"{side.name} {way}" for side, way in zip(facts.sides, "↓→", strict=True))
    rows = [
        [
            before.value,
            *(facts.joint[before, after] for after in _CELLS),
            sum(facts.joint[before, after] for after in _CELLS),
        ]
        for before in _CELLS
    ]
    return Report(
        columns=[
            text("first", axes, words=_NAMES),
            *(Column(f"second_{each.value}", str(_NAMES[each.value])) for each in _CELLS),
            Column("sum", _("sum")),
        ],
        rows=rows,
        notes=[gettext(_OWN_REFERENCE)],
    )


def tasks(facts: TwoStudies) -> Report:
    """One row a pair, then the runs without a partner, with what people and evaluators said."""
    compare = reverse("runs:run_compare")
    rows = []
    for pair in facts.pairing.pairs:
        cells = facts.cells(pair) if facts.has_evaluators else (None, None)
        rows.append(
            [
                Linked("/".join(pair.first.task), f"{compare}?{pair.query}"),
                *(str(pair.first.run), str(pair.second.run)),
                *_said(facts, 0, pair.first, cells[0]),
                *_said(facts, 1, pair.second, cells[1]),
            ]
        )
    nobody = [None] * 3
    rows += [
        [Linked("/".join(run.task)), str(run.run), None, *_said(facts, 0, run, None), *nobody]
        for run in facts.pairing.only_in_first
    ]
    rows += [
        [Linked("/".join(run.task)), None, str(run.run), *nobody, *_said(facts, 1, run, None)]
        for run in facts.pairing.only_in_second
    ]
    columns = [Column("task", _("task"), is_text=True)]
    columns += [in_files(f"run_{n}") for n in (1, 2)]
    for n in (1, 2):
        columns += [
            text(f"reference_{n}", f"{gettext('reference')} ({n})", words=VERDICTS),
            text(f"evaluator_{n}", f"{gettext('evaluator')} ({n})", words=VERDICTS),
            text(f"cell_{n}", f"{gettext('cell')} ({n})", words=_NAMES),
        ]
    return Report(
        columns=columns,
        rows=rows,
        # Those whose two halves say different things.
        page_rows=[row for row in rows if row[3:6] != row[6:9]],
        remarks=[_("Pairs that differ, and runs without a partner. The download has all pairs.")],
        layout=Layout(most=MOST_TASKS),
    )


def _said(facts: TwoStudies, side: int, run: Paired, cell: Verdict | None) -> list[Value]:
    said = facts.sides[side].said[run]
    word = None if said is None else "passed" if said else "failed"
    return [run.standing.value, word, cell.value if cell else None]


TWO_STUDIES: Registry[TwoStudies] = Registry(
    {
        "beside": Entry(_("Figures"), beside),
        "matrices": Entry(_("Matrices"), matrices),
        "pairs": Entry(_("Paired tasks"), pairs),
        "joint": Entry(_("Joint matrix"), joint),
        "tasks": Entry(_("Task by task"), tasks, True),
    },
    prefix="studies-",
)
