"""The figures of an audit: what each is called, how it is defined, which runs it speaks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import EvaluatorAudit
from judging.analysis.audits.resampling import Resampled
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Figure, Interval, Share, Undefined


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure. `cells` names the cells whose runs the number opens."""

    key: str
    name: Promise
    formula: str
    definition: Promise
    cells: str
    of: Callable[[ConfusionMatrix], Share | Figure]


MEASURES = (
    Measure(
        "coverage",
        _("Coverage"),
        "(TP + FN + TN + FP) / N",
        _("Share of the runs on which the evaluator gave a verdict."),
        "none",
        lambda matrix: matrix.coverage,
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
        lambda matrix: matrix.fn_share,
    ),
    Measure(
        "fnr",
        _("FNR, miss rate"),
        "FN / (FN + TP)",
        _("Share of the successes that did not pass. Not the FN share: this is over successes."),
        "fn",
        lambda matrix: matrix.fnr,
    ),
    Measure(
        "fpr",
        _("FPR"),
        "FP / (FP + TN)",
        _("Share of the failures that passed."),
        "fp",
        lambda matrix: matrix.fpr,
    ),
    Measure(
        "precision",
        _("Precision"),
        "TP / (TP + FP)",
        _("Share of the passed runs that are successes by the reference."),
        "tp-fp",
        lambda matrix: matrix.precision,
    ),
    Measure(
        "recall",
        _("Recall"),
        "TP / (TP + FN)",
        _("Share of the successes that passed."),
        "tp-fn",
        lambda matrix: matrix.recall,
    ),
    Measure(
        "specificity",
        _("Specificity"),
        "TN / (TN + FP)",
        _("Share of the failures that did not pass: the true negative rate, TNR."),
        "tn-fp",
        lambda matrix: matrix.specificity,
    ),
    Measure(
        "f1",
        _("F1"),
        "2·TP / (2·TP + FP + FN)",
        _("Harmonic mean of precision and recall."),
        "tp-fn-fp",
        lambda matrix: matrix.f1,
    ),
    Measure(
        "accuracy",
        _("Accuracy"),
        "(TP + TN) / (TP + FN + TN + FP)",
        _("Share of the runs with a verdict on which the evaluator says what the reference says."),
        "tp-fn-tn-fp",
        lambda matrix: matrix.accuracy,
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
        lambda matrix: matrix.kappa,
    ),
)
BY_KEY = {measure.key: measure for measure in MEASURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A figure of one evaluator with what it was computed from.

    `interval` is Wilson's for shares, else the bootstrap's, None where that was not asked for;
    `by_task` the bootstrap's beside Wilson's, where runs share tasks and Wilson's is too narrow.
    """

    audit: EvaluatorAudit
    measure: Measure
    value: Figure
    interval: Interval | Undefined | None
    by_task: Interval | Undefined | None = None
    share: Share | None = None

    @property
    def is_share(self) -> bool:
        """Whether it reads as a percentage; the others are bare coefficients."""
        return self.share is not None or self.measure.key == "f1"


def measure(
    audit: EvaluatorAudit, measure: Measure, resampled: Resampled | None = None
) -> Measured:
    """The figure of the evaluator, with bootstrap intervals where they are given."""
    figure = measure.of(audit.matrix)
    intervals = resampled.intervals.get(audit.evaluator.pk, {}) if resampled else {}
    interval = intervals.get(measure.key)
    if isinstance(figure, Share):
        return Measured(
            audit=audit,
            measure=measure,
            value=figure.value,
            interval=figure.interval,
            by_task=interval,
            share=figure,
        )
    if isinstance(figure, Undefined):
        interval = figure
    return Measured(audit=audit, measure=measure, value=figure, interval=interval)
