"""The tables of an experiment that can be taken away. Each says whose verdicts it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.experiments.controls import controls_of
from judging.experiments.endings import endings_of, failure_modes_of
from judging.experiments.figures import Amount, ExperimentFigures, Figures, figures_of
from judging.experiments.groups import GROUPINGS, groups_of, placed_tasks
from judging.experiments.lengths import lengths_of
from judging.experiments.pairs import By, Cell, pair_all
from judging.experiments.population import LEFT_OUT, Scope, Standing
from judging.experiments.recovery import detections_of
from judging.experiments.savings import StoppedEarly, stopped_early
from judging.experiments.selection import Selection
from judging.experiments.sources import Source
from judging.experiments.trials import trials_of
from judging.failure_modes.tables import MODE_COLUMNS, MODES_NOTE, mode_rows
from judging.failure_modes.told import Word
from judging.reports import Column, Table, Value
from judging.statistics.figures import Figure, Interval, Undefined
from judging.statistics.proportions import Share
from runs.infrastructure import error_rates

CONFIGURATION = Column("configuration", gettext_lazy("configuration"))
SHARE = [
    Column("successes", gettext_lazy("successes")),
    Column("n", gettext_lazy("n, runs with a verdict")),
    Column("value", gettext_lazy("share")),
    Column("low", gettext_lazy("lower end, 95 %, Wilson")),
    Column("high", gettext_lazy("upper end, 95 %, Wilson")),
]


@dataclass(frozen=True)
class Asked:
    """What a table is asked of: an experiment as somebody may know it, under one source."""

    scope: Scope
    source: Source
    selector: Source | None = None
    by: By | None = None

    @cached_property
    def figures(self) -> ExperimentFigures:
        """Counted once, however many tables are made of it."""
        return figures_of(self.scope, self.source)

    @property
    def note(self) -> str:
        """Whose verdicts these are, and of how many runs."""
        return _(
            "Verdicts: %(source)s. %(rule)s %(decided)s of %(counted)s runs that count have one."
        ) % {
            "source": self.source.name,
            "rule": self.source.rule,
            "decided": self.figures.decided,
            "counted": self.figures.counted,
        }

    def title(self, about: str) -> str:
        return f"{self.scope.experiment.name}: {about}"

    def table(
        self,
        name: str,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Value]],
        notes: Iterable[str] = (),
    ) -> Table:
        return Table(
            name=name,
            title=self.title(str(TABLE_NAMES[name])),
            columns=columns,
            rows=list(rows),
            notes=[self.note, *notes],
        )


def configurations_table(asked: Asked) -> Table:
    """One row a configuration: accuracy with both standard errors, and what its runs took."""
    columns = [
        CONFIGURATION,
        Column("agent", gettext_lazy("agent")),
        Column("version", gettext_lazy("version")),
        Column("model", gettext_lazy("model")),
        *SHARE,
        Column("se_naive", gettext_lazy("SE, runs independent")),
        Column("se_by_task", gettext_lazy("SE, clustered by task")),
        Column("tasks", gettext_lazy("tasks")),
        Column("failures", gettext_lazy("failures")),
        Column("no_verdict", gettext_lazy("no verdict")),
        *(Column(f"left_out_{standing}", words) for standing, words in LEFT_OUT.items()),
        Column("mean_seconds", gettext_lazy("seconds per run")),
        Column("total_seconds", gettext_lazy("seconds in all")),
        Column("timed", gettext_lazy("runs with a known time")),
        Column("wall_seconds", gettext_lazy("seconds from first start to last end")),
        Column("mean_cost", gettext_lazy("dollars per run")),
        Column("total_cost", gettext_lazy("dollars in all")),
        Column("priced", gettext_lazy("runs with a known cost")),
        Column("spent", gettext_lazy("dollars with errors and earlier attempts")),
        Column("mean_steps", gettext_lazy("steps per run")),
    ]
    rows = [_configuration(each) for each in asked.figures.configurations]
    return asked.table("configurations", columns, rows, [_unknown_note()])


def groups_table(asked: Asked) -> Table:
    """One row a configuration in a site, template, level or kind of evaluation."""
    columns = [
        Column("grouping", gettext_lazy("grouping")),
        Column("group", gettext_lazy("group")),
        CONFIGURATION,
        *SHARE,
        Column("se_by_task", gettext_lazy("SE, clustered by task")),
    ]
    tasks = placed_tasks(asked.figures)
    rows: list[Sequence[Value]] = [
        [by, group.name, each.name, *_share(share), _number(rate.standard_error)]
        for by in GROUPINGS
        for group in groups_of(asked.figures, by, tasks)
        for each, share, rate in zip(
            asked.figures.configurations, group.shares, group.rates, strict=True
        )
    ]
    return asked.table("groups", columns, rows)


def trials_table(asked: Asked) -> Table:
    """One row a configuration and k."""
    columns = [
        CONFIGURATION,
        Column("k", "k"),
        Column("pass_at_k", "pass@k"),
        Column("pass_hat_k", "pass^k"),
        Column("best_of_k", gettext_lazy("best of k")),
        Column("tasks", gettext_lazy("tasks with k trials or more")),
        Column("left_out", gettext_lazy("tasks with fewer")),
    ]
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            row.k,
            _number(row.pass_at.value),
            _number(row.pass_hat.value),
            _number(row.best.value) if row.best else None,
            row.pass_at.tasks,
            row.pass_at.left_out,
        ]
        for found in trials_of(asked.figures, asked.scope, asked.selector)
        for row in found.rows
    ]
    return asked.table("trials", columns, rows, [selector_words(asked.selector)])


def recovery_table(asked: Asked) -> Table:
    """One row a configuration: success without recovery, and rescued by one."""
    columns = [
        CONFIGURATION,
        *SHARE,
        Column("without_recovery", gettext_lazy("successes without recovery")),
        Column("rescued", gettext_lazy("successes rescued by recovery")),
        Column("recovered", gettext_lazy("runs with a recovery")),
        Column("detected", gettext_lazy("runs with an anomaly noticed")),
        Column("detected_successes", gettext_lazy("successes among them")),
        Column("stopped_early", gettext_lazy("runs stopped early")),
        Column("steps_saved", gettext_lazy("steps saved by that, at most")),
        Column("dollars_saved", gettext_lazy("dollars saved by that, at most")),
    ]
    stopped = stopped_early(asked.scope, asked.source)
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            *_share(found.configuration.accuracy),
            found.unaided,
            found.rescued,
            found.recovered,
            found.among_detected.total,
            found.among_detected.count,
            *_saved(stopped.get(found.configuration.agent.pk, StoppedEarly())),
        ]
        for found in detections_of(asked.figures, asked.scope)
    ]
    return asked.table("recovery", columns, rows)


def _saved(stopped: StoppedEarly) -> tuple[Value, Value, Value]:
    dollars = stopped.saved.dollars
    return stopped.runs, stopped.saved.steps, None if dollars is None else float(dollars)


def detections_table(asked: Asked) -> Table:
    """One row a configuration and number of anomalies noticed in a run."""
    columns = [
        CONFIGURATION,
        Column("detections", gettext_lazy("anomalies noticed")),
        Column("successes", gettext_lazy("successes")),
        Column("failures", gettext_lazy("failures")),
    ]
    rows: list[Sequence[Value]] = [
        [found.configuration.name, *numbers]
        for found in detections_of(asked.figures, asked.scope)
        for numbers in found.numbers
    ]
    return asked.table("detections", columns, rows)


def lengths_table(asked: Asked) -> Table:
    """One row a configuration and range of steps."""
    columns = [
        CONFIGURATION,
        Column("first_step", gettext_lazy("steps from")),
        Column("last_step", gettext_lazy("steps to")),
        *SHARE,
        Column("solved_within", gettext_lazy("share solved with so many steps or fewer")),
    ]
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            each.first,
            each.last,
            *_share(each.share),
            _number(each.within.value),
        ]
        for found in lengths_of(asked.figures, asked.scope)
        for each in found.bins
    ]
    return asked.table("lengths", columns, rows)


def modes_table(asked: Asked) -> Table:
    """One row a configuration, word and failure mode; a failure may show several modes."""
    told = failure_modes_of(asked.figures, asked.scope)
    rows: list[Sequence[Value]] = [
        [each.name, *row]
        for word in Word
        for each, found in told.by(word)
        for row in mode_rows(found)
    ]
    return asked.table("modes", [CONFIGURATION, *MODE_COLUMNS], rows, [str(MODES_NOTE)])


def endings_table(asked: Asked) -> Table:
    """One row a configuration and end reason."""
    columns = [
        CONFIGURATION,
        Column("end_reason", gettext_lazy("end reason")),
        Column("successes", gettext_lazy("successes")),
        Column("failures", gettext_lazy("failures")),
        Column("no_verdict", gettext_lazy("no verdict")),
    ]
    standings = (Standing.SUCCESS, Standing.FAILURE, Standing.NONE)
    rows: list[Sequence[Value]] = [
        [found.configuration.name, reason, *(counts[each] for each in standings)]
        for found in endings_of(asked.figures, asked.scope)
        for reason, counts in found.reasons
    ]
    return asked.table("endings", columns, rows)


def pairs_table(asked: Asked) -> Table:
    """One row for every two configurations: what each solves that the other does not."""
    columns = [
        Column("first", gettext_lazy("first")),
        Column("second", gettext_lazy("second")),
        Column("paired_by", gettext_lazy("paired by task and")),
        Column("both", gettext_lazy("both succeed")),
        Column("only_first", gettext_lazy("only the first succeeds")),
        Column("only_second", gettext_lazy("only the second succeeds")),
        Column("neither", gettext_lazy("neither succeeds")),
        Column("no_verdict", gettext_lazy("no verdict on one or both")),
        Column("unpaired_first", gettext_lazy("unpaired runs of the first")),
        Column("unpaired_second", gettext_lazy("unpaired runs of the second")),
        Column("union", gettext_lazy("at least one succeeds")),
        Column("p_value", gettext_lazy("McNemar, exact")),
    ]
    names = {each.agent.pk: each.name for each in asked.figures.configurations}
    rows: list[Sequence[Value]] = []
    for first, second, pairing in pair_all(asked.scope, list(names), asked.source, asked.by):
        counts = pairing.counts
        rows.append(
            [
                names[first],
                names[second],
                pairing.by.value,
                *(counts[cell] for cell in Cell),
                len(pairing.only_in_first),
                len(pairing.only_in_second),
                _number(pairing.union.value),
                pairing.test.p_value,
            ]
        )
    return asked.table("pairs", columns, rows)


def controls_table(asked: Asked) -> Table:
    """One row an evaluator and control agent: what it lets through."""
    columns = [
        Column("verdicts_of", gettext_lazy("verdicts of")),
        Column("control", gettext_lazy("control")),
        Column("passed", gettext_lazy("passed")),
        *SHARE[1:],
        Column("no_verdict", gettext_lazy("no verdict")),
    ]
    rows: list[Sequence[Value]] = [
        [found.source.name, name, *_share(share), found.undecided[name]]
        for found in controls_of(asked.scope).sources
        for name, share in found.passed.items()
    ]
    return asked.table("controls", columns, rows)


def infrastructure_table(asked: Asked) -> Table:
    """One row a configuration: how many of its attempts an infrastructure error ended."""
    columns = [
        CONFIGURATION,
        Column("attempts", gettext_lazy("attempts")),
        Column("errors", gettext_lazy("infrastructure errors")),
        Column("share", gettext_lazy("share")),
        Column("low", gettext_lazy("lower end, 95 %, Wilson")),
        Column("high", gettext_lazy("upper end, 95 %, Wilson")),
        Column("never_through", gettext_lazy("runs that never got through")),
        Column("faults", gettext_lazy("of which")),
    ]
    rows: list[Sequence[Value]] = [
        [
            rate.name,
            rate.attempts,
            rate.errors,
            rate.share,
            *(rate.interval or (None, None)),
            rate.never_through,
            "; ".join(f"{found.attempts} {found.words}" for found in rate.faults) or None,
        ]
        for rate in error_rates(asked.scope.told).by_agent
    ]
    return asked.table("infrastructure", columns, rows)


def runs_table(asked: Asked, selection: Selection | None = None) -> Table:
    """One row a run that may be known of: what every other table is counted from."""
    chosen = selection or Selection(
        asked.source, {"standing": "-".join(each for each in Standing if each != Standing.HIDDEN)}
    )
    columns = [Column(key, name) for key, name in _RUN_COLUMNS.items()]
    fields = [path for path in _RUN_PATHS.values() if path]
    names = {each.agent.pk: each.name for each in asked.figures.configurations}
    rows: list[Sequence[Value]] = []
    ordered = chosen.runs(asked.scope).order_by(
        "task__task_set__name", "task__external_id", "agent", "seed", "trial", "pk"
    )
    for agent, *values in ordered.values_list("agent", *fields):
        rows.append([names.get(agent, ""), *map(_plain, values)])
    return asked.table("runs", columns, rows)


_RUN_PATHS = {
    "configuration": "",
    "run": "pk",
    "task_set": "task__task_set__name",
    "task_set_version": "task__task_set__version",
    "task": "task__external_id",
    "site": "task__site",
    "template": "task__template",
    "kind": "task__evaluation_kind",
    "agent": "agent__name",
    "model": "agent__model",
    "seed": "seed",
    "trial": "trial",
    "attempt": "attempt",
    "standing": "standing",
    "verdict": "said",
    "outcome": "outcome",
    "reward": "reward",
    "end_reason": "end_reason",
    "steps": "n_steps",
    "seconds": "seconds",
    "cost": "cost",
    "detections": "detections",
    "recoveries": "recoveries",
}
_RUN_COLUMNS: Mapping[str, Promise | str] = {key: key for key in _RUN_PATHS} | {
    "configuration": gettext_lazy("configuration"),
    "run": gettext_lazy("run"),
    "task_set": gettext_lazy("task set"),
    "task_set_version": gettext_lazy("version of the task set"),
    "task": gettext_lazy("task"),
    "site": gettext_lazy("site"),
    "template": gettext_lazy("template"),
    "kind": gettext_lazy("kind of evaluation"),
    "agent": gettext_lazy("agent"),
    "model": gettext_lazy("model"),
    "seed": gettext_lazy("seed"),
    "trial": gettext_lazy("trial"),
    "attempt": gettext_lazy("attempt"),
    "standing": gettext_lazy("stands as"),
    "verdict": gettext_lazy("verdict"),
    "outcome": gettext_lazy("outcome"),
    "reward": gettext_lazy("reward"),
    "end_reason": gettext_lazy("end reason"),
    "steps": gettext_lazy("steps"),
    "seconds": gettext_lazy("seconds"),
    "cost": gettext_lazy("cost"),
    "detections": gettext_lazy("anomalies noticed"),
    "recoveries": gettext_lazy("recoveries"),
}
TABLES: Mapping[str, Callable[[Asked], Table]] = {
    "configurations": configurations_table,
    "groups": groups_table,
    "recovery": recovery_table,
    "detections": detections_table,
    "lengths": lengths_table,
    "modes": modes_table,
    "endings": endings_table,
    "trials": trials_table,
    "pairs": pairs_table,
    "controls": controls_table,
    "infrastructure": infrastructure_table,
    "runs": runs_table,
}
"""By the name in their address."""
TABLE_NAMES: Mapping[str, Promise] = {
    "configurations": gettext_lazy("Configurations"),
    "groups": gettext_lazy("Sites, templates, levels, kinds"),
    "recovery": gettext_lazy("Recovery"),
    "detections": gettext_lazy("Anomalies noticed"),
    "lengths": gettext_lazy("Number of steps"),
    "modes": gettext_lazy("Failure modes"),
    "endings": gettext_lazy("End reasons"),
    "trials": gettext_lazy("Several trials"),
    "pairs": gettext_lazy("Configurations in pairs"),
    "controls": gettext_lazy("Controls"),
    "infrastructure": gettext_lazy("Infrastructure errors"),
    "runs": gettext_lazy("Runs"),
}
PER_RUN = frozenset({"runs"})
"""Tables with a row a run, too long for a document."""


def selector_words(selector: Source | None) -> str:
    """Who picks the best of k trials, in words."""
    if selector is None:
        return _("Best of k takes somebody who picks: none is chosen.")
    return _("Best of k picks a trial that passes by %(selector)s, at random where several do.") % {
        "selector": selector.name
    }


def _configuration(each: Figures) -> list[Value]:
    return [
        each.name,
        each.agent.name,
        each.agent.version,
        each.agent.model,
        *_share(each.accuracy),
        _number(each.naive.standard_error),
        _number(each.clustered.standard_error),
        each.tasks,
        each.failures,
        each.undecided,
        *(each.standings.get(standing, 0) for standing in LEFT_OUT),
        each.seconds.mean,
        _total(each.seconds),
        each.seconds.known,
        each.wall_seconds,
        each.cost.mean,
        _total(each.cost),
        each.cost.known,
        _total(each.spent),
        each.steps.mean,
    ]


def _unknown_note() -> str:
    return _("Times and costs are of the runs of which they are known; unknown is not zero.")


def _share(share: Share) -> list[Value]:
    interval = share.interval
    ends = [interval.low, interval.high] if isinstance(interval, Interval) else [None, None]
    return [share.count, share.total, _number(share.value), *ends]


def _number(figure: Figure) -> float | None:
    return None if isinstance(figure, Undefined) else figure


def _total(amount: Amount) -> float | None:
    return float(amount.total) if amount.known and amount.total is not None else None


def _plain(value: object) -> Value:
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
