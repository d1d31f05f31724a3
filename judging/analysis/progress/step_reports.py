"""Progress by step, figures and their reports: curves, milestones not passed, step limits."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.progress.rows import KNOWN, RunRow, Stop, known_progress, stopped_at
from judging.analysis.progress.sources import RunProgress
from judging.analysis.reports.report import (
    CONFIGURATION,
    Cell,
    Column,
    Field,
    Layout,
    Report,
    figure,
    in_files,
    on_pages,
    report_of,
    rows_of,
    text,
    with_ends,
)
from judging.analysis.reports.showing import decimals, rate
from judging.statistics.figures import Share
from judging.statistics.progress import AtStep, progress_curve, reached
from judging.statistics.success import Mean, clustered_mean

MOST_STEPS_SHOWN = 30
MOST_STOPS = 15
AGENTBOARD = ((10, 0.413, 9.2), (20, 0.497, 16.4), (30, 0.523, 21.8), (50, 0.531, 22.5))
"""GPT-4 under a step limit, mean progress, and steps used: reported in an article on AgentBoard (Ma
et al. 2024, arXiv 2401.13178)."""


def curve_of(rows: Sequence[RunRow]) -> list[AtStep]:
    """Mean progress after every step of the runs of which progress and verdict are known."""
    return progress_curve([row.progress.by_step for row in rows if row.progress and row.is_decided])


def curve(facts: Facts) -> Report:
    """One row a configuration and step; a page leaves steps out where there are many."""
    rows: list[list[Any]] = []
    page_rows: list[list[Any]] = []
    curves = [(each, curve_of(facts.rows_of(each))) for each in facts.configurations]
    for each, points in curves:
        stride = -(-len(points) // MOST_STEPS_SHOWN) or 1
        made = [[each.name, point.step, point.reached, point.held, point.going] for point in points]
        rows += made
        page_rows += [made[n] for n in range(len(made)) if n % stride == 0 or n == len(made) - 1]
    return Report(
        columns=[
            CONFIGURATION,
            Column("step", _("steps")),
            Column("progress", _("progress, highest so far"), show=rate),
            Column("progress_held", _("progress, held"), show=rate),
            Column("going", _("runs that took this step")),
        ],
        rows=rows,
        notes=facts.progress_notes(),
        page_rows=page_rows,
        remarks=[
            _(
                "Mean over all runs after each step; ended runs keep their value. Where “held” "
                "falls below “reached”, milestones were lost again. Dotted: share of runs that "
                "had succeeded by then."
            )
        ],
        layout=Layout(split="configuration", folded=True),
    )


class Stopped(NamedTuple):
    """A milestone that runs did not get past: the first that they never reached."""

    stop: Stop
    task_name: str
    runs: Mapping[int, int]
    """By configuration."""
    share: Share
    """Of the task's runs of which progress and verdict are known."""


def _stops_of(rows: Sequence[RunRow]) -> list[Stopped]:
    """The milestones at which runs stopped, most runs first."""
    known = [row for row in rows if row.is_known]
    totals = Counter(row.task for row in known)
    names = {row.task: row.task_name for row in known}
    found: defaultdict[Stop, Counter[int]] = defaultdict(Counter)
    for row in known:
        if row.stop is not None:
            found[row.stop][row.agent] += 1
    stopped = [
        Stopped(stop, names[stop.task], runs, Share(runs.total(), totals[stop.task]))
        for stop, runs in found.items()
    ]
    return sorted(stopped, key=lambda each: (-each.share.count, each.task_name, each.stop.place))


def stops(facts: Facts) -> Report:
    """One row a milestone that runs did not get past, and configuration."""
    by_pk = {each.pk: each for each in facts.configurations}

    def cell(n: object, found: str, configuration: Configuration | None = None) -> Cell:
        return Cell(n, facts.progress_url(found, configuration, standing=ANY_DECIDED))

    return Report(
        columns=[
            text("task", _("task")),
            text("milestone", _("first milestone not reached")),
            on_pages(_("of the task's runs"), per_row=True),
            CONFIGURATION,
            Column("stopped", _("runs that stopped there")),
            in_files("of_task"),
        ],
        rows=[
            [
                each.task_name,
                each.stop.name,
                cell(each.share, stopped_at(each.stop)),
                by_pk[agent].name,
                cell(n, stopped_at(each.stop), by_pk[agent]),
                each.share.total,
            ]
            for each in _stops_of(facts.rows)
            for agent, n in each.runs.items()
        ],
        notes=facts.progress_notes(),
        remarks=[
            _(
                "A run stops at the first of its task's milestones, in their order, that it never "
                "reached; later ones may have been reached all the same. Runs that reached all are "
                "in no row."
            )
        ],
        layout=Layout(pivot="configuration", most=MOST_STOPS),
    )


LIMITS = (10, 20, 30, 50)
"""Step limits as the source paper tried them."""


class UnderLimit(NamedTuple):
    """The runs of a configuration under one step limit: cut after it, or carried out under it."""

    limit: int
    reached: Mean
    success: Share
    """Successes that took no more steps."""
    steps: Mean
    ended: int
    """Runs that took more and are cut here, or that the limit ended."""
    unknown: int = 0
    """Runs that their own, lower limit ended: what more steps had brought them nobody knows."""


def _at_limits(rows: Sequence[RunRow]) -> list[UnderLimit]:
    """What lower step limits had left of the stored runs, none of them carried out again."""
    known = known_progress(rows)
    tasks = [row.task for row, _ in known]
    return [
        UnderLimit(
            limit,
            clustered_mean([reached(each.by_step, limit) for _, each in known], tasks),
            Share(sum(row.is_success and row.n_steps <= limit for row, _ in known), len(known)),
            clustered_mean([float(min(row.n_steps, limit)) for row, _ in known], tasks),
            sum(row.n_steps > limit for row, _ in known),
            sum(
                row.stopped_at is not None and row.stopped_at < limit and not row.is_success
                for row, _ in known
            ),
        )
        for limit in LIMITS
    ]


def _limit_arms(rows: Sequence[RunRow]) -> list[UnderLimit]:
    """The rows by the limit that they ran under, lowest first; none of them is cut afterwards."""
    by_limit: defaultdict[int, list[tuple[RunRow, RunProgress]]] = defaultdict(list)
    for row, progress in known_progress(rows):
        if row.max_steps is not None:
            by_limit[row.max_steps].append((row, progress))
    return [
        UnderLimit(
            limit,
            clustered_mean([progress.maximum for _, progress in known], tasks),
            Share(sum(row.is_success for row, _ in known), len(known)),
            clustered_mean([float(row.n_steps) for row, _ in known], tasks),
            sum(row.stopped_at is not None for row, _ in known),
        )
        for limit, known in sorted(by_limit.items())
        for tasks in [[row.task for row, _ in known]]
    ]


Limited = tuple[Configuration, UnderLimit]
_LIMITED: Sequence[Field] = (
    (CONFIGURATION, lambda row: row[0].name),
    (Column("limit", _("step limit")), lambda row: row[1].limit),
    (with_ends("progress", _("progress")), lambda row: row[1].reached),
    (with_ends("success", _("success")), lambda row: row[1].success),
    (figure("steps", _("steps used"), show=decimals(1)), lambda row: row[1].steps.value),
)


def _agentboard(*rest: object) -> list[list[Any]]:
    """The published rows, with what stands in the further columns of a report."""
    label = gettext("reported of AgentBoard: GPT-4 in nine environments")
    return [[label, limit, progress, None, steps, *rest] for limit, progress, steps in AGENTBOARD]


def limits(facts: Facts) -> Report:
    """One row a configuration and step limit."""
    found = [(each, _at_limits(facts.rows_of(each))) for each in facts.configurations]
    telling = [(each, at) for each, limits in found for at in _telling(limits) if at.success.total]

    def cut(row: Limited) -> Cell:
        each, at = row
        steps = f"{at.limit + 1}+"
        return Cell(at.ended, facts.progress_url(KNOWN, each, standing=ANY_DECIDED, steps=steps))

    fields = [
        *_LIMITED,
        (in_files("n"), lambda row: row[1].success.total),
        (Column("cut", _("runs cut")), cut),
        (Column("unknown", _("ended earlier by their own limit")), lambda row: row[1].unknown),
    ]
    return report_of(
        [(each, at) for each, limits in found for at in limits],
        fields,
        notes=facts.progress_notes(),
        page_rows=rows_of(telling, fields),
        references=_agentboard(None, "", ""),
        remarks=[
            _("Limits above the last one shown for a configuration give the same figures."),
            _(
                "Computed from stored runs, each cut after so many steps; none is run again. "
                "An agent that knows its limit may act otherwise, and runs ended by a lower "
                "limit of their own might have got further: above that limit figures are lower "
                "bounds."
            ),
        ],
    )


def arms(facts: Facts) -> Report:
    """One row a configuration and step limit that its runs were carried out under."""

    def runs(row: Limited) -> Cell:
        each, arm = row
        return Cell(arm.success.total, facts.progress_url(KNOWN, each, standing=ANY_DECIDED))

    return report_of(
        [(each, arm) for each in facts.configurations for arm in _limit_arms(facts.rows_of(each))],
        [
            *_LIMITED,
            (Column("n", "n"), runs),
            (Column("ended", _("ended by a limit")), lambda row: row[1].ended),
        ],
        # Where limits are no arms of the plan, they differ by task and say nothing of agents.
        page_rows=None if facts.experiment.plan.get("has_limits") else [],
        notes=facts.progress_notes(),
        references=_agentboard("", ""),
        remarks=[
            _(
                "Each limit is an arm of the experiment: its runs were carried out under it, on "
                "the same tasks and seeds. Below, longer runs are cut afterwards instead."
            )
        ],
    )


def _telling(found: Sequence[UnderLimit]) -> Sequence[UnderLimit]:
    """The limits up to the first that cuts nothing and leaves nothing more unknown."""
    last = found[-1].unknown
    enough = (n for n, at in enumerate(found, 1) if not at.ended and at.unknown == last)
    return found[: next(enough, len(found))]
