"""The figures of an audit: what each is called, how it is defined, and the reports on them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.facts import ESTIMATE, EVALUATOR, UNDEFINED, AuditFacts, estimated
from judging.analysis.audits.matrices import LEAST_COVERAGE, Audit, EvaluatorAudit, Intervals
from judging.analysis.audits.query import NoVerdict
from judging.analysis.audits.verdict_sources import short_names
from judging.analysis.pictures import IntervalRow, interval_picture
from judging.analysis.reports.report import (
    Column,
    Field,
    Report,
    Value,
    ends,
    figure_values,
    number,
    parted,
    report_of,
    why,
)
from judging.analysis.reports.showing import estimate, percent, percent_ends
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Figure, Interval, Share, Undefined


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure, a property of matrices. `cells` names the cells whose runs the number opens."""

    key: str
    name: Promise | str
    formula: str
    definition: Promise
    cells: str

    def of(self, matrix: ConfusionMatrix) -> Share | Figure:
        found: Share | Figure = getattr(matrix, self.key)
        return found


MEASURES = (
    Measure(
        "coverage",
        capfirst(_("coverage")),
        "(TP + FN + TN + FP) / N",
        _("Share of the runs on which the evaluator gave a verdict."),
        "none",
    ),
    Measure(
        "fn_share",
        _("FN share"),
        "FN / N",
        _(
            "Share of all runs that are successes by the reference and did not pass. Some papers "
            "call this the false negative rate; it depends on how many runs succeed."
        ),
        "fn",
    ),
    Measure(
        "fnr",
        _("FNR, miss rate"),
        "FN / (FN + TP)",
        _("Share of the successes that did not pass. Not the FN share: this is over successes."),
        "fn",
    ),
    Measure("fpr", "FPR", "FP / (FP + TN)", _("Share of the failures that passed."), "fp"),
    Measure(
        "precision",
        capfirst(_("precision")),
        "TP / (TP + FP)",
        _("Share of the passed runs that are successes by the reference."),
        "tp-fp",
    ),
    Measure(
        "recall",
        capfirst(_("recall")),
        "TP / (TP + FN)",
        _("Share of the successes that passed."),
        "tp-fn",
    ),
    Measure(
        "specificity",
        _("Specificity"),
        "TN / (TN + FP)",
        _("Share of the failures that did not pass: the true negative rate, TNR."),
        "tn-fp",
    ),
    Measure(
        "f1",
        "F1",
        "2·TP / (2·TP + FP + FN)",
        _("Harmonic mean of precision and recall."),
        "tp-fn-fp",
    ),
    Measure(
        "accuracy",
        capfirst(_("accuracy")),
        "(TP + TN) / (TP + FN + TN + FP)",
        _("Share of the runs with a verdict on which the evaluator says what the reference says."),
        "tp-fn-tn-fp",
    ),
    Measure(
        "kappa",
        _("Cohen's kappa"),
        "(pₒ − pₑ) / (1 − pₑ)",
        _(
            "Agreement with the reference beyond what chance would give: 0 is chance, 1 is full "
            "agreement. Over the runs with a verdict."
        ),
        "tp-fn-tn-fp",
    ),
)
COVERAGE = MEASURES[0].key
BY_KEY = {measure.key: measure for measure in MEASURES}
QUESTIONS: dict[str, Promise] = {
    "fn_share": _("Which evaluator misses the most runs?"),
    "fnr": _("Which evaluator misses the most successes?"),
    "fpr": _("Which evaluator lets failures pass?"),
}
"""The pictures of an audit, by the figure that they draw."""


class Measured:
    """A figure of one evaluator with what it was computed from.

    `interval` is Wilson's for shares, else the bootstrap's, None where that was not asked for;
    `by_task` the bootstrap's beside Wilson's, where runs share tasks and Wilson's is too narrow.
    """

    def __init__(
        self, audit: EvaluatorAudit, measure: Measure, intervals: Intervals | None = None
    ) -> None:
        self.audit, self.measure = audit, measure
        found = measure.of(audit.matrix if measure.key == COVERAGE else audit.scored)
        bootstrapped = (intervals or {}).get(measure.key)
        self.share: Share | None = None
        self.interval: Interval | Undefined | None = bootstrapped
        self.by_task: Interval | Undefined | None = None
        if isinstance(found, Share):
            self.share, self.value = found, found.value
            self.interval, self.by_task = found.interval, bootstrapped
        else:
            self.value = found
            if isinstance(found, Undefined):
                self.interval = found

    @property
    def cells(self) -> str:
        """The cells whose runs the number opens."""
        if self.audit.query.counts_silence and self.measure.key != COVERAGE:
            return f"{self.measure.cells}-none"
        return self.measure.cells

    @property
    def url(self) -> str:
        return self.audit.url(self.cells)

    @property
    def is_share(self) -> bool:
        """Whether it reads as a percentage; the others are bare coefficients."""
        return self.share is not None or self.measure.key == "f1"


def measured(audit: Audit, each: EvaluatorAudit, kind: Measure) -> Measured:
    """The figure of one of the audit's evaluators, with its bootstrapped interval."""
    return Measured(each, kind, audit.intervals.get(each.evaluator.pk))


def figures_of(audit: Audit) -> list[tuple[Measure, list[Measured]]]:
    return [(kind, [measured(audit, each, kind) for each in audit.speaking]) for kind in MEASURES]


def draw(audit: Audit, key: str, url: Callable[[Measured], str] | None = None) -> SafeString:
    """The picture of one of `QUESTIONS` over all evaluators.

    Args:
        url: where the runs of a figure are listed; on a page of the audit unless it is given.
    """
    kind = BY_KEY[key]
    names = short_names(each.evaluator for each in audit.speaking)
    rows = [
        IntervalRow(
            _drawn_name(each, names[each.evaluator.pk]),
            found.value,
            found.interval,
            counted=found.share,
            by_task=found.by_task,
            url=url(found) if url else found.url,
        )
        for each in audit.speaking
        for found in [measured(audit, each, kind)]
    ]
    label = f"{QUESTIONS[key]} {kind.name} = {kind.formula}"
    if audit.query.counts_silence:
        label += f"; {NoVerdict.WRONG.label}"
    return interval_picture(rows, label=label, meaning="fp" if key == "fpr" else "fn")


def _drawn_name(audit: EvaluatorAudit, name: str) -> str:
    """Whoever has little coverage says so where figures are compared at a glance."""
    if not audit.has_little_coverage:
        return name
    words = gettext("coverage %(share)s") % {"share": percent(audit.matrix.coverage.value)}
    return f"{name} ({words})"


def matrices(facts: AuditFacts) -> Report:
    """One row an evaluator: the four cells and the fifth."""

    def reasons(each: EvaluatorAudit) -> str | None:
        return "; ".join(f"{n} {gettext(reason)}" for reason, n in each.reasons) or None

    def cell(name: str) -> Field:
        return Column(name, name.upper()), lambda each: getattr(each.matrix, name)

    return report_of(
        facts.evaluators,
        [
            (EVALUATOR, lambda each: each.evaluator),
            (Column("runs", "N"), lambda each: each.matrix.runs),
            *map(cell, _CELLS),
            (Column("no_verdict", _("no verdict")), lambda each: each.matrix.no_verdict),
            (Column("coverage", _("coverage")), lambda each: number(each.matrix.coverage.value)),
            (Column("no_verdict_because", _("no verdict because")), reasons),
            (LITTLE_COVERAGE, lambda each: "yes" if each.has_little_coverage else None),
        ],
        notes=[_population_note(facts), *_coverage_notes(facts)],
    )


LITTLE_COVERAGE = Column("little_coverage", _("little coverage"))


def _coverage_notes(audit: Audit) -> list[str]:
    if not audit.set_apart:
        return []
    words = gettext(
        "Set apart, after the others, with a verdict on fewer than %(least)s of the runs: "
        "%(evaluators)s."
    )
    names = short_names(each.evaluator for each in audit.speaking)
    apart = ", ".join(_drawn_name(each, names[each.evaluator.pk]) for each in audit.set_apart)
    return [words % {"least": percent(LEAST_COVERAGE), "evaluators": apart}]


_CELLS = ("tp", "fn", "tn", "fp")


def _population_note(audit: Audit) -> str:
    return gettext("N = %(n)s runs with a reference verdict: %(s)s successes, %(f)s failures.") % {
        "n": audit.population.runs,
        "s": audit.population.references.successes,
        "f": audit.population.references.failures,
    }


def figures(facts: AuditFacts) -> Report:
    """One row a figure of an evaluator, with its intervals and what it was computed from."""
    return Report(
        columns=[
            EVALUATOR,
            Column("figure", _("figure")),
            Column("formula", _("formula")),
            parted(
                (*ESTIMATE, "by_task_low", "by_task_high", "count", "total", UNDEFINED),
                _("value"),
                spread=_spread_measured,
            ),
            Column("no_verdict", _("a run without a verdict")),
            LITTLE_COVERAGE,
        ],
        rows=[
            [
                *(each.evaluator, kind.key, kind.formula, measured(facts, each, kind)),
                facts.query.no_verdict.value,
                "yes" if each.has_little_coverage else None,
            ]
            for each in facts.evaluators
            for kind in MEASURES
        ],
        notes=[_population_note(facts), *rule_notes(facts)],
    )


def rule_notes(audit: Audit) -> list[str]:
    """What is unusual about how figures count, and whose are set apart."""
    wrong = gettext(
        "No verdict counts as wrong: FN on a success, FP on a failure. It counts "
        "against the evaluator, never the agent; coverage stays."
    )
    return [*([wrong] if audit.query.counts_silence else []), *_coverage_notes(audit)]


def _spread_measured(found: Measured) -> list[Value]:
    counts = (found.share.count, found.share.total) if found.share else (None, None)
    return [*figure_values(found), *ends(found.by_task), *counts, why(found.value)]


def corrected(facts: AuditFacts) -> Report:
    """One row an evaluator: the success rate of the runs without a reference verdict."""
    return Report(
        columns=[
            EVALUATOR,
            parted(
                ("passed", "total", "pass_rate"),
                _("passed"),
                spread=lambda share: [share.count, share.total, number(share.value)],
            ),
            estimated(
                _("success rate behind it"),
                lambda each: estimate(each.value, percent, percent_ends(each.interval)),
            ),
        ],
        rows=[[each.audit.evaluator, each.passed, each] for each in facts.corrected],
        notes=[
            gettext(
                "Rogan and Gladen's correction, (p + TNR − 1) / (TPR + TNR − 1), with the rates "
                "measured on the other runs and the interval of Lang and Reiczigel. It holds if "
                "these runs are like those."
            )
        ],
    )
