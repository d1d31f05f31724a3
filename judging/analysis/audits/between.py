"""Verdict sources held against one annotator, task by task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from django.db.models import Count, F

from judging.analysis.audits.joint import DECIDED, Joint
from judging.analysis.audits.population import counted_items
from judging.models import Label, Study
from judging.models.labels import Success
from judging.statistics.bootstrap import Floats
from judging.statistics.confusion import Cell, ConfusionMatrix, cell

CELLS = list(Cell)
Said = tuple[int, bool, bool | None]
"""The task, what the annotator said, and what the other source said."""


class Sums:
    """What one source said of the runs that an annotator called a success or a failure."""

    def __init__(self, said: Mapping[Said, int]) -> None:
        """From how many runs there are of each kind."""
        places: dict[int, int] = {}
        places_of = [places.setdefault(task, len(places)) for task, _truth, _passed in said]
        columns = [CELLS.index(cell(truth, passed)) for _task, truth, passed in said]
        self._totals = np.zeros((len(places), len(CELLS)))
        np.add.at(self._totals, (places_of, columns), list(said.values()))

    @property
    def matrix(self) -> ConfusionMatrix:
        """The source held against the annotator, over all of these runs."""
        totals = self._totals.sum(axis=0)
        return ConfusionMatrix.counted(
            {each: int(n) for each, n in zip(CELLS, totals, strict=True)}
        )

    @property
    def by_task(self) -> Floats:
        """The same for each task on which both say something.

        Returns:
            Shape (tasks, cells): runs in each `Cell`, in the order of its members.
        """
        has_verdict = [each.has_verdict for each in CELLS]
        return np.asarray(self._totals[self._totals[:, has_verdict].any(axis=1)])


def against_evaluator(counts: Sequence[Joint], source: int) -> Sums:
    """That source of these counts against their first, an annotator. From counts `per_task`."""
    said: Counter[Said] = Counter()
    for each in counts:
        if each.task is not None and (truth := each.said[0]) is not None:
            said[each.task, truth, each.said[source]] += each.runs
    return Sums(said)


class People:
    """What pairs of annotators said of the runs that both labelled."""

    def __init__(self, study: Study) -> None:
        """In one query, which reads each pair of labels of a run once."""
        self._both: defaultdict[tuple[int, int], Counter[Said]] = defaultdict(Counter)
        rows = (
            Label.objects.filter(
                item__in=counted_items(study).values("pk"), is_repeat=False, success__in=DECIDED
            )
            .filter(
                item__labels__is_repeat=False,
                item__labels__success__in=DECIDED,
                item__labels__annotator__gt=F("annotator"),
            )
            .values_list(
                "annotator",
                "item__labels__annotator",
                "item__run__task",
                "success",
                "item__labels__success",
            )
            .annotate(n=Count("*"))
            .order_by()
        )
        for one, other, task, said, answer, n in rows:
            first, second = said == Success.SUCCESS, answer == Success.SUCCESS
            self._both[one, other][task, first, second] += n
            self._both[other, one][task, second, first] += n

    def against(self, counts: Sequence[Joint], annotator: int, other: int) -> Sums:
        """The other annotator against this one, whose labels the counts are, made `per_task`."""
        said = Counter(self._both[annotator, other])
        silent: Counter[Said] = Counter()
        for each in counts:
            if each.task is not None and (truth := each.said[0]) is not None:
                silent[each.task, truth, None] += each.runs
        for (task, truth, _passed), n in self._both[annotator, other].items():
            silent[task, truth, None] -= n
        return Sums(said + silent)
