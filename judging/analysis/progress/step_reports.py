"""The reports on progress by step: curves, milestones not passed, step limits, and one score."""

from collections.abc import Sequence
from typing import Any

from django.utils import formats
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.population import RunResult
from judging.analysis.progress.figures import (
    UnderLimit,
    at_limits,
    curve_of,
    limit_arms,
    score_of,
    stops_of,
)
from judging.analysis.progress.rows import KNOWN, stopped_at
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
    parted,
    report_of,
    rows_of,
    text,
    with_ends,
)
from judging.analysis.reports.showing import decimals, estimate, percent, percent_ends, rate

MOST_STEPS_SHOWN = 30
MOST_STOPS = 15
AGENTBOARD = ((10, 0.413, 9.2), (20, 0.497, 16.4), (30, 0.523, 21.8), (50, 0.531, 22.5))
"""GPT-4 under a step limit, mean progress, and steps used: reported in an article on AgentBoard (Ma
et al. 2024, arXiv 2401.13178)."""


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
            for each in stops_of(facts.rows)
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
    found = [(each, at_limits(facts.rows_of(each))) for each in facts.configurations]
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
        [(each, arm) for each in facts.configurations for arm in limit_arms(facts.rows_of(each))],
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


def scores(facts: Facts) -> Report:
    """One row a configuration and k; a page shows one k."""
    query = facts.query
    known = [each for each in facts.configurations if any(r.is_known for r in facts.rows_of(each))]
    return Report(
        columns=[
            CONFIGURATION,
            in_files("k"),
            in_files("alpha"),
            figure("pass_at_k", f"pass@{query.k}", show=rate),
            figure("of_failures", _("progress of failures"), show=rate),
            Column("failures", _("failures with progress")),
            parted(
                ("score", "low", "high"),
                _("adjusted score"),
                show=lambda found: estimate(found.value, percent, percent_ends(found.interval)),
            ),
            on_pages(_("failures without")),
        ],
        rows=[
            _score(facts, each, k)
            for each in facts.configurations
            for k in range(1, facts.most_k + 1)
        ],
        notes=facts.progress_notes(),
        page_rows=[_score(facts, each, query.k) for each in known],
        remarks=[
            gettext(
                "Adjusted score = α · pass@%(k)s + (1 − α) · mean highest progress of the runs "
                "that failed, α = %(alpha)s. pass@k is over all runs with a verdict, progress over "
                "the failures that have one. The interval resamples whole tasks."
            )
            % {"k": query.k, "alpha": facts.alpha_text}
        ],
    )


def _score(facts: Facts, each: Configuration, k: int) -> list[Any]:
    found = score_of(facts.rows_of(each), k=k, alpha=facts.query.alpha)
    n = found.pass_at_k.tasks
    tasks = ngettext("%(n)s task", "%(n)s tasks", n) % {"n": formats.number_format(n)}
    failed = (row for row in facts.rows_of(each) if row.standing is RunResult.FAILURE)
    return [
        each.name,
        k,
        found.alpha,
        Cell(found.pass_at_k.value, note=tasks),
        found.failure_progress,
        Cell(found.failures, facts.progress_url(KNOWN, each, standing=RunResult.FAILURE)),
        found,
        sum(row.progress is None for row in failed),
    ]
