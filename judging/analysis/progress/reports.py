"""The reports on how far the runs of an experiment got."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.utils import formats
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.outcome_reports import CONFIGURATION
from judging.analysis.experiments.population import RunResult
from judging.analysis.progress import sentences
from judging.analysis.progress.figures import (
    LIMITS,
    AtLimit,
    Difficulty,
    Progressed,
    at_limits,
    curve_of,
    part_of,
    parts_of,
    progressed,
    score_of,
    stops_of,
)
from judging.analysis.progress.measured import MISSING
from judging.analysis.progress.published import STEP_LIMITS
from judging.analysis.progress.rows import RunRow
from judging.analysis.progress.selection import KNOWN, stopped_at
from judging.analysis.reports.columns import (
    figure,
    in_files,
    on_pages,
    text,
    value_and_ends,
    with_ends,
)
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell, Column, FileColumn, Layout, Report
from judging.analysis.reports.showing import Shown, decimals, percent, percent_ends, rate
from judging.statistics.progress import AdjustedScore

MOST_STEPS_SHOWN = 30
MOST_STOPS = 15
_MEANING = _(
    "Progress is 100 · Σ weight of the milestones reached / Σ weight; its highest value in a run, "
    "and its value at the end, since a milestone can be lost again. Hidden progress is the highest "
    "progress minus the success rate of the same runs. Intervals hold 95 % and know that runs of "
    "one task are alike, so there is none where all runs are of one task, or all are alike."
)


def configurations(facts: Facts) -> Report:
    """One row a configuration, over all task sets."""
    found = [(each, progressed(facts.rows_of(each))) for each in facts.configurations]
    return _report(
        facts,
        [CONFIGURATION, *_columns([each for _one, each in found])],
        [[one.name, *_progressed(facts, one, each)] for one, each in found],
        remarks=[_MEANING],
        sentences=[(one.name, sentences.of_progress(each)) for one, each in found if each.n],
    )


def task_sets(facts: Facts) -> Report:
    """One row a configuration and task set."""
    column = text("task_set", _("task set"))
    return _by_part(
        facts,
        column,
        lambda row: row.task_set_name,
        lambda _name, rows: {"task_set": rows[0].task_set},
        page_rows=None if len({row.task_set for row in facts.rows}) > 1 else [],
    )


def difficulty(facts: Facts) -> Report:
    """One row a configuration and part of the tasks."""
    split, above = facts.split, facts.split.above
    words = {"easy": gettext("easy"), "hard": gettext("hard")}
    chosen = {"easy": f"1-{above}", "hard": f"{above + 1}+"}

    def choose(name: str, rows: Sequence[RunRow]) -> dict[str, object]:
        if split.by is Difficulty.LEVEL:
            return {"level": name}
        return {"milestones": chosen[name]}

    def show(name: str) -> Shown:
        return Shown(words.get(name, name) if split.by is Difficulty.MILESTONES else name or "—")

    def part(row: RunRow) -> str | None:
        return part_of(split, row, facts.tasks)

    found = [
        (each.name, sentences.of_parts([(show(name).text, progressed(rows)) for name, rows in of]))
        for each in facts.configurations
        if (of := list(parts_of(facts.rows_of(each), part).items()))
    ]
    column = text("part", _("part"), _("tasks"), show=show)
    return _by_part(facts, column, part, choose, notes=[split.rule], sentences=found)


def _by_part(
    facts: Facts,
    column: Column,
    part: Callable[[RunRow], str | None],
    choose: Callable[[str, Sequence[RunRow]], dict[str, object]],
    notes: Sequence[str] = (),
    **more: Any,
) -> Report:
    found = [
        (each, name, progressed(rows), choose(name, rows))
        for each in facts.configurations
        for name, rows in parts_of(facts.rows_of(each), part).items()
    ]
    return _report(
        facts,
        [CONFIGURATION, column, *_columns([figures for _each, _name, figures, _chosen in found])],
        [
            [each.name, name, *_progressed(facts, each, figures, **chosen)]
            for each, name, figures, chosen in found
        ],
        notes,
        **more,
    )


def curve(facts: Facts) -> Report:
    """One row a configuration and step; a page leaves steps out where there are many."""
    rows: list[list[Any]] = []
    page_rows: list[list[Any]] = []
    said: list[tuple[str, str]] = []
    for each in facts.configurations:
        points = curve_of(facts.rows_of(each))
        stride = -(-len(points) // MOST_STEPS_SHOWN) or 1
        made = [[each.name, point.step, point.reached, point.held, point.going] for point in points]
        rows += made
        page_rows += [made[n] for n in range(len(made)) if n % stride == 0 or n == len(made) - 1]
        said += [(each.name, sentences.of_curve(points))] if points else []
    return _report(
        facts,
        [
            CONFIGURATION,
            Column("step", _("steps taken"), _("steps")),
            Column(
                "progress",
                _("mean progress, highest so far"),
                _("progress, highest so far"),
                show=rate,
            ),
            Column("progress_held", _("mean progress, held"), _("progress, held"), show=rate),
            Column("going", _("runs that took this step")),
        ],
        rows,
        page_rows=page_rows,
        sentences=said,
        remarks=[
            _(
                "The mean over all runs after every step; a run that has ended stays where it "
                "ended. Where “held” falls below “reached”, milestones were lost again; the dotted "
                "line is the share of runs that had succeeded by then."
            )
        ],
        layout=Layout(split="configuration", folded=True),
    )


def stops(facts: Facts) -> Report:
    """One row a milestone that runs did not get past, and configuration."""
    by_pk = {each.pk: each for each in facts.configurations}

    def cell(n: object, found: str, configuration: Configuration | None = None) -> Cell:
        return Cell(n, facts.progress_url(found, configuration, standing=ANY_DECIDED))

    found = stops_of(facts.rows)
    return _report(
        facts,
        [
            text("task", _("task")),
            text("milestone", _("first milestone not reached")),
            on_pages(_("of the task's runs"), per_row=True),
            CONFIGURATION,
            Column("stopped", _("runs that stopped there")),
            in_files("of_task", _("runs of the task, by all configurations")),
        ],
        [
            [
                each.task_name,
                each.stop.name,
                cell(each.share, stopped_at(each.stop)),
                by_pk[agent].name,
                cell(n, stopped_at(each.stop), by_pk[agent]),
                each.of_task,
            ]
            for each in found
            for agent, n in each.runs.items()
        ],
        remarks=[
            _(
                "A run stops at the first of its task's milestones, in their order, that it never "
                "reached; later ones may have been reached all the same. Runs that reached all are "
                "in no row."
            )
        ],
        layout=Layout(pivot="configuration", most=MOST_STOPS),
    )


def limits(facts: Facts) -> Report:
    """One row a configuration and step limit."""
    found = {each.pk: at_limits(facts.rows_of(each), LIMITS) for each in facts.configurations}
    said = [
        (each.name, sentences.of_limits(found[each.pk]))
        for each in facts.configurations
        if found[each.pk][0].success.total
    ]
    label = gettext("reported of AgentBoard: GPT-4 in nine environments")
    return _report(
        facts,
        [
            CONFIGURATION,
            Column("limit", _("step limit")),
            with_ends("progress", _("mean progress, highest"), _("progress")),
            with_ends("success", _("success rate"), _("success")),
            figure("steps", _("mean steps used"), _("steps used"), show=decimals(1)),
            in_files("n", _("n, runs with progress and verdict")),
            Column("cut", _("runs that took more steps"), _("runs cut")),
            Column(
                "unknown",
                _("runs that a lower limit of their own ended"),
                _("ended earlier by their own limit"),
            ),
        ],
        [_limit(facts, each, at) for each in facts.configurations for at in found[each.pk]],
        page_rows=[
            _limit(facts, each, at)
            for each in facts.configurations
            for at in _telling(found[each.pk])
            if at.success.total
        ],
        references=[
            [label, each.limit, each.progress, None, each.steps, None, "", ""]
            for each in STEP_LIMITS
        ],
        sentences=said,
        remarks=[
            _("Limits above the last one shown for a configuration give the same figures."),
            _(
                "Computed from the stored runs: each is cut after so many steps, and none is "
                "carried out again. A run counts as a success if it succeeded within the limit. An "
                "agent that knows its limit may act otherwise, and runs that a lower limit of "
                "their own ended might have got further: under higher limits the figures are lower "
                "bounds."
            ),
        ],
    )


def _limit(facts: Facts, each: Configuration, at: AtLimit) -> list[Any]:
    steps = f"{at.limit + 1}+"
    url = facts.progress_url(KNOWN, each, standing=ANY_DECIDED, steps=steps)
    return [
        each.name,
        at.limit,
        at.reached,
        at.success,
        at.steps.value,
        at.success.total,
        Cell(at.cut, url),
        at.unknown,
    ]


def _telling(found: Sequence[AtLimit]) -> Sequence[AtLimit]:
    """The limits up to the first that cuts nothing and leaves nothing more unknown."""
    last = found[-1]
    enough = next(
        (n for n, at in enumerate(found, 1) if not at.cut and at.unknown == last.unknown),
        len(found),
    )
    return found[:enough]


def scores(facts: Facts) -> Report:
    """One row a configuration and k; a page shows one k."""
    query = facts.query
    known = [each for each in facts.configurations if any(r.is_known for r in facts.rows_of(each))]

    def score(each: Configuration, k: int) -> AdjustedScore:
        return score_of(facts.rows_of(each), k=k, alpha=query.alpha)

    return _report(
        facts,
        [
            CONFIGURATION,
            in_files("k", "k"),
            in_files("alpha", _("alpha")),
            figure("pass_at_k", "pass@k", f"pass@{query.k}", show=rate),
            figure(
                "of_failures", _("mean progress of failures"), _("progress of failures"), show=rate
            ),
            Column("failures", _("failures with progress")),
            Column(
                "score",
                _("adjusted score"),
                parts=(
                    FileColumn("score", _("adjusted score")),
                    FileColumn("low", _("lower end, 95 %, bootstrap by task")),
                    FileColumn("high", _("upper end, 95 %, bootstrap by task")),
                ),
                spread=value_and_ends,
                show=lambda found: Shown(percent(found.value), percent_ends(found.interval)),
            ),
            on_pages(_("failures without")),
        ],
        [
            _score(facts, each, k, score(each, k))
            for each in facts.configurations
            for k in range(1, facts.most_k + 1)
        ],
        page_rows=[_score(facts, each, query.k, score(each, query.k)) for each in known],
        sentences=[(each.name, sentences.of_score(score(each, query.k))) for each in known],
        remarks=[
            gettext(
                "Adjusted score = α · pass@%(k)s + (1 − α) · mean highest progress of the runs "
                "that failed, α = %(alpha)s. pass@k is over all runs with a verdict, progress over "
                "the failures that have one. The interval resamples whole tasks."
            )
            % {"k": query.k, "alpha": facts.alpha_text}
        ],
    )


def _score(facts: Facts, each: Configuration, k: int, found: AdjustedScore) -> list[Any]:
    n = found.pass_at_k.tasks
    tasks = ngettext("%(n)s task", "%(n)s tasks", n) % {"n": formats.number_format(n)}
    failed = [row for row in facts.rows_of(each) if row.standing is RunResult.FAILURE]
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


def runs(facts: Facts) -> Report:
    """One row a run that counts: what every other report is computed from."""
    names = {each.pk: each.name for each in facts.configurations}
    columns = [
        ("run", _("run")),
        ("task_set", _("task set")),
        ("task", _("task")),
        ("success", _("success: 1 or 0, empty without a verdict")),
        ("progress", _("progress, highest")),
        ("progress_at_end", _("progress, at the end")),
        ("by_step", _("progress after each step, as a list")),
        ("no_progress_because", _("why there is no progress")),
        ("first_missed", _("first milestone not reached")),
        ("steps", _("steps")),
        ("ended_by_limit", _("the step limit that ended it")),
        ("milestones", _("milestones of the task")),
    ]
    return _report(
        facts,
        [CONFIGURATION, *(Column(key, name) for key, name in columns)],
        [
            [
                names[row.agent],
                str(row.run),
                row.task_set_name,
                row.task_name,
                int(row.is_success) if row.is_decided else None,
                row.progress.maximum if row.progress else None,
                row.progress.final if row.progress else None,
                json.dumps(row.progress.by_step) if row.progress else None,
                row.missing.value if row.missing else None,
                row.stop.name if row.stop else None,
                row.n_steps,
                row.stopped_at,
                row.milestones,
            ]
            for row in facts.rows
        ],
    )


PROGRESS: Registry[Facts] = Registry(
    {
        "configurations": Entry(_("Progress beside success"), configurations),
        "task-sets": Entry(_("The same by task set"), task_sets),
        "curve": Entry(_("Progress by step"), curve),
        "stops": Entry(_("Milestones that runs do not get past"), stops),
        "limits": Entry(_("Step limits"), limits),
        "difficulty": Entry(_("Easy and hard tasks"), difficulty),
        "scores": Entry(_("Adjusted scores"), scores),
        "runs": Entry(_("Runs with their progress"), runs, lists_runs=True),
    },
    prefix="progress-",
)


def _report(
    facts: Facts,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    notes: Sequence[str] = (),
    **more: Any,
) -> Report:
    """A report whose notes say whose progress it is, and of how many runs both are known."""
    source = gettext(
        "Progress: %(source)s. %(rule)s %(known)s of %(runs)s runs that count have both a "
        "progress rate and a verdict; all others are left out and counted."
    ) % {
        "source": facts.progress.name,
        "rule": facts.progress.rule,
        "known": sum(row.is_known for row in facts.rows),
        "runs": len(facts.rows),
    }
    notes = [source, *notes, gettext("Rates lie between 0 and 1.")]
    return Report(columns=columns, rows=rows, notes=notes, **more)


def _columns(found: Sequence[Progressed]) -> list[Column]:
    """The figures of some runs; pages leave out why runs are missing where none is."""
    missing = {why for each in found for why in each.missing}
    undecided = any(each.undecided for each in found)
    return [
        in_files("runs", _("runs that count")),
        in_files("n", _("n, runs with progress and verdict")),
        with_ends("success", _("success rate"), _("success")),
        with_ends("progress", _("mean progress, highest"), _HIGHEST),
        with_ends("progress_at_end", _("mean progress, at the end"), _AT_END),
        with_ends("hidden", _("hidden progress: progress − success"), _("hidden progress")),
        with_ends("of_failures", _("mean progress of failures"), _("progress of failures")),
        on_pages("n"),
        in_files("failures", _("failures with progress")),
        Column("no_verdict", _("progress, but no verdict"), _("no verdict") if undecided else ""),
        in_files("partial", _("n with some milestones unchecked")),
        *(
            Column(f"no_progress_{why.replace('-', '_')}", words, None if why in missing else "")
            for why, words in MISSING.items()
        ),
    ]


_HIGHEST, _AT_END = _("progress, highest"), _("progress, at the end")


def _progressed(
    facts: Facts, configuration: Configuration, found: Progressed, **chosen: object
) -> list[Any]:
    def cell(value: object, standing: str, note: str = "") -> Cell:
        return Cell(
            value, facts.progress_url(KNOWN, configuration, standing=standing, **chosen), note
        )

    return [
        found.runs,
        found.n,
        cell(found.success, RunResult.SUCCESS),
        cell(found.reached, ANY_DECIDED),
        found.held,
        found.hidden,
        cell(found.failures, RunResult.FAILURE),
        cell(found.n, ANY_DECIDED, gettext("of %(n)s") % {"n": found.runs}),
        found.failures.runs,
        cell(found.undecided, RunResult.NONE),
        found.partial,
        *(
            Cell(found.missing.get(why, 0), facts.progress_url(why, configuration, **chosen))
            for why in MISSING
        ),
    ]
