"""Who says how far a run got: one source at a time, always named, never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from judging.analysis.audits.verdict_sources import in_order
from judging.evaluators.milestones import MECHANICAL, PROGRESS_EVALUATORS
from judging.models import Evaluation, EvaluatorVersion, MilestoneTick, StudyItem

TICKS = "ticks"
_EVALUATOR = "evaluator-"


@dataclass(frozen=True, slots=True)
class ProgressSource:
    """An evaluator of milestones, or what people ticked in their labels (None)."""

    evaluator: EvaluatorVersion | None = None

    @property
    def key(self) -> str:
        """Its name in an address: `ticks` or `evaluator-12`."""
        return TICKS if self.evaluator is None else f"{_EVALUATOR}{self.evaluator.pk}"

    @property
    def name(self) -> str:
        """Its name in words."""
        return _("people's ticks") if self.evaluator is None else str(self.evaluator)

    @property
    def rule(self) -> str:
        """What a run's progress is by it."""
        if self.evaluator is None:
            return _(
                "Progress is the weight of the milestones that people ticked, the mean over the "
                "people who labelled the run; only settled runs count."
            )
        if self.evaluator.name == MECHANICAL:
            return _(
                "Progress is the weight of the milestones whose checks the steps pass, of those "
                "that could be checked."
            )
        return _("Progress is the weight of the milestones that the judge says were reached.")

    @property
    def is_stub(self) -> bool:
        """Whether a stand-in answered where a model would."""
        return self.evaluator is not None and self.evaluator.is_stub


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressChoice:
    """A source that can be chosen, with how many runs it speaks of."""

    source: ProgressSource
    runs: int


def read_progress_source(text: str) -> ProgressSource:
    """The source of an address.

    Raises:
        ValueError: there is no such source.
    """
    if text == TICKS:
        return ProgressSource()
    number = text.removeprefix(_EVALUATOR)
    if text.startswith(_EVALUATOR) and number.isdecimal() and len(number) < 10:
        versions = EvaluatorVersion.objects.filter(name__in=PROGRESS_EVALUATORS)
        evaluator = versions.filter(pk=int(number)).first()
        if evaluator is not None:
            return ProgressSource(evaluator)
    raise ValueError(f"{text} tells no progress")


def progress_choices(runs: QuerySet[Any]) -> list[ProgressChoice]:
    """The sources that say something of these runs, in three queries; people's ticks first."""
    ids = runs.order_by().values("pk")
    ticked = (
        MilestoneTick.objects.filter(
            label__item__run__in=ids,
            label__is_repeat=False,
            label__item__status=StudyItem.Status.SETTLED,
            milestone__removed_at=None,
        )
        .order_by()
        .aggregate(n=Count("label__item__run", distinct=True))["n"]
    )
    spoken = dict(
        Evaluation.objects.filter(
            run__in=ids,
            evaluator__name__in=PROGRESS_EVALUATORS,
            is_current=True,
            score__isnull=False,
        )
        .order_by()
        .values_list("evaluator")
        .annotate(n=Count("*"))
    )
    versions = in_order(EvaluatorVersion.objects.filter(pk__in=spoken))
    people = [ProgressChoice(source=ProgressSource(), runs=ticked)] if ticked else []
    return people + [
        ProgressChoice(source=ProgressSource(each), runs=spoken[each.pk]) for each in versions
    ]


def default_progress_source(choices: Sequence[ProgressChoice]) -> ProgressSource:
    """The evaluator that speaks of most runs, else people's ticks."""
    of_evaluators = [each for each in choices if each.source.evaluator is not None]
    if not of_evaluators:
        return ProgressSource()
    return max(of_evaluators, key=lambda each: each.runs).source
