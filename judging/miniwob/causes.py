"""Why failures failed, configuration by configuration: what people say of the sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from judging.experiments.figures import names_in
from judging.experiments.population import Scope
from judging.models import FailureCause, FailureCauseTag, FailureSample, SampledFailure
from judging.statistics.proportions import Share


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
    rows: dict[int, list[tuple[str, str]]] = {sample.pk: [] for sample in newest.values()}
    for pk, cause, proposal in _told(scope, list(rows)).values_list("sample", "cause", "proposal"):
        rows[pk].append((cause or "", _proposed(proposal)))
    found = [
        _figures(sample, names[agent], rows[sample.pk])
        for agent, sample in newest.items()
        if rows[sample.pk]
    ]
    return sorted(found, key=lambda each: (each.name, each.sample.pk))


def sampled(scope: Scope, sample: FailureSample) -> QuerySet[Any]:
    """The failures of a sample that may be told, each with its `cause`, in their order."""
    told = _told(scope, [sample.pk]).select_related("run__task", "run__agent")
    ordered: QuerySet[Any] = told.order_by("position")
    return ordered


def next_untold(scope: Scope, sample: FailureSample, after: int) -> UUID | None:
    """The next failure of which nobody has said why, from the first again after the last."""
    rows = list(sampled(scope, sample).values_list("position", "run", "cause"))
    untold = [(position, run) for position, run, cause in rows if not cause and position != after]
    later = (run for position, run in untold if position > after)
    return next(later, untold[0][1] if untold else None)


def _told(scope: Scope, samples: list[int]) -> QuerySet[Any]:
    word = FailureCauseTag.objects.filter(run=OuterRef("run"), is_current=True)
    rows: QuerySet[Any] = SampledFailure.objects.filter(
        sample__in=samples, run__in=scope.told.order_by().values("pk")
    )
    told: QuerySet[Any] = rows.annotate(cause=Subquery(word.values("cause")))
    return told


def _proposed(proposal: Any) -> str:
    cause = proposal.get("cause", "") if isinstance(proposal, dict) else ""
    return cause if cause in FailureCause.values else ""


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
