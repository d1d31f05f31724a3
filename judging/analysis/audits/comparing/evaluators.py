"""Two evaluators on the same runs: what flips, whether chance explains it, and where it happens.

All comparisons are made from how many runs there are of each combination of verdicts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from django.db.models import Avg, Count, Sum

from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import GROUPINGS, SUCCESS, Shown, counted_items, shown
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, with_verdicts
from judging.models import Evaluation, Study
from judging.models.labels import Success
from judging.statistics.comparison import holm, mcnemar
from judging.statistics.confusion import Cell, ConfusionMatrix, cell
from runs.models import User

MOST_SOURCES = 24
"""In one comparison of all with all: a query joins every one of them."""
DECIDED = (Success.SUCCESS, Success.FAILURE)
"""What a label says that counts as a verdict."""
FEW_RUNS = 10
"""Groups of fewer are not tested: they say hardly anything of their own."""
NONE = Shown.NONE
ON_SUCCESS = (Shown.TP, Shown.FN, Shown.NONE)
ON_FAILURE = (Shown.TN, Shown.FP, Shown.NONE)
Flip = tuple[Shown, Shown]
"""The cell under the first evaluator, and under the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """So many runs with this reference verdict, of which each source said this."""

    succeeded: bool
    said: tuple[bool | None, ...]
    runs: int
    groups: Mapping[str, str] = field(default_factory=dict)
    """By name of `GROUPINGS`, where they were asked for."""
    task: int | None = None


def joint_counts(
    study: Study,
    sources: Sequence[VerdictSource],
    *,
    by: Sequence[str] = (),
    per_task: bool = False,
    labelled_by: User | None = None,
) -> list[Joint]:
    """The counted runs by what was said of them, in one query.

    Args:
        by: names of `GROUPINGS` to keep apart.
        per_task: whether to keep runs of different tasks apart, for figures that resample tasks.
        labelled_by: of whose labels of success and failure the runs are; all runs if None.
    """
    items = counted_items(study)
    if labelled_by is not None:  # joined first of all, for the planner orders the first joins only
        items = items.filter(
            labels__annotator=labelled_by, labels__is_repeat=False, labels__success__in=DECIDED
        )
    items = with_verdicts(items, sources).annotate(**{f"of_{name}": GROUPINGS[name] for name in by})
    keys = [f"said_{number}" for number in range(len(sources))] + [f"of_{name}" for name in by]
    keys += ["run__task"] if per_task else []
    rows = items.order_by().values_list("verdict__verdict", *keys).annotate(runs=Count("*"))
    end = 1 + len(sources)
    return [
        Joint(
            succeeded=row[0] == SUCCESS,
            said=tuple(PASSED_BY_VERDICT.get(each) for each in row[1:end]),
            runs=row[-1],
            groups=dict(zip(by, row[end : end + len(by)], strict=True)),
            task=row[-2] if per_task else None,
        )
        for row in rows
    ]


def matrix_against_reference(counts: Iterable[Joint], source: int) -> ConfusionMatrix:
    cells: Counter[Cell] = Counter()
    for each in counts:
        cells[cell(each.succeeded, each.said[source])] += each.runs
    return ConfusionMatrix.counted(cells)


class Flips:
    """Runs by their cells under two evaluators; the fifth cell apart by reference verdict.

    `test` is over the runs on which both gave a verdict: is one right more often than chance?
    """

    def __init__(self, on_success: Counter[Flip], on_failure: Counter[Flip]) -> None:
        self.on_success, self.on_failure = on_success, on_failure
        self.runs = on_success.total() + on_failure.total()
        self.shared = sum(
            n for each in (on_success, on_failure) for cells, n in each.items() if NONE not in cells
        )
        """Runs on which both gave a verdict: those of the test."""
        self.fixed_fn = on_success[Shown.FN, Shown.TP]
        self.new_fn = on_success[Shown.TP, Shown.FN]
        self.fixed_fp = on_failure[Shown.FP, Shown.TN]
        self.new_fp = on_failure[Shown.TN, Shown.FP]
        self.test = mcnemar(self.new_fn + self.new_fp, self.fixed_fn + self.fixed_fp)


class Group:
    """The same within one site, template or kind of evaluation.

    `adjusted` is McNemar's p by Holm over the groups of this kind that are tested; None where this
    is none.
    """

    def __init__(
        self, name: str, flips: Flips, counts: Sequence[Joint], adjusted: float | None
    ) -> None:
        self.name, self.flips, self.adjusted = name, flips, adjusted
        self.first, self.second = (matrix_against_reference(counts, side) for side in (0, 1))

    @property
    def is_small(self) -> bool:
        return self.adjusted is None


class Comparison:
    """Two evaluators of a study held against each other, in three queries."""

    def __init__(self, study: Study, first: VerdictSource, second: VerdictSource) -> None:
        counts = joint_counts(study, [first, second], by=list(GROUPINGS))
        groups = {name: _groups(counts, name) for name in GROUPINGS}
        self.study, self.first, self.second = study, first, second
        self.flips = flips_of(counts)
        self.matrices = (matrix_against_reference(counts, 0), matrix_against_reference(counts, 1))
        self.spent = (_spent(study, first), _spent(study, second))
        """What each took over the counted runs: `cost`, None where it is not known of any run, of
        how many it is (`priced`), `seconds`, the mean of an evaluation, and `evaluations`.
        """
        self.groups = {name: found for name, found in groups.items() if len(found) > 1}
        """By name of a grouping with more than one group; most flips first."""


class PairCompared(NamedTuple):
    first: VerdictSource
    second: VerdictSource
    flips: Flips
    adjusted: float
    """McNemar's p by Holm over all pairs."""


def compare_all(sources: VerdictSources) -> list[PairCompared]:
    """All pairs of those with verdicts, in one query; of the first `MOST_SOURCES` of many."""
    evaluators = sources.speaking[:MOST_SOURCES]
    counts = joint_counts(sources.study, evaluators)
    pairs = list(combinations(range(len(evaluators)), 2))
    found = [flips_of(counts, a, b) for a, b in pairs]
    adjusted = holm([flips.test.p_value for flips in found])
    return [
        PairCompared(evaluators[a], evaluators[b], flips, p)
        for (a, b), flips, p in zip(pairs, found, adjusted, strict=True)
    ]


def flips_of(counts: Iterable[Joint], first: int = 0, second: int = 1) -> Flips:
    on_success: Counter[Flip] = Counter()
    on_failure: Counter[Flip] = Counter()
    for each in counts:
        before, after = (cell(each.succeeded, each.said[source]) for source in (first, second))
        (on_success if each.succeeded else on_failure)[shown(before), shown(after)] += each.runs
    return Flips(on_success, on_failure)


def _groups(counts: Sequence[Joint], kind: str) -> list[Group]:
    by_name: defaultdict[str, list[Joint]] = defaultdict(list)
    for each in counts:
        by_name[each.groups[kind]].append(each)
    flips = {name: flips_of(found) for name, found in by_name.items()}
    tested = [name for name, each in flips.items() if each.runs >= FEW_RUNS]
    adjusted = dict(zip(tested, holm([flips[name].test.p_value for name in tested]), strict=True))
    groups = [Group(name, flips[name], by_name[name], adjusted.get(name)) for name in by_name]

    def place(group: Group) -> tuple[int, int, str]:
        test = group.flips.test
        return -(test.only_first + test.only_second), -group.flips.runs, group.name

    return sorted(groups, key=place)


def _spent(study: Study, source: VerdictSource) -> dict[str, Any]:
    said = Evaluation.objects.filter(
        evaluator=source.evaluator,
        is_current=True,
        run__in=counted_items(study).order_by().values("run"),
    )
    return said.aggregate(
        priced=Count("cost"), cost=Sum("cost"), seconds=Avg("seconds"), evaluations=Count("*")
    )


class Addition:
    """One step alone, and what it adds where no step before it passed."""

    def __init__(self, counts: Sequence[Joint], steps: Sequence[VerdictSource], place: int) -> None:
        self.step, self.earlier = steps[place], steps[:place]
        self.alone = matrix_against_reference(counts, place)
        """Over the runs on which it was asked; the others are its fifth cell."""
        new = [each for each in counts if each.said[place] and True not in each.said[:place]]
        self.new_tp = sum(each.runs for each in new if each.succeeded)
        self.new_fp = sum(each.runs for each in new if not each.succeeded)


class Additions(NamedTuple):
    """The steps of an evaluator in order, and all of them together."""

    steps: Sequence[Addition]
    together: ConfusionMatrix


def additions_of(sources: VerdictSources, evaluator: VerdictSource) -> Additions | None:
    """The steps of an evaluator, in one query; None for one that takes no steps.

    A run passes as soon as one step passes, so every step after the first can only turn FN into
    TP and TN into FP.
    """
    steps = sources.steps.get(evaluator.evaluator.pk, ()) if evaluator.evaluator else ()
    if not steps:
        return None
    counts = joint_counts(sources.study, [*steps, evaluator])
    found = [Addition(counts, steps, place) for place in range(len(steps))]
    return Additions(found, matrix_against_reference(counts, len(steps)))
