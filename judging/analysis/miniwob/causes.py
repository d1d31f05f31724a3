"""Why failures failed, configuration by configuration: what people say of the sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import Scope
from judging.analysis.miniwob.figures import NOTE
from judging.analysis.miniwob.reports import OWN, PUBLISHED, rule_note
from judging.analysis.reports.columns import counted
from judging.analysis.reports.report import Column, Report, Value, Words
from judging.models import FailureCause, FailureCauseTag, FailureSample, SampledFailure
from judging.statistics.figures import Share

PUBLISHED_CAUSES = (("gpt-3.5-turbo-16k", (21, 70, 9)), ("gpt-4", (42, 49, 9)))
"""Of 100 failures drawn at random, by cause, as the source printed them."""
_LISTED = (
    *("sample_id", "position", "proposal", "run__goal", "run__seed", "run__end_reason"),
    *("run__n_steps", "run__task__external_id"),
)
"""Runs and tasks have large columns, which a list has no use for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFigures:
    """The newest sample of one configuration, as far as it may be told."""

    sample: FailureSample
    name: str
    drawn: int
    tagged: Counter[str]
    proposed: Counter[str]
    confirmed: Share
    """Of the proposals that people looked at, those they agree with."""

    @property
    def told(self) -> int:
        """n: failures of which somebody said why."""
        return sum(self.tagged.values())

    @property
    def untold(self) -> int:
        return self.drawn - self.told

    def share(self, cause: FailureCause) -> Share:
        """Of the failures of which somebody said why, with Wilson's interval."""
        return Share(self.tagged[cause], self.told)

    @property
    def shares(self) -> Sequence[tuple[FailureCause, Share, int]]:
        """Every cause with its share, and how often it is proposed."""
        return [(cause, self.share(cause), self.proposed[cause]) for cause in FailureCause]


def causes_of(scope: Scope) -> list[SampleFigures]:
    """The newest sample of every configuration, in three queries."""
    names = names_in(scope)
    newest: dict[int, FailureSample] = {}
    for sample in FailureSample.objects.filter(experiment=scope.experiment).order_by("pk"):
        if sample.agent_id in names:
            newest[sample.agent_id] = sample
    rows: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    told = _with_causes(sampled(scope, newest.values()))
    for pk, cause, proposed in told.values_list("sample", "cause", "proposal__cause"):
        rows[pk].append((cause or "", FailureCause.known(proposed) or ""))
    found = [
        _figures(sample, names[agent], rows[sample.pk])
        for agent, sample in newest.items()
        if rows[sample.pk]
    ]
    return sorted(found, key=lambda each: (each.name, each.sample.pk))


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A sampled failure with its run and task, and what people say of it."""

    failure: SampledFailure
    cause: FailureCause | None


def failure_rows(
    scope: Scope, samples: Iterable[FailureSample]
) -> Mapping[int, Sequence[FailureRow]]:
    """The failures of each sample that may be told, in their order; by the sample's id."""
    rows = _with_causes(sampled(scope, samples)).select_related("run__task").only(*_LISTED)
    listed: defaultdict[int, list[FailureRow]] = defaultdict(list)
    for row in rows.order_by("sample", "position"):
        listed[row.sample_id].append(FailureRow(row, FailureCause.known(row.cause)))
    return listed


def sampled(scope: Scope, samples: Iterable[FailureSample]) -> QuerySet[SampledFailure]:
    """The failures of the samples that may be told."""
    return SampledFailure.objects.filter(
        sample__in=[sample.pk for sample in samples], run__in=scope.visible.order_by().values("pk")
    )


def next_untold(scope: Scope, sample: FailureSample, after: int) -> UUID | None:
    """The next failure of which nobody has said why, from the first again after the last."""
    rows = _with_causes(sampled(scope, [sample])).order_by("position")
    untold = [
        (position, run)
        for position, run, cause in rows.values_list("position", "run", "cause")
        if not cause and position != after
    ]
    later = (run for position, run in untold if position > after)
    return next(later, untold[0][1] if untold else None)


def _with_causes(rows: QuerySet[SampledFailure]) -> QuerySet[Any]:
    """Each with the current `cause` of its run: empty where it was taken back, or none was said."""
    word = FailureCauseTag.objects.filter(run=OuterRef("run"), is_current=True)
    told: QuerySet[Any] = rows.annotate(cause=Subquery(word.values("cause")))
    return told


def _figures(sample: FailureSample, name: str, rows: Sequence[tuple[str, str]]) -> SampleFigures:
    both = [(cause, proposed) for cause, proposed in rows if cause and proposed]
    return SampleFigures(
        sample=sample,
        name=name,
        drawn=len(rows),
        tagged=Counter(cause for cause, _ in rows if cause),
        proposed=Counter(proposed for _, proposed in rows if proposed),
        confirmed=Share(sum(cause == proposed for cause, proposed in both), len(both)),
    )


def causes(facts: Facts) -> Report:
    """Why failures of the sample failed: a row a configuration and cause."""
    columns: Sequence[tuple[str, Words]] = (
        ("origin", _("figures")),
        ("configuration", _("configuration")),
        ("cause", _("what failed")),
        ("failures", _("failures")),
        ("n", _("tagged")),
        ("value", _("share")),
        ("low", _("low")),
        ("high", _("high")),
        ("proposed", _("proposed")),
        ("drawn", _("drawn")),
        ("seed", _("seed")),
    )
    samples = causes_of(facts.scope)
    rows: list[list[Value]] = [
        [OWN, each.name, cause.value, *counted(share), proposed, each.drawn, each.sample.seed]
        for each in samples
        for cause, share, proposed in each.shares
    ]
    if samples:
        rows += [
            [PUBLISHED, name, cause.value, n, 100, n / 100, *[None] * 5]
            for name, found in PUBLISHED_CAUSES
            for cause, n in zip(FailureCause, found, strict=True)
        ]
    return Report(
        columns=[Column(key, name) for key, name in columns],
        rows=rows,
        counts=[rule_note()],
        notes=[
            gettext(
                "Failures drawn at random; shares of those that people tagged, with Wilson's "
                "interval."
            ),
            gettext(
                "Only vision is proposed: where the page shows that something needed was not seen."
            ),
            str(NOTE),
        ],
    )
