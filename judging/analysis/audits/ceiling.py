"""The human ceiling: evaluators against each annotator, beside the annotators themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits import between
from judging.analysis.audits.joint import MOST_SOURCES, joint_counts
from judging.analysis.audits.triangle_links import differing
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.analysis.pictures import IntervalRow, Meaning, figure_row, interval_picture
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix, intervals_by_task
from judging.statistics.figures import Figure, Interval, Share, Undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One source held against an annotator, over the runs on which both say success or failure."""

    source: VerdictSource
    annotator: VerdictSource
    matrix: ConfusionMatrix
    kappa_interval: Interval | Undefined

    @property
    def agreement(self) -> Share:
        """Share of these runs on which they say the same."""
        return self.matrix.accuracy

    @property
    def kappa(self) -> Figure:
        return self.matrix.kappa

    @property
    def runs(self) -> int:
        return self.matrix.decided

    @property
    def differing(self) -> int:
        return self.matrix.fn + self.matrix.fp


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How well people agree with each other, and evaluators with them."""

    annotators: Sequence[VerdictSource]
    people: Sequence[Against]
    """Each pair of annotators once."""
    evaluators: Mapping[str, Sequence[Against]]
    """By key of the evaluator, against each annotator in order."""
    shown: Sequence[VerdictSource]
    """The evaluators, in order."""


def ceiling_of(study: Study, sources: VerdictSources) -> Ceiling:
    """The ceiling of a study, in one query for each annotator and one for all pairs."""
    evaluators = sources.evaluators[:MOST_SOURCES]
    pairs = between.People(study)
    people: list[Against] = []
    by_evaluator: dict[str, list[Against]] = {source.key: [] for source in evaluators}
    for place, annotator in enumerate(sources.annotators):
        person = annotator.annotator
        if person is None:
            continue
        counts = joint_counts(study, [annotator, *evaluators], per_task=True, labelled_by=person)
        for number, source in enumerate(evaluators, start=1):
            against = between.against_evaluator(counts, number)
            by_evaluator[source.key].append(_against(against, annotator, source, study.pk))
        for source in sources.annotators[place + 1 :][:MOST_SOURCES]:
            if source.annotator is None:
                continue
            against = pairs.against(counts, person.pk, source.annotator.pk)
            if against.matrix.decided:
                people.append(_against(against, annotator, source, study.pk))
    return Ceiling(
        annotators=sources.annotators, people=people, evaluators=by_evaluator, shown=evaluators
    )


def _against(
    found: between.Sums, annotator: VerdictSource, source: VerdictSource, seed: int
) -> Against:
    matrix = found.matrix
    kappa: Interval | Undefined
    if isinstance(matrix.kappa, Undefined):
        kappa = matrix.kappa
    else:
        kappa = intervals_by_task(found.by_task, ("kappa",), seed=seed)["kappa"]
    return Against(source=source, annotator=annotator, matrix=matrix, kappa_interval=kappa)


MOST_DRAWN = 40


def ceiling_picture(study: Study, ceiling: Ceiling) -> SafeString:
    """How often each evaluator agrees with each annotator, and they with each other."""
    rows = [_row(study, each, "people") for each in ceiling.people]
    for source in ceiling.shown:
        rows += [_row(study, each, "evaluator") for each in ceiling.evaluators[source.key]]
    label = _("How often do evaluators agree with people, and people with each other?")
    return interval_picture(rows[:MOST_DRAWN], label=label, meaning="evaluator")


def _row(study: Study, against: Against, meaning: Meaning) -> IntervalRow:
    runs = differing(study, against.differing, against.annotator, against.source)
    name = _("%(voice)s · %(annotator)s") % {
        "voice": against.source.name,
        "annotator": against.annotator.name,
    }
    return figure_row(
        name,
        against.agreement.value,
        against.agreement.interval,
        url=runs.url,
        title=_("%(name)s: %(n)s runs on which they differ") % {"name": name, "n": runs.n},
        meaning=meaning,
    )
