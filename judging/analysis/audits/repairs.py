"""What would repair each evaluator: where its errors belong, what decides most of them, and who
corrects most of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from judging.analysis.audits.comparing.evaluators import PairCompared, compare_all
from judging.analysis.audits.explanations import decider, decider_words
from judging.analysis.audits.facts import EVALUATOR, AuditFacts, source_column
from judging.analysis.audits.figures import BY_KEY, Measured
from judging.analysis.audits.matrices import EvaluatorAudit
from judging.analysis.audits.population import (
    FAILED,
    FAILURE,
    PASSED,
    SUCCESS,
    Shown,
    counted_items,
)
from judging.analysis.audits.verdict_sources import VerdictSource, short_names
from judging.analysis.causes.tags import UNTAGGED, CauseAudit
from judging.analysis.counting import tally
from judging.analysis.pictures import IntervalRow, interval_picture
from judging.analysis.reports.report import Cell, Column, Report
from judging.analysis.reports.showing import DASH
from judging.models import EvaluatorVersion, Repair, Study, StudyItem

MOST_ERRORS = 5_000
"""Errors that are read for what decided them."""
MOST_DRAWN = 3
"""Evaluators that are drawn before and after."""


class Correction(NamedTuple):
    """Another evaluator, and how many verdicts on the same runs it corrects and breaks."""

    by: VerdictSource
    corrected: int
    broken: int

    @property
    def gain(self) -> int:
        return self.corrected - self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an evaluator gets wrong, and what repairing it would bring."""

    audit: EvaluatorAudit
    causes: CauseAudit
    correction: Correction | None
    """By the evaluator that corrects most; one that asks a stub only where no other does."""
    after: EvaluatorAudit | None
    """The audit of that evaluator."""
    with_stub: Correction | None
    """By one that asks a stub and corrects more."""

    @property
    def places(self) -> list[tuple[int, Any, str]]:
        """How many of its errors belong where, untagged ones last, each with its runs."""
        found = [
            *((self.causes.by_repair[each], each.label, f"repair.{each}") for each in Repair),
            (self.causes.untagged, gettext("untagged"), UNTAGGED),
        ]
        return [
            (n.total, words, f"{self.audit.errors_url}?{urlencode({'tag': tag})}")
            for n, words, tag in found
            if n.total
        ]

    @property
    def compare_url(self) -> str:
        return self.url_beside(self.correction) if self.correction else ""

    @property
    def with_stub_url(self) -> str:
        return self.url_beside(self.with_stub) if self.with_stub else ""

    def url_beside(self, correction: Correction) -> str:
        """Where the evaluator and the one that corrects it are compared."""
        address = reverse("judging:audit_compare", args=[self.audit.study.pk])
        pair = {"first": self.audit.evaluator.pk, "second": correction.by.key}
        return f"{address}?{urlencode(pair)}"


def findings(facts: AuditFacts) -> list[Finding]:
    """The evaluators that speak, those that err most first, with where their errors belong and who
    corrects them; three queries more than the audit.
    """
    causes = {each.audit.evaluator.pk: each for each in facts.causes}
    corrections, with_stub = best_corrections(facts)
    audits = {str(each.evaluator.pk): each for each in facts.evaluators}
    return [
        Finding(
            audit=each,
            causes=causes[each.evaluator.pk],
            correction=(correction := corrections.get(each.evaluator.pk)),
            after=audits[correction.by.key] if correction else None,
            with_stub=with_stub.get(each.evaluator.pk),
        )
        for each in facts.by_errors
    ]


def repairs(facts: AuditFacts) -> Report:
    """One row an evaluator that errs, most errors first."""
    return Report(
        columns=[
            EVALUATOR,
            Column("errors", gettext_lazy("errors")),
            *(Column(place.value, place.label) for place in Repair),
            Column("untagged", gettext_lazy("untagged")),
            source_column("corrected_by", gettext_lazy("best corrected by")),
            Column("corrected", gettext_lazy("corrects")),
            Column("broken", gettext_lazy("breaks")),
        ],
        rows=[_row(each) for each in findings(facts) if each.audit.matrix.wrong],
        notes=[
            gettext(
                "Errors are FN and FP. Best corrected by: the evaluator that is right on most of "
                "these runs, less those that it gets wrong instead; with much coverage only."
            )
        ],
    )


def _row(found: Finding) -> list[object]:
    causes, matrix = found.causes, found.audit.matrix
    correction = found.with_stub or found.correction
    named = Cell(correction.by, found.url_beside(correction)) if correction else DASH
    return [
        found.audit.evaluator,
        Cell(matrix.wrong, found.audit.errors_url),
        *(causes.by_repair[place].total for place in Repair),
        causes.untagged.total,
        named,
        correction.corrected if correction else None,
        correction.broken if correction else None,
    ]


def best_corrections(facts: AuditFacts) -> tuple[dict[int, Correction], dict[int, Correction]]:
    """By evaluator, who corrects more of its verdicts than it breaks, and most of all: one that
    asks a stub only where no other does. The second names who asks a stub and corrects more.

    Only evaluators that speak of enough runs to be ranked; of equals one of the same kind, else
    the first in their order.
    """
    ranked = {each.evaluator.pk for each in facts.speaking if not each.has_little_coverage}
    best: dict[int, Correction] = {}
    real: dict[int, Correction] = {}
    for pair in compare_all(facts.sources):
        for source, correction in _both_ways(pair):
            version, by = source.evaluator, correction.by.evaluator
            if version is None or by is None or by.pk not in ranked or correction.gain <= 0:
                continue
            for found in [best] if by.is_stub else [best, real]:
                held = found.get(version.pk)
                if held is None or _rank(version, correction) > _rank(version, held):
                    found[version.pk] = correction
    return best | real, {key: each for key, each in best.items() if real.get(key, each) != each}


def worst_and_its_repair(facts: AuditFacts) -> tuple[VerdictSource, VerdictSource] | None:
    """Of the evaluators that another one corrects the one that errs most, and its best repair; the
    first two where nobody corrects any. None without two.
    """
    corrections, _ = best_corrections(facts)
    for each in facts.by_errors:
        if correction := corrections.get(each.evaluator.pk):
            return facts.sources.named(str(each.evaluator.pk)), correction.by
    evaluators = facts.sources.evaluators
    return (evaluators[0], evaluators[1]) if len(evaluators) > 1 else None


def _rank(version: EvaluatorVersion, correction: Correction) -> tuple[int, bool]:
    by = correction.by.evaluator
    return correction.gain, by is not None and by.kind == version.kind


def _both_ways(pair: PairCompared) -> list[tuple[VerdictSource, Correction]]:
    """What the second corrects of the first, and the first of the second."""
    flips = pair.flips
    second_right, first_right = flips.fixed_fn + flips.fixed_fp, flips.new_fn + flips.new_fp
    return [
        (pair.first, Correction(pair.second, second_right, first_right)),
        (pair.second, Correction(pair.first, first_right, second_right)),
    ]


def before_and_after(found: Iterable[Finding]) -> SafeString | None:
    """The FN share of the evaluators that miss most, each above that of who corrects it.

    None where nobody corrects any.
    """
    drawn = [each for each in found if each.audit.matrix.fn and each.after][:MOST_DRAWN]
    if not drawn:
        return None
    kind = BY_KEY["fn_share"]
    shown = [version for each in drawn for version in (each.audit, each.after) if version]
    names = short_names({each.evaluator.pk: each.evaluator for each in shown}.values())
    rows = []
    for each in drawn:
        rows.append(_drawn(each, Measured(each.audit, kind), names))
        if each.after is not None:
            rows.append(_drawn(each, Measured(each.after, kind), names, is_after=True))
    label = gettext("FN share before and after the repair")
    return interval_picture(rows, label=label, meaning="fn")


def _drawn(
    found: Finding, share: Measured, names: Mapping[int, str], *, is_after: bool = False
) -> IntervalRow:
    name = names[share.audit.evaluator.pk]
    if share.audit.evaluator.is_stub:
        name = gettext("%(name)s (stub)") % {"name": name}
    return IntervalRow(
        f"→ {name}" if is_after else name,
        share.value,
        share.interval,
        counted=share.share,
        url=found.compare_url if is_after else share.url,
        meaning="evaluator" if is_after else "fn",
    )


class Decider(NamedTuple):
    """A rule or check, and how many errors of an evaluator it decided."""

    key: str
    fn: int
    fp: int

    @property
    def total(self) -> int:
        return self.fn + self.fp

    @property
    def name(self) -> str:
        return decider_words(self.key) or gettext("not stored")


def _errors(study: Study, evaluators: Iterable[EvaluatorVersion]) -> QuerySet[StudyItem]:
    """The counted items that one of the evaluators gets wrong, once for each that does."""
    wrong = Q(verdict__verdict=SUCCESS, run__evaluations__verdict=FAILED)
    wrong |= Q(verdict__verdict=FAILURE, run__evaluations__verdict=PASSED)
    named = [each.pk for each in evaluators]
    return (
        counted_items(study)
        .filter(wrong, run__evaluations__is_current=True, run__evaluations__evaluator__among=named)
        .order_by()
    )


def worst_of(study: Study, evaluators: Sequence[EvaluatorVersion]) -> EvaluatorVersion | None:
    """The one that errs most, the first of equals; in one query."""
    errors = tally(_errors(study, evaluators), "run__evaluations__evaluator")
    return max(evaluators, key=lambda each: errors[each.pk], default=None)


def deciders(study: Study, evaluators: Iterable[EvaluatorVersion]) -> dict[int, list[Decider]]:
    """By evaluator, what decided its errors, in one query; what decided most comes first."""
    rows = _errors(study, evaluators).values_list(
        "run__evaluations__evaluator", "run__evaluations__details", "verdict__verdict"
    )[:MOST_ERRORS]
    counts: defaultdict[int, defaultdict[str, Counter[str]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for evaluator, details, reference in rows:
        counts[evaluator][decider(details)][reference] += 1
    return {
        evaluator: sorted(
            (Decider(key, n[SUCCESS], n[FAILURE]) for key, n in found.items()),
            key=lambda each: (-each.total, each.key),
        )
        for evaluator, found in counts.items()
    }


class NextStep(NamedTuple):
    """Something to do next, and where."""

    words: str
    url: str


def next_steps(found: Iterable[Finding]) -> list[NextStep]:
    """For the evaluator that errs most: its errors, what decides most of them, and reruns."""
    worst = next((each for each in found if each.audit.matrix.wrong), None)
    if worst is None:
        return []
    matrix = worst.audit.matrix
    cell = Shown.FN if matrix.fn else Shown.FP
    n = matrix.fn or matrix.fp
    if matrix.fn:
        words = ngettext(
            "Open %(n)s missed run of %(evaluator)s",
            "Open the %(n)s missed runs of %(evaluator)s",
            n,
        )
    else:
        words = ngettext(
            "Open %(n)s run that %(evaluator)s passed wrongly",
            "Open the %(n)s runs that %(evaluator)s passed wrongly",
            n,
        )
    named = {"n": n, "evaluator": worst.audit.evaluator.title}
    steps = [NextStep(words % named, worst.audit.url(cell))]
    steps.append(_what_decides(worst, matrix.wrong))
    again = ngettext("Rerun it", "Rerun all %(n)s", n)
    steps.append(NextStep(again % {"n": n}, f"{worst.audit.url(cell)}#rerun"))
    return steps


def _what_decides(worst: Finding, errors: int) -> NextStep:
    """The errors that one rule decided, of the rule that decided most; else their causes."""
    version = worst.audit.evaluator
    most = next(iter(deciders(worst.audit.study, [version]).get(version.pk, ())), None)
    if most is None or not most.key:
        url = reverse("judging:audit_causes", args=[worst.audit.study.pk])
        return NextStep(gettext("See the causes of its errors"), url)
    words = gettext("See what decides most: %(rule)s (%(n)s of %(total)s)")
    figures = {"rule": most.name, "n": most.total, "total": errors}
    return NextStep(words % figures, f"{worst.audit.errors_url}?{urlencode({'rule': most.key})}")
