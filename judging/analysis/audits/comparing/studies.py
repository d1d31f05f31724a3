"""Two studies side by side: the agent was run again, or its runs were judged otherwise.

Their runs pair by task and trial. Each study has its own reference verdicts, and an evaluator
of its own: before and after a change of the agent, the task data or the evaluator.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from django.utils.translation import gettext

from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import SUCCESS, Shown, counted_items, shown
from judging.analysis.audits.verdict_sources import (
    VerdictSource,
    VerdictSources,
    sources_of,
    with_verdicts,
)
from judging.analysis.experiments.pairs import STORED, By, Pair, Paired, Pairing, pair_runs, paired
from judging.analysis.experiments.population import RunResult
from judging.models import Study
from judging.statistics.comparison import Difference, difference_of_shares
from judging.statistics.confusion import Cell, ConfusionMatrix, cell
from judging.statistics.figures import Share
from runs.models.tasks import task_key

DEFAULT_PAIRS = (("before", "after"), ("webarena-strict", "webarena-repaired"))


class StudySide:
    """One of the two: a study, and the evaluator that is held against its reference verdicts."""

    def __init__(self, study: Study, source: VerdictSource | None) -> None:
        self.study, self.source = study, source

    @property
    def name(self) -> str:
        return f"{self.study.name}: {self.source.name}" if self.source else self.study.name

    @cached_property
    def said(self) -> Mapping[Paired, bool | None]:
        """What the evaluator said of each run with a reference verdict of success or failure; in
        one query.
        """
        sources = [self.source] if self.source else []
        rows = (
            with_verdicts(counted_items(self.study), sources)
            .order_by("position")
            .values_list(
                *("run", "run__agent__name", "verdict__verdict"),
                *(f"run__{each}" for each in STORED),
                *(["said_0"] if sources else []),
            )
        )
        found = {}
        for run, agent, verdict, task_set, task, *rest in rows:
            word = rest.pop() if sources else None
            result = RunResult.SUCCESS if verdict == SUCCESS else RunResult.FAILURE
            one = paired(run, agent, result, task_set, task_key(task_set, task), *rest)
            found[one] = PASSED_BY_VERDICT.get(word or "")
        return found

    def cell(self, run: Paired) -> Cell:
        return cell(bool(run.success), self.said[run])

    def is_missed(self, run: Paired) -> bool:
        return self.cell(run) is Cell.FN

    def matrix(self, runs: Iterable[Paired]) -> ConfusionMatrix:
        return ConfusionMatrix.counted(Counter(map(self.cell, runs)))


class TwoStudies:
    """Both studies, their pairs and their matrices; two queries, however many runs."""

    def __init__(self, first: StudySide, second: StudySide, by: By | None) -> None:
        self.sides = (first, second)
        self._by = by

    def title(self, about: str) -> str:
        first, second = (side.name for side in self.sides)
        return f"{first} (1), {second} (2): {about}"

    @property
    def notes(self) -> list[str]:
        return [str(self.pairing.by.label), gettext("Runs of one agent pair with one another.")]

    @property
    def runs(self) -> tuple[list[Paired], list[Paired]]:
        """The runs of each that have a reference verdict of success or failure."""
        return list(self.sides[0].said), list(self.sides[1].said)

    @cached_property
    def pairing(self) -> Pairing:
        return pair_runs(*self.runs, self._by, like_with_like=True)

    @property
    def has_evaluators(self) -> bool:
        return all(side.source for side in self.sides)

    @cached_property
    def matrices(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """Of each study over all of its runs that count, paired or not."""
        one, two = self.sides
        return one.matrix(one.said), two.matrix(two.said)

    @cached_property
    def paired_matrices(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        one, two = self.sides
        pairs = self.pairing.pairs
        return one.matrix([p.first for p in pairs]), two.matrix([p.second for p in pairs])

    def cells(self, pair: Pair) -> tuple[Shown, Shown]:
        """The cell of each run of a pair under the evaluator of its study."""
        one, two = self.sides
        return shown(one.cell(pair.first)), shown(two.cell(pair.second))

    @cached_property
    def joint(self) -> Counter[tuple[Shown, Shown]]:
        """Pairs by the cell of the first run and the cell of the second."""
        return Counter(map(self.cells, self.pairing.pairs))

    @property
    def success(self) -> tuple[Share, Share]:
        """Successes by reference verdict, over all runs that count."""
        one, two = (Share(sum(bool(r.success) for r in runs), len(runs)) for runs in self.runs)
        return one, two

    @property
    def success_gain(self) -> Difference:
        """As if the studies were independent."""
        return difference_of_shares(*self.success)

    @property
    def paired_fn_gain(self) -> Difference:
        """By how much the share of false negatives grows, over the pairs."""
        one, two = self.sides
        return self.pairing.gain_of(one.is_missed, two.is_missed)


def default_sources(
    first: VerdictSources, second: VerdictSources
) -> tuple[VerdictSource | None, VerdictSource | None]:
    """Before and after a repair, else one evaluator that both have, else the first of each."""
    ours = {each.evaluator.name: each for each in first.evaluators if each.evaluator}
    theirs = {each.evaluator.name: each for each in second.evaluators if each.evaluator}
    for before, after in DEFAULT_PAIRS:
        if before in ours and after in theirs:
            return ours[before], theirs[after]
    if both := next((name for name in ours if name in theirs), None):
        return ours[both], theirs[both]
    return next(iter(first.evaluators), None), next(iter(second.evaluators), None)


def two_studies(
    first: Study, second: Study, keys: tuple[str, str] = ("", ""), by: By | None = None
) -> TwoStudies:
    """The two studies under the evaluators of these keys; the usual ones where both are empty.

    Raises ValueError where a study has no evaluator of that key.
    """
    sources = sources_of(first), sources_of(second)
    chosen = default_sources(*sources)
    if any(keys):
        named = [each.named(key) if key else None for each, key in zip(sources, keys, strict=True)]
        if any(each and each.evaluator is None for each in named):
            raise ValueError("annotators are compared in one study")
        chosen = named[0] or chosen[0], named[1] or chosen[1]
    return TwoStudies(StudySide(first, chosen[0]), StudySide(second, chosen[1]), by)
