"""Reports on how runs went: anomalies, recoveries, steps, failure modes, ends, infrastructure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.course import (
    Detections,
    Length,
    StoppedEarly,
    lengths_of,
    stopped_early,
)
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import COUNTED, RunResult
from judging.analysis.experiments.selection import Selection, joined
from judging.analysis.failure_modes.shares import confirmed, modes_of_runs, modes_report
from judging.analysis.failure_modes.sources import NONE, ModeSource, with_modes
from judging.analysis.reports.report import (
    CONFIGURATION,
    SHARE_KEYS,
    Cell,
    Column,
    Field,
    Layout,
    Report,
    Value,
    figure,
    in_files,
    on_pages,
    report_of,
    share,
    text,
)
from judging.analysis.reports.showing import Shown, percent, rate
from runs.interface.words import money, steps
from runs.models import Run
from runs.operations.health.infrastructure import error_rates
from webagent.recovery.anomalies import LONGEST_LOOP, SHORTEST_LOOP
from webagent.recovery.retry_policy import Comparison
from webagent.trajectory.verdict_records import Mode


def recovery(facts: Facts) -> Report:
    """One row a configuration: success without recovery, and rescued by one."""
    found, won = facts.detections, RunResult.SUCCESS
    stopped_by = stopped_early(facts.figures)
    has_any = any(each.most or each.recovered for each in found) or any(
        each.by_actions.count for each in facts.loops
    )

    def stopped(each: Detections) -> StoppedEarly:
        return stopped_by.get(each.configuration.pk, StoppedEarly())

    def chosen(value: str, **query: str) -> Callable[[Detections], Cell]:
        return lambda each: facts.cell(getattr(each, value), each.configuration, **query)

    return report_of(
        found,
        [
            (CONFIGURATION, lambda each: each.configuration.name),
            (share(""), lambda each: each.configuration.accuracy),
            (
                Column("without_recovery", _("successes without recovery")),
                chosen("unaided", standing=won, recovered="no"),
            ),
            (
                Column("rescued", _("rescued by recovery")),
                chosen("rescued", standing=won, recovered="yes"),
            ),
            (in_files("recovered"), lambda each: each.recovered),
            (in_files("detected"), lambda each: each.among_detected.total),
            (in_files("detected_successes"), lambda each: each.among_detected.count),
            (on_pages(_("success rate without recovery")), lambda each: each.without_recovery),
            (
                on_pages(_("success where an anomaly was noticed")),
                chosen("among_detected", detections="1+"),
            ),
            (on_pages(_("success after a recovery")), chosen("among_recovered", recovered="yes")),
            (Column("stopped_early", _("stopped early")), lambda each: _stopped(stopped(each))),
            (in_files("steps_saved"), lambda each: stopped(each).saved.steps),
            (in_files("dollars_saved"), lambda each: _plain(stopped(each).saved.dollars)),
        ],
        remarks=[
            _(
                "Loops and false completions that the run noticed itself or that manage.py "
                "detect_anomalies found. Success without recovery: as if every rescued run had "
                "failed."
            )
        ],
        empty=""
        if has_any
        else _(
            "No loop or false completion is marked in these runs. For runs without a "
            "recovery policy, run manage.py detect_anomalies."
        ),
    )


def _stopped(found: StoppedEarly) -> Cell:
    """The runs that were stopped, with what that saved at most."""
    saved = [steps(found.saved.steps)]
    if found.saved.dollars is not None:
        saved.append(gettext("about %(cost)s") % {"cost": money(found.saved.dollars)})
    return Cell(found.runs, note=", ".join(saved) if found.runs else "")


def detections(facts: Facts) -> Report:
    """One row a configuration and number of anomalies noticed in a run."""
    return Report(
        columns=[
            CONFIGURATION,
            Column("detections", _("anomalies noticed")),
            Column("successes", _("successes")),
            Column("failures", _("failures")),
        ],
        rows=[
            [found.configuration.name, *numbers]
            for found in facts.detections
            for numbers in found.numbers
        ],
    )


def loops(facts: Facts) -> Report:
    """One row a configuration: runs with a loop by actions, and by actions and pages."""

    def compared(compare: Comparison, value: str) -> Field:
        keys = [f"{compare}_{part}" for part in ("runs", *SHARE_KEYS[1:])]
        chosen = {"standing": joined(COUNTED), "loop": compare}
        return (
            share(Run.Loop[compare.name].label, keys=keys),
            lambda each: facts.cell(getattr(each, value), each.configuration, **chosen),
        )

    words = gettext(
        "Runs with a loop, by what makes steps equal: %(shortest)s to %(longest)s steps "
        "that repeat a block of up to %(block)s, whatever the retry policy looks for"
    )
    lengths = {"shortest": SHORTEST_LOOP, "longest": LONGEST_LOOP, "block": LONGEST_LOOP // 2}
    return report_of(
        facts.loops,
        [
            (CONFIGURATION, lambda each: each.configuration.name),
            compared(Comparison.ACTIONS, "by_actions"),
            compared(Comparison.ACTIONS_AND_PAGE, "by_actions_and_page"),
            (Column("not_looked_at", _("not looked at yet")), lambda each: each.not_looked_at),
        ],
        layout=Layout(caption=words % lengths),
    )


def lengths(facts: Facts) -> Report:
    """One row a configuration and range of steps."""

    def achieved(each: Length) -> Cell:
        return facts.cell(each.share, each.configuration, steps=f"{each.first}-{each.last}")

    return report_of(
        lengths_of(facts.figures),
        [
            (CONFIGURATION, lambda each: each.configuration.name),
            (on_pages(_("steps"), is_text=True), lambda each: each.words),
            (in_files("first_step"), lambda each: each.first),
            (in_files("last_step"), lambda each: each.last),
            (share(), achieved),
            (
                figure("solved_within", _("solved within"), show=rate),
                lambda each: each.within.value,
            ),
        ],
        layout=Layout(pivot="configuration", folded=True),
    )


def modes(facts: Facts) -> Report:
    """One row a configuration, source and failure mode; a failure may show several modes."""
    return modes_among(facts, {})


def modes_among(facts: Facts, chosen: Mapping[str, str]) -> Report:
    """The same of the runs that are chosen, whatever mode and verdict the choice names."""
    chosen = {key: value for key, value in chosen.items() if key not in _OF_MODES}
    among = Selection(facts.source, {**chosen, "standing": joined(_SPOILED)}).runs(facts.scope)
    failures = among.filter(standing=RunResult.FAILURE)
    errors = among.filter(standing=RunResult.ERROR)
    runs = modes_of_runs(failures, errors)
    own = chosen.get("agent")
    by_pk = {each.pk: each for each in facts.configurations if own in (None, str(each.pk))}
    others = {key: value for key, value in chosen.items() if key != "agent"}

    def link(pk: int, mode: str, by: ModeSource) -> str:
        standing = joined(_SPOILED) if mode == Mode.ENVIRONMENT else RunResult.FAILURE
        return facts.url(by_pk[pk], standing=standing, mode=mode, by=by, **others)

    names = {pk: each.name for pk, each in by_pk.items()}
    report = modes_report(runs, names, confirmed(failures), facts.query.modes_by, link)
    return report if runs else replace(report, empty=_("No failure here"))


_SPOILED = (RunResult.FAILURE, RunResult.ERROR)
_OF_MODES = ("standing", "mode", "by")
"""Parts of a selection that say which modes its runs show."""


def endings(facts: Facts) -> Report:
    """One row a configuration and end reason, of each the most frequent reasons first."""
    counts = facts.scope.counts(facts.source, "agent", "end_reason", "standing")
    together: Counter[tuple[int, str]] = Counter()
    for (agent, reason, _standing), n in counts.items():
        together[agent, reason] += n
    reasons = sorted(together, key=lambda key: (-together[key], key[1]))
    return Report(
        columns=[
            CONFIGURATION,
            text("end_reason", _("end reason"), show=_reason_words),
            Column("successes", _("successes")),
            Column("failures", _("failures")),
            Column("no_verdict", _("no verdict")),
        ],
        rows=[
            [
                each.name,
                reason,
                *(
                    facts.cell(counts[agent, reason, result], each, standing=result, end=reason)
                    for result in COUNTED
                ),
            ]
            for each in facts.configurations
            for agent, reason in reasons
            if agent == each.pk
        ],
    )


def _reason_words(reason: str) -> Shown:
    return Shown(str(Run.EndReason(reason).label))


def infrastructure(facts: Facts) -> Report:
    """One row a configuration: how many of its attempts an infrastructure error ended."""
    rates = error_rates(facts.scope.visible, names_in(facts.scope))
    empty = (
        _("No attempt has ended yet.")
        if facts.experiment.plan  # what came in by import never has attempts
        else _("Imported runs do not record attempts.")
    )

    def end(which: int) -> Callable[[Any], float | None]:
        return lambda rate: rate.interval[which] if rate.interval else None

    def rate_of(rate: Any) -> Cell:
        return Cell(rate.share, note=" – ".join(map(percent, rate.interval or ())))

    def faults(rate: Any) -> str | None:
        return "; ".join(f"{found.attempts} {found.words}" for found in rate.faults) or None

    return report_of(
        rates.by_agent,
        [
            (CONFIGURATION, lambda rate: rate.name),
            (Column("attempts", _("attempts")), lambda rate: rate.attempts),
            (Column("errors", _("errors")), lambda rate: rate.errors),
            (Column("share", _("share"), show=rate), rate_of),
            (in_files("low"), end(0)),
            (in_files("high"), end(1)),
            (Column("never_through", _("never completed")), lambda rate: rate.never_through),
            (text("faults", _("of which")), faults),
        ],
        remarks=[_("Every attempt counts. None of these errors counts against an agent.")],
        empty="" if rates.overall.attempts else empty,
    )


_KNOWLEDGE = "record__extra__knowledge"
_FIELDS: Sequence[tuple[str, str, str]] = (
    ("run", "pk", "run"),
    ("task_set", "task__task_set__name", "task set"),
    ("task_set_version", "task__task_set__version", "version of the task set"),
    ("task", "task__external_id", "task"),
    ("site", "task__site", "site"),
    ("template", "task__template", "template"),
    ("kind", "task__evaluation_kind", "kind of evaluation"),
    ("agent", "agent__name", "agent"),
    ("model", "agent__model", "model"),
    ("seed", "seed", "seed"),
    ("trial", "trial", "trial"),
    ("attempt", "attempt", "attempt"),
    ("standing", "standing", "stands as"),
    ("verdict", "said", "verdict"),
    ("outcome", "outcome", "outcome"),
    ("reward", "reward", "reward"),
    ("end_reason", "end_reason", "end reason"),
    ("max_steps", "max_steps", "step limit"),
    ("steps", "n_steps", "steps"),
    ("seconds", "seconds", "seconds"),
    ("cost", "cost", "cost"),
    ("detections", "detections", "anomalies noticed"),
    ("recoveries", "recoveries", "recoveries"),
    ("loop", "loop", "loop: 1 by actions, 2 by actions and pages, empty if not looked at"),
    ("knowledge_budget", f"{_KNOWLEDGE}__budget_tokens", "budget of web knowledge, in tokens"),
    ("knowledge_given", f"{_KNOWLEDGE}__given", "entries of web knowledge given"),
    (
        "knowledge_left_out",
        f"{_KNOWLEDGE}__left_out",
        "entries of web knowledge left out, by place from 0",
    ),
)
"""Key, path in the database, and name of what a file says of each run."""


_MODES: Sequence[tuple[str, str, str]] = (
    ("modes_by_rules", "by_rules", "failure modes by fixed rules, empty if not looked at"),
    ("modes_by_judge", "by_judge", "failure modes by the judge, empty if not looked at"),
    ("modes_by_people", "by_people", "failure modes by people, empty if not looked at"),
)


def runs(facts: Facts) -> Report:
    """One row a run that is visible, or was selected: what the others are counted from."""
    every = {"standing": joined(tuple(each for each in RunResult if each != RunResult.HIDDEN))}
    chosen = facts.query.selection or Selection(facts.source, every)
    names = {each.pk: each.name for each in facts.configurations}
    ordered = chosen.runs(facts.scope).order_by(
        "task__task_set__name", "task__external_id", "agent", "seed", "trial", "pk"
    )
    fields = list(_FIELDS)
    if chosen.tells_failures:
        ordered, fields = with_modes(ordered), [*_FIELDS, *_MODES]
    rows = ordered.values_list("agent", *(path for _key, path, _name in fields))
    return Report(
        columns=[CONFIGURATION, *(Column(key, name) for key, _path, name in fields)],
        rows=[[names.get(agent, ""), *map(_plain, values)] for agent, *values in rows],
    )


def _plain(value: object) -> Value:
    if isinstance(value, dict):
        return " ".join(sorted(value)) or NONE
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
