"""MiniWoB++ figures as tables to take away: those of the source, of our own runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.table_parts import CONFIGURATION, titled
from judging.analysis.miniwob import published
from judging.analysis.miniwob.causes import causes_of
from judging.analysis.miniwob.figures import Group, Rule, Suite, suite_of
from judging.analysis.miniwob.words import EXCLUSIONS
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import counted, ends, number, value_and_ends
from judging.statistics.proportions import Share
from webagent.environment.miniwob_suite import EXCLUDED, Steps, exclusion_of

OWN, PUBLISHED = "own runs", "published"
OF_SUITE = "miniwob"
"""How the names of these tables begin, and of the parts of the page."""
_ORIGIN = Column("origin", gettext_lazy("figures"))
_RULE = Column("rule", gettext_lazy("reward"))
_STEPS = Column("steps", gettext_lazy("task takes"))
_LOW, _HIGH = gettext_lazy("low"), gettext_lazy("high")
_RATE = [
    Column("mean_rate", gettext_lazy("mean rate")),
    Column("low", _LOW),
    Column("high", _HIGH),
    Column("tasks", gettext_lazy("tasks")),
    Column("successes", gettext_lazy("successes")),
    Column("n", "n"),
    Column("pooled", gettext_lazy("share")),
    Column("pooled_low", _LOW),
    Column("pooled_high", _HIGH),
]
_MEAN_STEPS = Column("mean_steps", gettext_lazy("mean steps"))
_EXCLUDED = "excluded"


def miniwob_table(asked: ReportQuery) -> Table:
    """Success rates over all tasks that count: a row a configuration and rule."""
    columns = [_ORIGIN, CONFIGURATION, _RULE, *_RATE]
    suite = suite_of(asked.scope)
    rows: list[Sequence[Value]] = [
        [OWN, each.name, rule.value, *_rate(each.counted, rule)]
        for each in suite.configurations
        for rule in Rule
    ]
    printed: Iterable[Sequence[Value]] = (
        [
            PUBLISHED,
            f"{each.name}, {each.sees}",
            Rule.POSITIVE.value,
            each.rate,
            None,
            None,
            each.tasks,
            *[None] * 5,
        ]
        for each in published.RATES
    )
    rows += _published(suite, printed)
    notes = [_rates_note(), *_apart_notes(suite), str(published.NOTE)]
    return titled(asked, "miniwob", columns, rows, notes, counts=rule_note())


def miniwob_steps_table(asked: ReportQuery) -> Table:
    """The same by one-step and many-step tasks, with the steps that successes took."""
    columns = [_ORIGIN, CONFIGURATION, _STEPS, _RULE, *_RATE, _MEAN_STEPS]
    suite = suite_of(asked.scope)
    rows: list[Sequence[Value]] = [
        [OWN, one.name, name, rule.value, *_rate(group, rule), group.mean_steps(rule)]
        for one in suite.configurations
        for name, group in [
            *((steps.value, one.of(steps)) for steps in Steps),
            (_EXCLUDED, one.excluded),
        ]
        if group.tasks
        for rule in Rule
    ]
    rows += _published(
        suite,
        (
            [
                PUBLISHED,
                each.name,
                steps.value,
                Rule.POSITIVE.value,
                rate,
                *[None] * 8,
                mean_steps,
            ]
            for each in published.STEPS
            for steps, rate, mean_steps in (
                (Steps.ONE, each.one, None),
                (Steps.MANY, each.many, each.mean_steps),
            )
        ),
    )
    notes = [_rates_note(), str(published.NOTE)]
    return titled(asked, "miniwob_steps", columns, rows, notes, counts=rule_note())


def miniwob_tasks_table(asked: ReportQuery) -> Table:
    """One row a configuration and task, with both rules."""
    columns = [
        CONFIGURATION,
        Column("task", gettext_lazy("task")),
        _STEPS,
        Column("n", "n"),
        *(
            Column(f"{rule.value}{end}", words)
            for rule, sign in ((Rule.POSITIVE, "> 0"), (Rule.BINARY, "= 1"))
            for end, words in (
                ("_successes", sign),
                ("", gettext_lazy("share")),
                ("_low", _LOW),
                ("_high", _HIGH),
            )
        ),
        _MEAN_STEPS,
    ]
    rows: list[Sequence[Value]] = [
        [
            one.name,
            each.task,
            each.steps.value if each.steps else _EXCLUDED,
            each.runs,
            *_of_rule(each.share(Rule.POSITIVE)),
            *_of_rule(each.share(Rule.BINARY)),
            each.mean_steps(Rule.POSITIVE),
        ]
        for one in suite_of(asked.scope).configurations
        for each in one.tasks
    ]
    note = _(
        "Low and high are the ends of Wilson's interval (95 %); steps are of successes above 0."
    )
    return titled(asked, "miniwob_tasks", columns, rows, [note], counts=rule_note())


def miniwob_excluded_table(asked: ReportQuery) -> Table:
    """Every task that the source leaves out, why, and how many runs there are of it here."""
    columns = [
        Column("task", gettext_lazy("task")),
        Column("reason", gettext_lazy("why")),
        Column("runs", gettext_lazy("runs")),
    ]
    suite = suite_of(asked.scope)
    if not suite.configurations:
        return titled(asked, "miniwob_excluded", columns, [], counts=rule_note())
    names = [name for names in EXCLUDED.values() for name in names]
    names += [task for task in suite.tasks if exclusion_of(task) and task not in names]
    rows: list[Sequence[Value]] = []
    for name in names:
        found = [one.at(name) for one in suite.configurations]
        why = exclusion_of(name)
        reason = str(EXCLUSIONS[why]) if why else None
        rows.append([name, reason, sum(each.runs for each in found if each)])
    return titled(asked, "miniwob_excluded", columns, rows, counts=rule_note())


def miniwob_causes_table(asked: ReportQuery) -> Table:
    """Why failures of the sample failed: a row a configuration and cause."""
    columns = [
        _ORIGIN,
        CONFIGURATION,
        Column("cause", gettext_lazy("what failed")),
        Column("failures", gettext_lazy("failures")),
        Column("n", gettext_lazy("tagged")),
        Column("value", gettext_lazy("share")),
        Column("low", _LOW),
        Column("high", _HIGH),
        Column("proposed", gettext_lazy("proposed")),
        Column("drawn", gettext_lazy("drawn")),
        Column("seed", gettext_lazy("seed")),
    ]
    samples = causes_of(asked.scope)
    rows: list[Sequence[Value]] = [
        [OWN, each.name, cause.value, *counted(share), proposed, each.drawn, each.sample.seed]
        for each in samples
        for cause, share, proposed in each.shares
    ]
    if samples:
        rows += [
            [PUBLISHED, each.name, cause, n, 100, n / 100, *[None] * 5]
            for each in published.CAUSES
            for cause, n in (
                ("vision", each.vision),
                ("reasoning", each.reasoning),
                ("other", each.other),
            )
        ]
    notes = [
        _("Failures drawn at random; shares of those that people tagged, with Wilson's interval."),
        _("Only vision is proposed: where the page shows that something needed was not seen."),
        str(published.NOTE),
    ]
    return titled(asked, "miniwob_causes", columns, rows, notes, counts=rule_note())


def rule_note() -> str:
    """What is counted, and by which rules."""
    return _(
        "Verdicts: imported reward, whatever else the page counts by. Success is a reward above 0 "
        "(the source's rule and BrowserGym's), or one equal to 1 (most publications). An agent "
        "that came to no decision or ran out of steps failed. Means take each task once."
    )


def _rates_note() -> str:
    return _(
        "Mean rate: of the tasks' success rates, low and high its interval (95 %) by task "
        "(Student's); share: of all runs, with Wilson's interval. Steps are of successes."
    )


def _apart_notes(suite: Suite) -> list[str]:
    """How many runs do not count, and how many count here and in no accuracy."""
    broken = sum(each.broken for each in suite.configurations)
    undecided = sum(each.undecided for each in suite.configurations)
    unrewarded = sum(each.unrewarded for each in suite.configurations)
    notes = [_("Runs left out because something else than the agent broke: %(n)s.") % {"n": broken}]
    if undecided or unrewarded:
        notes.append(
            _(
                "Counted as failed, and left out of the experiment's accuracy: %(undecided)s ended "
                "in the agent's own error, %(unrewarded)s have no reward."
            )
            % {"undecided": undecided, "unrewarded": unrewarded}
        )
    return notes


def _rate(group: Group, rule: Rule) -> list[Value]:
    pooled = group.pooled(rule)
    return [
        number(group.rate(rule).value),
        *ends(group.interval(rule)),
        len(group.tasks),
        *counted(pooled),
    ]


def _of_rule(share: Share) -> list[Value]:
    """Successes and their share with its interval; n stands before them."""
    return [share.count, *value_and_ends(share)]


def _published(suite: Suite, rows: Iterable[Sequence[Value]]) -> list[Sequence[Value]]:
    """The source's rows, where there are rows of our own to read them beside."""
    return list(rows) if suite.configurations else []
