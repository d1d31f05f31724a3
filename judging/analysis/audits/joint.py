"""How many runs there are of each combination of verdicts: what all comparisons are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, CharField, Count, F, When

from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import SUCCESS, counted_items
from judging.analysis.audits.verdict_sources import VerdictSource, with_verdicts
from judging.models import Study
from judging.models.labels import Success
from judging.statistics.confusion import Cell, ConfusionMatrix, cell
from runs.models import User

MOST_SOURCES = 24
"""In one comparison of all with all: a query joins every one of them."""
DECIDED = (Success.SUCCESS, Success.FAILURE)
"""What a label says that counts as a verdict."""

TEMPLATE = Case(
    When(run__task__template="", then=F("run__task__intent_template")),
    default=F("run__task__template"),
    output_field=CharField(),
)
"""A task's template by the benchmark's id, or by its text where it has none."""
GROUPINGS = {
    "site": F("run__task__site"),
    "template": TEMPLATE,
    "kind": F("run__task__evaluation_kind"),
}
"""What runs can be grouped by."""


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
    """The matrix of one source over these runs."""
    return _matrix((each.succeeded, each.said[source], each.runs) for each in counts)


def _matrix(rows: Iterable[tuple[bool, bool | None, int]]) -> ConfusionMatrix:
    counts: Counter[Cell] = Counter()
    for succeeded, passed, runs in rows:
        counts[cell(succeeded, passed)] += runs
    return ConfusionMatrix.counted(counts)
