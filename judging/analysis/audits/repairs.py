"""What would repair each evaluator: where its errors belong, and who corrects most of them."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from judging.analysis.audits.comparison import PairCompared, compare_all
from judging.analysis.audits.facts import EVALUATOR, AuditFacts
from judging.analysis.audits.matrices import EvaluatorAudit
from judging.analysis.audits.verdict_sources import VerdictSource
from judging.analysis.reports.report import Cell, Column, Report
from judging.analysis.wording import DASH
from judging.models import Repair


class Correction(NamedTuple):
    """Another evaluator, and how many verdicts on the same runs it corrects and breaks."""

    by: VerdictSource
    corrected: int
    broken: int


def repairs(facts: AuditFacts) -> Report:
    """One row an evaluator that errs, most errors first."""
    found = best_corrections(facts)
    causes = {each.audit.evaluator.pk: each for each in facts.causes}
    rows = []
    for each in facts.audit.by_errors:
        if not (errors := each.matrix.fn + each.matrix.fp):
            continue
        known = causes[each.evaluator.pk]
        rows.append(
            [
                each.evaluator,
                Cell(errors, _address_of_errors(facts, each)),
                *(known.by_repair[place].total for place in Repair),
                known.untagged.total,
                *_correction_cells(facts, each, found.get(each.evaluator.pk)),
            ]
        )
    return Report(
        columns=[
            EVALUATOR,
            Column("errors", gettext_lazy("errors")),
            *(Column(place.value, place.label) for place in Repair),
            Column("untagged", gettext_lazy("untagged")),
            Column("corrected_by", gettext_lazy("best corrected by"), is_text=True),
            Column("corrected", gettext_lazy("corrects")),
            Column("broken", gettext_lazy("breaks")),
        ],
        rows=rows,
        notes=[
            gettext(
                "Errors are FN and FP. Best corrected by: the evaluator that is right on most of "
                "these runs, less those that it gets wrong instead; with much coverage only."
            )
        ],
    )


def best_corrections(facts: AuditFacts) -> dict[int, Correction]:
    """By evaluator, who corrects more of its verdicts than it breaks, and most of all.

    Only evaluators that speak of enough runs to be ranked; of equals the first in their order.
    """
    ranked = {each.evaluator.pk for each in facts.audit.speaking if not each.has_little_coverage}
    best: dict[int, Correction] = {}
    for pair in compare_all(facts.study, facts.sources):
        for source, correction in _both_ways(pair):
            version, by = source.evaluator, correction.by.evaluator
            if version is None or by is None or by.pk not in ranked:
                continue
            gain = correction.corrected - correction.broken
            held = best.get(version.pk)
            if gain > (held.corrected - held.broken if held else 0):
                best[version.pk] = correction
    return best


def _both_ways(pair: PairCompared) -> list[tuple[VerdictSource, Correction]]:
    """What the second corrects of the first, and the first of the second."""
    flips = pair.flips
    second_right, first_right = flips.fixed_fn + flips.fixed_fp, flips.new_fn + flips.new_fp
    return [
        (pair.first, Correction(pair.second, second_right, first_right)),
        (pair.second, Correction(pair.first, first_right, second_right)),
    ]


def _correction_cells(
    facts: AuditFacts, each: EvaluatorAudit, correction: Correction | None
) -> list[object]:
    if correction is None:
        return [DASH, None, None]
    address = reverse("judging:audit_compare", args=[facts.study.pk])
    query = urlencode({"first": each.evaluator.pk, "second": correction.by.key})
    return [
        Cell(correction.by.name, f"{address}?{query}"),
        correction.corrected,
        correction.broken,
    ]


def _address_of_errors(facts: AuditFacts, each: EvaluatorAudit) -> str:
    return reverse("judging:audit_cells", args=[facts.study.pk, each.evaluator.pk, "fn-fp"])
