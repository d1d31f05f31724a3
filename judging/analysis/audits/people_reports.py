"""Reports on annotators: against each other, and evaluators and detectors against them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.agreement import Agreed, Pair
from judging.analysis.audits.detectors import CELLS, KINDS, DetectorCell
from judging.analysis.audits.facts import (
    HIGH,
    LOW,
    METHOD,
    RUNS,
    UNDEFINED,
    VALUE,
    AuditFacts,
)
from judging.analysis.audits.people import Against
from judging.analysis.audits.selection import differing
from judging.analysis.reports.columns import (
    ends,
    in_files,
    method,
    number,
    on_pages,
    text,
    value_and_ends,
    why,
)
from judging.analysis.reports.report import Cell, Column, FileColumn, Layout, Report, Value
from judging.analysis.reports.showing import Shown, show
from judging.analysis.wording import figure_words, interval_words, why_undefined
from judging.statistics.figures import Undefined


def agreement(facts: AuditFacts) -> Report:
    """Agreement of all annotators, of each pair, and of each with themselves."""
    found = facts.agreement
    return Report(
        columns=[
            Column("kind", _("kind")),
            Column("annotators", _("annotators")),
            RUNS,
            Column("figure", _("figure")),
            Column(
                "value",
                VALUE.name,
                parts=[VALUE, LOW, HIGH, METHOD, UNDEFINED],
                spread=_spread_agreed,
            ),
        ],
        rows=[
            *_agreed("all", gettext("all annotators"), found.runs, found.figures),
            *(row for pair in found.pairs for row in _pair("pair", pair)),
            *(row for pair in found.repeats for row in _pair("repeat", pair)),
        ],
    )


def _spread_agreed(each: Agreed) -> list[Value]:
    reason = why(each.value) or str(each.why) or None
    return [number(each.value), *ends(each.interval), method(each.interval), reason]


def _pair(kind: str, pair: Pair) -> Iterable[list[Any]]:
    names = pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}"
    return _agreed(kind, names, pair.runs, pair.figures)


def _agreed(kind: str, names: str, runs: int, figures: Iterable[Agreed]) -> Iterable[list[Any]]:
    return [[kind, names, runs, each.key, each] for each in figures]


def people(facts: AuditFacts) -> Report:
    """One row a pair of annotators, or of an evaluator and an annotator.

    On a page every annotator has columns of their own.
    """
    return Report(
        columns=[
            in_files("kind", _("kind")),
            text("voice", _("who")),
            text("annotator", _("against"), show=_show_annotator),
            in_files("runs", _("runs")),
            Column(
                "agreement",
                _("agreement"),
                parts=_with_ends("agreement", _("agreement")),
                spread=value_and_ends,
            ),
            Column(
                "kappa",
                _("Cohen's kappa"),
                parts=_with_ends("kappa", _("Cohen's kappa")),
                spread=lambda each: [number(each.kappa), *ends(each.kappa_interval)],
                show=_show_kappa,
            ),
            on_pages(_("they differ on")),
            in_files(UNDEFINED.key, UNDEFINED.name),
        ],
        rows=[
            [
                kind,
                each.source.name,
                each.annotator.name,
                each.runs,
                each.agreement,
                each,
                differing(facts.study, each.differing, each.annotator, each.source),
                why(each.agreement.value) or why(each.kappa),
            ]
            for kind, each in facts.ceiling.all
        ],
        notes=[gettext("Over the runs on which both say success or failure.")],
        layout=Layout(pivot="annotator"),
    )


def _with_ends(key: str, name: Promise) -> list[FileColumn]:
    return [
        FileColumn(key, name),
        FileColumn(f"{key}_low", LOW.name),
        FileColumn(f"{key}_high", HIGH.name),
    ]


def _show_annotator(name: str) -> Shown:
    return Shown(gettext("against %(name)s") % {"name": name})


def _show_kappa(each: Against) -> Shown:
    if isinstance(each.kappa, Undefined):
        return show(each.kappa)
    found = each.kappa_interval
    if isinstance(found, Undefined):
        note = why_undefined(found)
    else:
        note = interval_words(found, is_share=False)
    return Shown(f"κ {figure_words(each.kappa, is_share=False)}", note)


def detectors(facts: AuditFacts) -> Report:
    """One row a detector and kind of anomaly; each number opens its runs on the page."""
    found = facts.detected.detectors
    names = {each.key: each.name for each in found}

    def query(kind: str, detector: str, cell: DetectorCell) -> str:
        return f"?{urlencode({'kind': kind, 'detector': detector, 'cell': cell.value})}#runs"

    return Report(
        columns=[
            text("kind", _("anomaly"), show=lambda kind: Shown(str(KINDS[kind]))),
            text("detector", _("detector"), show=lambda key: Shown(names[key])),
            *(Column(each.value.replace("-", "_"), words) for each, words in CELLS.items()),
            _rate("precision", _("precision")),
            _rate("recall", _("recall")),
        ],
        rows=[
            [
                each.kind,
                each.key,
                *(Cell(each.n(cell), query(each.kind, each.key, cell)) for cell in CELLS),
                each.precision,
                each.recall,
            ]
            for each in found
        ],
    )


def _rate(key: str, words: Promise) -> Column:
    ends = ("", "_low", "_high", "_undefined_because")
    return Column(
        key,
        words,
        parts=[FileColumn(f"{key}{end}", words) for end in ends],
        spread=lambda share: [*value_and_ends(share), why(share.value)],
        show=lambda share: show(share if share.total else share.value),
    )
