"""Do the annotators of a study agree? Before adjudication, over runs with all their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from django.db.models import Count, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import Label, ReferenceVerdict, Study, StudyItem
from judging.models.labels import Success
from judging.statistics.agreement import (
    Coefficient,
    agreement_interval,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
)
from judging.statistics.figures import Figure, Interval, Undefined

CATEGORIES = tuple(Success.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One coefficient with its interval. `value` is None where it does not apply, with `why`."""

    key: str
    name: Promise
    definition: Promise
    value: Figure | None
    interval: Interval | Undefined | None
    is_share: bool = False
    why: Promise | str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two annotators on the runs that both labelled."""

    first: str
    second: str
    runs: int
    figures: Sequence[Agreed]
    table: Mapping[tuple[str, str], int]
    """Runs by (label of the first, label of the second)."""

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """The table by rows, over the labels that occur."""
        return [
            (row, [self.table.get((row, column), 0) for column in self.labels])
            for row in self.labels
        ]

    @property
    def labels(self) -> list[str]:
        """Labels that one of the two gave, in their usual order."""
        given = {label for pair in self.table for label in pair}
        return [label for label in CATEGORIES if label in given]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a study says of its annotators before anything was adjudicated."""

    annotators: Sequence[str]
    runs: int
    labels: int
    figures: Sequence[Agreed]
    pairs: Sequence[Pair]
    repeats: Sequence[Pair]
    """Each annotator against themselves, on hidden repeats."""
    disputed: int
    """Runs whose labels differed or forced a dispute, settled since or not."""
    waiting: int
    adjudicated: int
    consensus: int


_DEFINITIONS: Mapping[Coefficient, tuple[Promise, Promise]] = {
    Coefficient.RAW: (
        _("Raw agreement"),
        _("Mean share of pairs of labels of a run that are the same."),
    ),
    Coefficient.KAPPA: (
        _("Cohen's kappa"),
        _("Agreement of two people beyond chance, chance being how often each gives each label."),
    ),
    Coefficient.ALPHA: (
        _("Krippendorff's alpha"),
        _("Agreement of any number of people beyond chance; allows missing labels."),
    ),
    Coefficient.AC1: (
        _("Gwet's AC1"),
        _("Agreement beyond chance that stays steady where one label prevails."),
    ),
}


def agreement_of(study: Study) -> Agreement:
    """Agreement of a study's annotators, in three queries."""
    rows = list(
        Label.objects.filter(item__study=study)
        .exclude(item__status=StudyItem.Status.OPEN)
        .order_by("item__position", "annotator__username")
        .values_list("item", "item__run__task", "annotator__username", "success", "is_repeat")
    )
    given: dict[int, dict[str, str]] = {}
    again: dict[int, dict[str, str]] = {}
    tasks: dict[int, int] = {}
    for item, task, annotator, success, is_repeat in rows:
        (again if is_repeat else given).setdefault(item, {})[annotator] = success
        tasks[item] = task
    annotators = sorted({name for labels in given.values() for name in labels})
    ratings = [[labels.get(name) for name in annotators] for labels in given.values()]
    clusters = [tasks[item] for item in given]
    counts = _dispute_counts(study)
    figures = _figures(ratings, clusters, study.pk)
    return Agreement(
        annotators=annotators,
        runs=len(given),
        labels=sum(len(labels) for labels in given.values()),
        figures=figures,
        pairs=[
            pair
            for first, second in combinations(annotators, 2)
            if (pair := _pair(first, second, given, tasks, study.pk, figures)) is not None
        ],
        repeats=_repeats(annotators, given, again, tasks, study.pk),
        **counts,
    )


def _dispute_counts(study: Study) -> dict[str, int]:
    origin = ReferenceVerdict.Origin
    return StudyItem.objects.filter(study=study).aggregate(
        disputed=Count("pk", filter=Q(dispute__isnull=False)),
        waiting=Count("pk", filter=Q(status=StudyItem.Status.DISPUTED)),
        adjudicated=Count("pk", filter=Q(verdict__origin=origin.ADJUDICATED)),
        consensus=Count("pk", filter=Q(verdict__origin=origin.CONSENSUS)),
    )


def _figures(
    ratings: Sequence[Sequence[str | None]], clusters: Sequence[int], seed: int
) -> list[Agreed]:
    values: dict[Coefficient, Figure | None] = {
        Coefficient.RAW: raw_agreement(ratings),
        Coefficient.KAPPA: None,
        Coefficient.ALPHA: krippendorff_alpha(ratings),
        Coefficient.AC1: gwet_ac1(ratings, CATEGORIES),
    }
    if not ratings or len(ratings[0]) == 2:
        columns = list(zip(*ratings, strict=True)) if ratings else [(), ()]
        values[Coefficient.KAPPA] = cohen_kappa(columns[0], columns[1])
    return [_agreed(each, value, ratings, clusters, seed) for each, value in values.items()]


def _agreed(
    coefficient: Coefficient,
    value: Figure | None,
    ratings: Sequence[Sequence[str | None]],
    clusters: Sequence[int],
    seed: int,
) -> Agreed:
    name, definition = _DEFINITIONS[coefficient]
    interval = None
    if isinstance(value, float):
        interval = agreement_interval(
            coefficient, ratings, clusters, seed=seed, categories=CATEGORIES
        )
    return Agreed(
        key=coefficient.value,
        name=name,
        definition=definition,
        value=value,
        interval=interval,
        is_share=coefficient is Coefficient.RAW,
        why=_("defined for two annotators; see the pairs") if value is None else "",
    )


def _pair(
    first: str,
    second: str,
    given: Mapping[int, Mapping[str, str]],
    tasks: Mapping[int, int],
    seed: int,
    of_all: Sequence[Agreed],
) -> Pair | None:
    """The pair on the runs that both labelled; None where there are none.

    Where that is every label there is, `of_all` are its figures and need not be made again.
    """
    both = [item for item, labels in given.items() if first in labels and second in labels]
    if not both:
        return None
    ratings = [[given[item][first], given[item][second]] for item in both]
    if 2 * len(both) == sum(len(labels) for labels in given.values()):
        return Pair(
            first=first,
            second=second,
            runs=len(both),
            figures=of_all,
            table=Counter((row[0], row[1]) for row in ratings),
        )
    return _of_ratings(first, second, ratings, [tasks[item] for item in both], seed)


def _repeats(
    annotators: Sequence[str],
    given: Mapping[int, Mapping[str, str]],
    again: Mapping[int, Mapping[str, str]],
    tasks: Mapping[int, int],
    seed: int,
) -> list[Pair]:
    found = []
    for name in annotators:
        twice = [item for item, labels in again.items() if name in labels and name in given[item]]
        ratings = [[given[item][name], again[item][name]] for item in twice]
        if ratings:
            clusters = [tasks[item] for item in twice]
            found.append(_of_ratings(name, name, ratings, clusters, seed))
    return found


def _of_ratings(
    first: str,
    second: str,
    ratings: Sequence[Sequence[str]],
    clusters: Sequence[int],
    seed: int,
) -> Pair:
    return Pair(
        first=first,
        second=second,
        runs=len(ratings),
        figures=_figures(ratings, clusters, seed),
        table=Counter((row[0], row[1]) for row in ratings),
    )
