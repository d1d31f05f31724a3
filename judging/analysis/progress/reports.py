"""The reports on how far the runs of an experiment got."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils import formats
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Configuration
from judging.analysis.experiments.population import RunResult
from judging.analysis.progress import step_reports as steps
from judging.analysis.progress.rows import KNOWN, Difficulty, Progressed, RunRow
from judging.analysis.progress.sources import Missing
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import (
    CONFIGURATION,
    Cell,
    Column,
    Field,
    Report,
    figure,
    in_files,
    on_pages,
    parted,
    plain,
    report_of,
    text,
    with_ends,
)
from judging.analysis.reports.showing import Shown, estimate, percent, percent_ends, rate
from judging.statistics.progress import AdjustedScore, TaskProgress, adjusted

_MEANING = _(
    "Progress: 100 · Σ weight reached / Σ weight, at its highest and at the end, "
    "since milestones can be lost again. Hidden progress: highest progress minus "
    "the success rate of the same runs. Intervals: 95 %, by task; none where all "
    "runs are of one task or all are alike."
)


class Part(NamedTuple):
    """Some runs of a configuration, and what chooses them beside it."""

    configuration: Configuration
    figures: Progressed
    name: str = ""
    chosen: Mapping[str, object] = {}


def configurations(facts: Facts) -> Report:
    """One row a configuration, over all task sets."""
    found = [Part(each, Progressed(facts.rows_of(each))) for each in facts.configurations]
    return _report(
        facts,
        found,
        (on_pages(_("success, all runs")), lambda part: part.configuration.accuracy),
        notes=facts.progress_notes(),
        remarks=[_MEANING],
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
    above, by_level = facts.hard_above, facts.query.split is Difficulty.LEVEL
    words = {"easy": gettext("easy"), "hard": gettext("hard")}
    chosen = {"easy": f"1-{above}", "hard": f"{above + 1}+"}

    def choose(name: str, rows: Sequence[RunRow]) -> dict[str, object]:
        return {"level": name} if by_level else {"milestones": chosen[name]}

    def show(name: str) -> Shown:
        return Shown((name or "—") if by_level else words[name])

    def part(row: RunRow) -> str | None:
        if not row.milestones:
            return None
        if by_level:
            return facts.tasks[row.task]["level"]
        return "hard" if row.milestones > above else "easy"

    column = text("part", _("tasks"), show=show)
    return _by_part(facts, column, part, choose, notes=[facts.split_rule])


def _by_part(
    facts: Facts,
    column: Column,
    part: Callable[[RunRow], str | None],
    choose: Callable[[str, Sequence[RunRow]], dict[str, object]],
    notes: Sequence[str] = (),
    **more: Any,
) -> Report:
    """One row a configuration and part of its runs; those that have none are left out."""
    found: list[Part] = []
    for each in facts.configurations:
        by_part: defaultdict[str, list[RunRow]] = defaultdict(list)
        for row in facts.rows_of(each):
            if (name := part(row)) is not None:
                by_part[name].append(row)
        found += [
            Part(each, Progressed(rows), name, choose(name, rows))
            for name, rows in sorted(by_part.items())
        ]
    return _report(
        facts, found, (column, lambda part: part.name), notes=facts.progress_notes(*notes), **more
    )


def runs(facts: Facts) -> Report:
    """One row a run that counts: what every other report is computed from."""
    names = {each.pk: each.name for each in facts.configurations}

    def told(row: RunRow, which: str) -> Any:
        return getattr(row.progress, which) if row.progress else None

    def by_step(row: RunRow) -> str | None:
        return json.dumps(row.progress.by_step) if row.progress else None

    success = Column("success", "success: 1 or 0, empty without a verdict")
    first_missed = Column("first_missed", "first milestone not reached")
    return report_of(
        facts.rows,
        [
            (CONFIGURATION, lambda row: names[row.agent]),
            (Column("run", "run"), lambda row: str(row.run)),
            plain("task_set", "task set", "task_set_name"),
            plain("task", "task", "task_name"),
            (success, lambda row: int(row.is_success) if row.is_decided else None),
            (Column("progress", "progress, highest"), lambda row: told(row, "maximum")),
            (Column("progress_at_end", "progress, at the end"), lambda row: told(row, "final")),
            (Column("by_step", "progress after each step, as a list"), by_step),
            plain("no_progress_because", "why there is no progress", "missing"),
            (first_missed, lambda row: row.stop.name if row.stop else None),
            plain("steps", "steps", "n_steps"),
            plain("max_steps", "step limit"),
            plain("ended_by_limit", "the step limit that ended it", "stopped_at"),
            plain("milestones", "milestones of the task"),
        ],
        notes=facts.progress_notes(),
    )


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
    found = _score_of(facts.rows_of(each), k=k, alpha=facts.query.alpha)
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


def _score_of(rows: Sequence[RunRow], *, k: int, alpha: float) -> AdjustedScore:
    """The adjusted score; pass@k over all runs with a verdict, progress of failures with a rate."""
    trials: defaultdict[int, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.is_decided:
            trials[row.task].append(row)
    tasks = [
        TaskProgress(
            trials=len(each),
            successes=sum(row.is_success for row in each),
            failures=[row.progress.maximum for row in each if row.progress and not row.is_success],
        )
        for each in trials.values()
    ]
    return adjusted(tasks, k=k, alpha=alpha)


PROGRESS: Registry[Facts] = Registry(
    {
        "configurations": Entry(_("How much progress does success hide?"), configurations),
        "task-sets": Entry(_("By task set"), task_sets),
        "curve": Entry(_("Where do runs stop getting further?"), steps.curve),
        "stops": Entry(_("Which milestones do runs not get past?"), steps.stops),
        "arms": Entry(_("What does a step limit change?"), steps.arms),
        "limits": Entry(_("Would fewer steps do?"), steps.limits),
        "difficulty": Entry(_("Easy and hard tasks"), difficulty),
        "scores": Entry(_("One score that counts how far failures got"), scores),
        "runs": Entry(_("Runs with their progress"), runs, lists_runs=True),
    },
    prefix="progress-",
)


def _report(facts: Facts, found: Sequence[Part], first: Field, **more: Any) -> Report:
    """One row a part; pages leave out why runs are missing where none is."""
    missing = {why for part in found for why in part.figures.missing}
    undecided = any(part.figures.undecided for part in found)

    def of_known(value: str, standing: str) -> Callable[[Part], Cell]:
        def cell(part: Part) -> Cell:
            url = facts.progress_url(KNOWN, part.configuration, standing=standing, **part.chosen)
            return Cell(getattr(part.figures, value), url)

        return cell

    def known(part: Part) -> Cell:
        of_all = gettext("of %(n)s") % {"n": part.figures.runs}
        return of_known("n", ANY_DECIDED)(part)._replace(note=of_all)

    def without(why: Missing) -> Field:
        key, shown = f"no_progress_{why.replace('-', '_')}", why.label if why in missing else ""

        def cell(part: Part) -> Cell:
            url = facts.progress_url(why, part.configuration, **part.chosen)
            return Cell(part.figures.missing.get(why, 0), url)

        return Column(key, shown), cell

    failures = with_ends("of_failures", _("progress of failures"))
    no_verdict = Column("no_verdict", _("no verdict") if undecided else "")
    fields: list[Field] = [
        (CONFIGURATION, lambda part: part.configuration.name),
        first,
        (in_files("runs"), lambda part: part.figures.runs),
        (in_files("n"), lambda part: part.figures.n),
        (on_pages(_("runs with progress")), known),
        (with_ends("success", _("success, these runs")), of_known("success", RunResult.SUCCESS)),
        (with_ends("progress", _("progress, highest")), of_known("reached", ANY_DECIDED)),
        (with_ends("progress_at_end", _("progress, at the end")), lambda part: part.figures.held),
        (with_ends("hidden", _("hidden progress")), lambda part: part.figures.hidden),
        (failures, of_known("failures", RunResult.FAILURE)),
        (in_files("failures"), lambda part: part.figures.failures.runs),
        (no_verdict, of_known("undecided", RunResult.NONE)),
        (in_files("partial"), lambda part: part.figures.partial),
        *map(without, Missing),
    ]
    return report_of(found, fields, **more)
