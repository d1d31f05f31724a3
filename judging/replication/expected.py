"""What a study file will take: runs, people's labels, evaluations, time and cost, before any."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from judging.analysis.reports.report import Column, Report, Value, parted, text
from judging.analysis.reports.showing import Shown
from judging.evaluating.services import estimate_batch
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import REGISTRY, Unasked, model_asked_by
from judging.models import StudyItem
from judging.replication.planning import Group, NotYetError, Planner, groups_of, jobs_of
from judging.replication.sources import Kind, Sources
from judging.replication.study_parts import EvaluatorChoice, Judging, StudyFileError, not_found
from runs.catalogue.language_models import ModelUnavailableError
from runs.interface.words import duration, money
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.hint_plans import HintPlan
from runs.launching.experiments.plans import Plan
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import plan_problem
from runs.models import RetryPolicy, Run
from webagent.recovery.retry_policy import PolicyBody


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One part of the work. Times and costs are None where nothing tells them, never 0 then."""

    kind: str
    key: str
    words: str
    n: int | None = None
    """Runs, labels or evaluations; None where that hangs on what comes first."""
    seconds: float | None = None
    cost: float | None = None
    is_free: bool = False
    """Asks no model."""
    problem: str = ""
    """Why it cannot be done here as things are."""
    waits: str = ""


def plan(sources: Sources) -> Report:
    """One row a part of the work: what it takes before anything is asked of a model."""
    experiments = list(_experiments(sources))
    lines = [*experiments, *_learning(sources), *_judging(sources, experiments)]
    known = [line.n for line in lines if line.kind == Kind.EXPERIMENT and line.n is not None]
    notes = []
    if known:
        words = ngettext("%(n)s run in all.", "%(n)s runs in all.", sum(known))
        notes.append(words % {"n": formats.number_format(sum(known))})
    if any(line.waits for line in lines):
        notes.append(_("What waits for other parts is not counted yet."))
    notes.append(_("Times and costs follow from past runs; unknown is not zero."))
    return Report(
        columns=[
            text("part", gettext_lazy("part"), show=lambda kind: Shown(str(Kind(kind).label))),
            text("key", gettext_lazy("key")),
            text("what", gettext_lazy("what")),
            Column("n", gettext_lazy("number")),
            Column("seconds", gettext_lazy("time"), show=_show_time),
            parted(("cost",), gettext_lazy("cost"), spread=_dollars, show=_show_cost),
            text("standing", gettext_lazy("waits or problem")),
        ],
        rows=[
            [one.kind, one.key, one.words, one.n, one.seconds, one, one.problem or one.waits]
            for one in lines
        ],
        notes=notes,
        empty="" if lines else _("Nothing is to run: all figures are of what is here."),
    )


def _show_time(seconds: float | None) -> Shown:
    return Shown(_("unknown") if seconds is None else duration(seconds))


def _dollars(line: PlanLine) -> list[Value]:
    return [0.0 if line.is_free else line.cost]


def _show_cost(line: PlanLine) -> Shown:
    if line.is_free:
        return Shown(_("none"), _("asks no model"))
    return Shown(_("unknown") if line.cost is None else money(line.cost))


def _experiments(sources: Sources) -> Iterator[PlanLine]:
    planner = Planner(sources.file, jobs_of(sources.parts), sources.user)
    for group in groups_of(sources.file):
        try:
            policy = policy_of(group)
            plan = planner.plan(group, policy)
        except NotYetError as why:
            yield PlanLine(kind=Kind.EXPERIMENT, key=group.key, words="", waits=str(why))
        except PlanError as why:
            yield PlanLine(kind=Kind.EXPERIMENT, key=group.key, words="", problem=str(why))
        else:
            yield _planned(group, plan, sources)


def policy_of(group: Group) -> RetryPolicy | None:
    """The policy of a group; not stored yet where the file spells it out. Raises PlanError."""
    said = group.first.policy
    if isinstance(said, PolicyBody):
        return RetryPolicy(name=policy_name(group), version=1, body=said.to_json())
    if not said:
        return None
    found = RetryPolicy.objects.named(said)
    if found is None:
        raise PlanError(not_found(_("retry policy"), said))
    return found


def policy_name(group: Group) -> str:
    """What the policy is called that a group of the file spells out."""
    return group.name[:100]


def _planned(group: Group, plan: Plan | HintPlan, sources: Sources) -> PlanLine:
    base = plan.plan if isinstance(plan, HintPlan) else plan
    expected = estimate(base, sources.user)
    conditions = len(plan.conditions) + 1 if isinstance(plan, HintPlan) else len(base.agents)
    words = _("%(tasks)s tasks × %(arms)s configurations × %(trials)s trials") % {
        "tasks": len(base.tasks),
        "arms": conditions,
        "trials": base.trials,
    }
    factor = plan.n_runs / base.n_runs if base.n_runs else 1
    return PlanLine(
        kind=Kind.EXPERIMENT,
        key=group.key,
        words=words,
        n=plan.n_runs,
        seconds=_whole(expected.wall_seconds, factor, is_known=expected.is_time_complete),
        cost=_whole(expected.cost, factor, is_known=expected.is_cost_complete),
        is_free=not expected.asks_models,
        problem=plan_problem(base) or "",
    )


def _whole(amount: float | None, factor: float, *, is_known: bool) -> float | None:
    return amount * factor if amount is not None and is_known else None


def _learning(sources: Sources) -> Iterator[PlanLine]:
    there = {part.key for part in sources.parts if part.kind == Kind.LEARNING}
    for key, learning in sources.file.learning.items():
        words = _("%(kind)s from runs of %(arms)s, by %(model)s") % {
            "kind": _("hints") if learning.kind == "hints" else _("web knowledge"),
            "arms": ", ".join(learning.arms),
            "model": learning.model,
        }
        waits = "" if key in there else _("waits for these runs")
        yield PlanLine(
            kind=Kind.LEARNING, key=key, words=words, cost=learning.max_cost, waits=waits
        )


def _judging(sources: Sources, experiments: list[PlanLine]) -> Iterator[PlanLine]:
    planned = {line.key: line for line in experiments}
    for key, judging in sources.file.judging.items():
        yield _labels(key, judging, sources, planned)
        for chosen in judging.evaluators:
            yield _evaluations(key, chosen, sources)


def _labels(key: str, judging: Judging, sources: Sources, planned: dict[str, PlanLine]) -> PlanLine:
    """What people are to say, or a file says already."""
    study = sources.studies.get(key)
    if judging.labels or judging.study:
        words = _("labels of the file %(file)s") % {"file": ", ".join(judging.labels)}
        if judging.study:
            words = _("labels of the study %(study)s") % {"study": judging.study}
        n = None if study is None else StudyItem.objects.filter(study=study).count()
        lacks = judging.study and study is None
        problem = _("not found") if lacks else ""
        return PlanLine(
            kind=Kind.JUDGING, key=key, words=words, n=n, seconds=0.0, is_free=True, problem=problem
        )
    runs = _expected_runs(judging, sources, planned)
    n_runs = None if runs is None else min(runs, judging.sample or runs)
    words = ngettext("%(n)s label for each run", "%(n)s labels for each run", 2)
    return PlanLine(
        kind=Kind.JUDGING,
        key=key,
        words=words % {"n": judging.labels_per_run},
        n=None if n_runs is None else n_runs * judging.labels_per_run,
        is_free=True,
    )


def _expected_runs(judging: Judging, sources: Sources, planned: dict[str, PlanLine]) -> int | None:
    """How many runs the arms of a judging will have; None where some of them wait."""
    total = 0
    for group in groups_of(sources.file):
        mine = [key for key in group.arms if key in judging.arms]
        line = planned[group.key]
        if mine and line.n is None:
            return None
        total += (line.n or 0) * len(mine) // len(group.arms)
    for key in judging.arms:
        arm = sources.file.arms[key]
        if arm.experiment and not isinstance(found := sources.arms[key], str):
            runs = Run.objects.filter(experiment=found.experiment, agent=found.agent)
            total += runs.ended().filter(superseded=False).count()
    return total


def _evaluations(key: str, chosen: EvaluatorChoice, sources: Sources) -> PlanLine:
    words = _("evaluated by %(evaluator)s") % {"evaluator": chosen.name}
    line = PlanLine(kind=Kind.JUDGING, key=key, words=words)
    try:
        evaluator = evaluator_chosen(chosen)
        study = sources.studies.get(key)
        if study is None:
            waits = _("waits for these runs")
            return replace(line, is_free=not model_asked_by(evaluator), waits=waits)
        found = estimate_batch(evaluator, study=study)
    except (StudyFileError, ModelUnavailableError) as why:
        return replace(line, problem=str(why))
    return replace(
        line,
        n=found.n_runs,
        cost=None if found.cost is None else float(found.cost),
        is_free=not found.asks_model,
    )


def evaluator_chosen(chosen: EvaluatorChoice) -> Evaluator:
    """Raises StudyFileError where there is none of the name, or the settings do not fit it."""
    entry = REGISTRY.get(chosen.name)
    if entry is None:
        raise StudyFileError(chosen.name, "", f"no such evaluator; there are {', '.join(REGISTRY)}")
    given: dict[str, Any] = dict(chosen.settings)
    if entry.asks_model:
        model = chosen.model or settings.ENV.JUDGE_MODEL or ""
        if not model:
            raise StudyFileError(chosen.name, "model", "name one, or set JUDGE_MODEL")
        given |= {"model": model, "language_model": Unasked()}
    try:
        return entry.make(**given)
    except (TypeError, ValueError, KeyError) as error:
        raise StudyFileError(chosen.name, "settings", str(error)) from None
