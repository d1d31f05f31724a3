"""MiniWoB++ as a suite: reports on success by both rules, beside what the source printed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import COUNTED, RunResult, Source
from judging.analysis.experiments.selection import joined, runs_url
from judging.analysis.miniwob.figures import (
    EXCLUSIONS,
    NOTE,
    PUBLISHED_RATES,
    PUBLISHED_STEPS,
    UNDECIDED,
    UNREWARDED,
    Group,
    Rule,
    SuiteFigures,
    steps_words,
)
from judging.analysis.reports.report import (
    CONFIGURATION,
    Cell,
    Column,
    Layout,
    Report,
    Value,
    counted,
    ends,
    figure,
    in_files,
    number,
    on_pages,
    parted,
    text,
    value_and_ends,
)
from judging.analysis.reports.showing import Shown, decimals, percent, percent_ends, show
from judging.statistics.figures import Interval, Share
from runs.models import Run
from webagent.environment.miniwob_suite import EXCLUDED, TASK_SET, StepsNeeded, exclusion_of

OWN, PUBLISHED = "own runs", "published"


def _key(steps: StepsNeeded | None) -> str:
    """How files say what a task takes."""
    return steps.value if steps else "excluded"


class Rate(NamedTuple):
    """Some tasks of one configuration under one rule."""

    group: Group
    rule: Rule


def _rate_values(rate: Rate | float) -> Sequence[Value]:
    """The mean of the tasks' rates with its interval by task; of published ones the mean alone."""
    if not isinstance(rate, Rate):
        return (rate, None, None)
    return [number(rate.group.rate(rate.rule).value), *ends(rate.group.interval(rate.rule))]


def _show_rate(rate: Rate | float | None) -> Shown:
    """With the interval by task; that of all runs where there is one task, or all are alike."""
    if not isinstance(rate, Rate):
        return show(rate)
    found = rate.group.interval(rate.rule)
    if not isinstance(found, Interval):
        found = rate.group.pooled(rate.rule).interval
    method = found.method if isinstance(found, Interval) else ""
    return Shown(percent(rate.group.rate(rate.rule).value), f"{percent_ends(found)} {method}")


def _show_steps(key: str) -> Shown:
    return Shown(str(steps_words(StepsNeeded(key) if key in set(StepsNeeded) else None)))


_ORIGINS = {OWN: _("own runs"), PUBLISHED: _("Published, not computed here")}
_ORIGIN = text("origin", _("figures"), show=lambda origin: Shown(str(_ORIGINS[origin])))
_RULE = text("rule", _("reward"), show=lambda key: Shown(str(Rule(key).label)))
_STEPS = text("steps", _("task takes"), show=_show_steps)
_RATE = [
    parted(("mean_rate", "low", "high"), _("mean rate"), spread=_rate_values, show=_show_rate),
    Column("tasks", _("tasks")),
    parted(
        ("successes", "n", "pooled", "pooled_low", "pooled_high"),
        "n",
        spread=lambda share: counted(share) if share else [None] * 5,
        show=lambda share: show(share and share.total),
    ),
]


def rates(facts: Facts) -> Report:
    """Success rates over all tasks that count: a row a configuration and rule."""
    suite = facts.suite
    apart = [_apart(facts, each) for each in suite]
    rows = [
        [OWN, each.name, rule.value, *_rate(each.counted, rule), *cells]
        for each, cells in zip(suite, apart, strict=True)
        for rule in Rule
    ]
    if suite:
        positive = Rule.POSITIVE.value
        rows += [
            [PUBLISHED, f"{name}, {sees}", positive, rate, tasks, None, None, None]
            for name, sees, rate, tasks in PUBLISHED_RATES
        ]
    has_apart = any(cell.value for cells in apart for cell in cells)
    return Report(
        columns=[
            _ORIGIN,
            CONFIGURATION,
            _RULE,
            *_RATE,
            *(
                on_pages(words if has_apart else "", per_row=True)
                for words in (UNDECIDED, UNREWARDED)
            ),
        ],
        rows=rows,
        counts=[rule_note()],
        notes=[_rates_note(), *_apart_notes(suite), str(NOTE)],
        remarks=[_rates_note(), *_apart_notes(suite), NOTE],
        layout=Layout(pivot="rule", caption=_("Mean of the tasks' success rates")),
    )


def rates_by_steps(facts: Facts) -> Report:
    """The same by one-step and many-step tasks, with the steps that successes took."""
    rows = [
        [OWN, one.name, _key(steps), rule.value, *_rate(group, rule), group.mean_steps(rule)]
        for one in facts.suite
        for steps in (*StepsNeeded, None)
        if (group := one.of(steps)).tasks
        for rule in Rule
    ]
    if facts.suite:
        rows += [
            [PUBLISHED, name, steps.value, Rule.POSITIVE.value, rate, None, None, mean_steps]
            for name, steps, rate, mean_steps in PUBLISHED_STEPS
        ]
    return Report(
        columns=[
            *(_ORIGIN, CONFIGURATION, _STEPS, _RULE, *_RATE),
            figure("mean_steps", _("mean steps"), show=decimals(3)),
        ],
        rows=rows,
        counts=[rule_note()],
        notes=[_rates_note(), str(NOTE)],
        layout=Layout(pivot="rule", caption=_("MiniWoB++: one-step and many-step tasks")),
    )


def tasks(facts: Facts) -> Report:
    """One row a configuration and task, with both rules."""

    def cell(one: SuiteFigures, task: str, share: Share) -> Cell:
        url = runs_url(
            facts.experiment,
            Source(),
            agent=one.agent,
            task=f"{TASK_SET}.{task}",
            standing=joined((*COUNTED, RunResult.ERROR)),
            errors=Run.ErrorOrigin.AGENT,
        )
        return Cell(share, url)

    return Report(
        columns=[
            CONFIGURATION,
            text("task", _("task")),
            on_pages(_("steps"), is_text=True),
            in_files("steps"),
            in_files("n"),
            *map(_of_rule, Rule),
            figure("mean_steps", _("mean steps"), show=decimals(2)),
        ],
        rows=[
            [
                one.name,
                each.task,
                str(
                    EXCLUSIONS[why] if (why := exclusion_of(each.task)) else steps_words(each.steps)
                ),
                _key(each.steps),
                each.runs,
                *(cell(one, each.task, alone.pooled(rule)) for rule in Rule),
                alone.mean_steps(Rule.POSITIVE),
            ]
            for one in facts.suite
            for each in one.tasks
            for alone in [Group([each])]
        ],
        counts=[rule_note()],
        notes=[
            gettext(
                "Low and high are the ends of Wilson's interval (95 %); steps are of successes "
                "above 0."
            )
        ],
        layout=Layout(pivot="configuration", caption=_("Task by task")),
    )


def excluded(facts: Facts) -> Report:
    """Every task that the source leaves out, why, and how many runs there are of it here."""
    tried = sorted({each.task for one in facts.suite for each in one.tasks})
    names = [name for names in EXCLUDED.values() for name in names]
    names += [task for task in tried if exclusion_of(task) and task not in names]
    rows: list[list[Value]] = []
    for name in names if facts.suite else []:
        why = exclusion_of(name)
        runs = sum(one.at(name).runs for one in facts.suite)
        rows.append([name, str(EXCLUSIONS[why]) if why else None, runs])
    return Report(
        columns=[text("task", _("task")), text("reason", _("reason")), Column("runs", _("runs"))],
        rows=rows,
        counts=[rule_note()],
        layout=Layout(caption=_("MiniWoB++: tasks left out"), folded=True),
    )


def rule_note() -> str:
    """What is counted, and by which rules."""
    return gettext(
        "Verdicts: imported reward, whatever else the page counts by. Success is a reward above 0 "
        "(the source's rule and BrowserGym's), or one equal to 1 (most publications). An agent "
        "that came to no decision or ran out of steps failed. Means take each task once."
    )


def _rates_note() -> str:
    return gettext(
        "Mean rate: of the tasks' success rates, low and high its interval (95 %) by task "
        "(Student's); share: of all runs, with Wilson's interval. Steps are of successes."
    )


def _apart(facts: Facts, one: SuiteFigures) -> list[Cell]:
    """Runs that failed here and are in no accuracy of the experiment: errors, and no reward."""

    def url(standing: RunResult) -> str:
        # Only the agent's own errors: others are left out here too.
        agents = Run.ErrorOrigin.AGENT
        source = Source()
        return runs_url(facts.experiment, source, agent=one.agent, standing=standing, errors=agents)

    return [Cell(one.undecided, url(RunResult.ERROR)), Cell(one.unrewarded, url(RunResult.NONE))]


def _apart_notes(suite: Sequence[SuiteFigures]) -> list[str]:
    """How many runs do not count, and how many count here and in no accuracy."""
    broken = sum(each.broken for each in suite)
    undecided = sum(each.undecided for each in suite)
    unrewarded = sum(each.unrewarded for each in suite)
    notes = [
        gettext("Runs left out because something else than the agent broke: %(n)s.") % {"n": broken}
    ]
    if undecided or unrewarded:
        notes.append(
            gettext(
                "Counted as failed, and left out of the experiment's accuracy: %(undecided)s ended "
                "in the agent's own error, %(unrewarded)s have no reward."
            )
            % {"undecided": undecided, "unrewarded": unrewarded}
        )
    return notes


def _rate(group: Group, rule: Rule) -> list[Any]:
    return [Rate(group, rule), len(group.tasks), group.pooled(rule)]


def _of_rule(rule: Rule) -> Column:
    """Successes and their share with its interval; in files n stands before them."""
    return parted(
        [f"{rule.value}{end}" for end in ("_successes", "", "_low", "_high")],
        rule.label,
        spread=lambda share: [share.count, *value_and_ends(share)],
    )
