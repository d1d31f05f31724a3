"""Do the annotators of a study agree? Before adjudication, on each question of the protocol.

Everything is over the runs with two labels or more: each annotator may have seen some of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from django.db.models import Count, Q
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.people.questions import (
    SUCCESS,
    UNSURE,
    Answer,
    Question,
    answers_of,
    questions_of,
)
from judging.models import ReferenceVerdict, Study, StudyItem
from judging.statistics.agreement import (
    Coefficient,
    agreement_interval,
    gwet_ac1,
    krippendorff_alpha,
    pooled_kappa,
    raw_agreement,
)
from judging.statistics.figures import Figure, Interval, Undefined

Thing = tuple[int, int]
"""An item, and what of it is rated."""
Said = Mapping[Thing, Mapping[str, str]]
"""What each annotator said, by name, of each thing."""


_DEFINITIONS: Mapping[Coefficient, tuple[Promise, Promise]] = {
    Coefficient.RAW: (
        _("Raw agreement"),
        _("Mean share of pairs of labels of a run that are the same."),
    ),
    Coefficient.KAPPA: (
        _("Cohen's kappa"),
        _(
            "Agreement of two people beyond chance, by how often each gives each label; of "
            "more people, pooled over their pairs."
        ),
    ),
    Coefficient.ALPHA: (
        _("Krippendorff's alpha"),
        _("Agreement of any number of people beyond chance; allows missing labels."),
    ),
    Coefficient.AC1: (
        _("Gwet's AC1"),
        _(
            "Agreement beyond chance that stays steady where one label prevails. Takes the number "
            "of answers that could be given."
        ),
    ),
}

COEFFICIENTS = {key.value: name for key, (name, _definition) in _DEFINITIONS.items()}


class Agreed(NamedTuple):
    coefficient: Coefficient
    value: Figure
    interval: Interval | Undefined | None

    @property
    def key(self) -> str:
        return self.coefficient.value

    @property
    def name(self) -> Promise:
        return _DEFINITIONS[self.coefficient][0]

    @property
    def definition(self) -> Promise:
        return _DEFINITIONS[self.coefficient][1]

    @property
    def is_share(self) -> bool:
        return self.coefficient is Coefficient.RAW


@dataclass
class Pair:
    """Two annotators on the runs that both labelled."""

    first: str
    second: str
    runs: int
    table: Counter[tuple[str, str]]
    """Runs by (label of the first, label of the second)."""
    figures: Sequence[Agreed]
    categories: Sequence[str]

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
        return [label for label in self.categories if label in given]


MOST_WITH_INTERVALS = 15
"""Pairs have intervals where they are at most so many, on success always: resampling takes long."""


class OnQuestion:
    """How far annotators agree on one question: over the runs that at least two answered it on."""

    def __init__(self, question: Question, answers: Iterable[Answer], seed: int) -> None:
        given_first: dict[Thing, dict[str, str]] = {}
        again: dict[Thing, dict[str, str]] = {}
        self._tasks: dict[int, int] = {}
        for each in answers:
            of_thing = (again if each.is_repeat else given_first).setdefault(
                (each.item, each.thing), {}
            )
            of_thing[each.annotator] = each.said
            self._tasks[each.item] = each.task
        said = {thing: given for thing, given in given_first.items() if len(given) > 1}
        self.question, self._seed = question, seed
        self.annotators = _names(said)
        ratings = [[given.get(name) for name in self.annotators] for given in said.values()]
        self.runs = _runs(said)
        self.answers = sum(map(len, said.values()))
        self.figures = self._figures(list(said), ratings)
        self.pairs = list(self._pairs(said))
        self.repeats = list(self._repeats(given_first, again))
        """Each annotator against themselves, on hidden repeats."""

    def _pairs(self, said: Said) -> Iterable[Pair]:
        found = list(combinations(self.annotators, 2))
        has_intervals = self.question.key == SUCCESS or len(found) <= MOST_WITH_INTERVALS
        for first, second in found:
            both = [thing for thing, given in said.items() if first in given and second in given]
            labels = [(said[thing][first], said[thing][second]) for thing in both]
            if len(found) > 1:
                of_pair = self._figures(both, labels, has_intervals=has_intervals)
            else:  # Of two annotators the figures are those of all.
                of_pair = self.figures
            if both:
                categories = self.question.categories
                yield Pair(first, second, _runs(both), Counter(labels), of_pair, categories)

    def _repeats(self, said: Said, again: Said) -> Iterable[Pair]:
        for name in _names(again):
            twice = [
                thing
                for thing, given in again.items()
                if name in given and name in said.get(thing, {})
            ]
            labels = [(said[thing][name], again[thing][name]) for thing in twice]
            if twice:
                figures, categories = self._figures(twice, labels), self.question.categories
                yield Pair(name, name, _runs(twice), Counter(labels), figures, categories)

    def _figures(
        self,
        things: Sequence[Thing],
        ratings: Sequence[Sequence[str | None]],
        *,
        has_intervals: bool = True,
    ) -> list[Agreed]:
        categories = self.question.categories
        clusters = [self._tasks[item] for item, _thing in things]

        def agreed(coefficient: Coefficient, value: Figure) -> Agreed:
            interval = None
            if has_intervals and isinstance(value, float):
                interval = agreement_interval(
                    coefficient, ratings, clusters, seed=self._seed, categories=categories
                )
            return Agreed(coefficient, value, interval)

        return [
            agreed(Coefficient.RAW, raw_agreement(ratings)),
            agreed(Coefficient.KAPPA, pooled_kappa(ratings)),
            agreed(Coefficient.ALPHA, krippendorff_alpha(ratings)),
            agreed(Coefficient.AC1, gwet_ac1(ratings, categories)),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a study says of its annotators before anything was adjudicated."""

    questions: Sequence[OnQuestion]
    """Success first, then every other question that somebody answered."""
    counts_unsure: bool
    """Whether "unsure" is an answer like others; else a run counts without it."""
    by_order: bool
    """Whether the "annotators" are the places of labels: the first of each run, the second."""
    disputed: int
    """Runs whose labels differed or forced a dispute, settled since or not."""
    waiting: int
    adjudicated: int
    consensus: int
    imported: int
    """Runs whose reference verdict came with them: how people agreed on it is not known."""

    @property
    def success(self) -> OnQuestion:
        return self.questions[0]


def agreement_of(study: Study, *, counts_unsure: bool = True, by_order: bool = False) -> Agreement:
    """Agreement of a study's annotators, in three queries.

    Args:
        by_order: whether the first label of a run is held against its second, whoever gave them,
            as some benchmarks publish it; else people are held against each other.
        counts_unsure: whether "unsure" is an answer like others, or none.
    """
    answers = answers_of(study)
    if not counts_unsure:
        answers = [each for each in answers if each.said != UNSURE]
    if by_order:
        answers = [
            replace(each, annotator=gettext("label %(n)s") % {"n": each.place})
            for each in answers
            if not each.is_repeat
        ]
    by_question: dict[str, list[Answer]] = {}
    for each in answers:
        by_question.setdefault(each.question, []).append(each)
    found = [
        OnQuestion(
            question if counts_unsure else question.without(UNSURE),
            by_question.get(question.key, []),
            study.sample_seed,
        )
        for question in questions_of(study, answers)
    ]
    return Agreement(
        questions=[found[0], *(each for each in found[1:] if each.runs)],
        counts_unsure=counts_unsure,
        by_order=by_order,
        **_dispute_counts(study),
    )


def _dispute_counts(study: Study) -> dict[str, int]:
    origin = ReferenceVerdict.Origin
    return StudyItem.objects.filter(study=study).aggregate(
        disputed=Count("pk", filter=Q(dispute__isnull=False)),
        waiting=Count("pk", filter=Q(status=StudyItem.Status.DISPUTED)),
        adjudicated=Count("pk", filter=Q(verdict__origin=origin.ADJUDICATED)),
        consensus=Count("pk", filter=Q(verdict__origin=origin.CONSENSUS)),
        imported=Count("pk", filter=Q(verdict__origin=origin.IMPORTED)),
    )


def _names(said: Said) -> list[str]:
    """The annotators who said something of any of these."""
    return sorted({name for given in said.values() for name in given})


def _runs(things: Iterable[Thing]) -> int:
    return len({item for item, _thing in things})
