"""Which of some runs a policy would run again: the dry run and its launch."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet, TextChoices
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.interface.sentences import labelled
from runs.launching.agents import (
    DEFAULT_MAX_STEPS,
    OUR_FORMAT,
    agent_for,
    policy_problem,
    problem_of,
)
from runs.launching.policies.words import rule_in_words
from runs.launching.reruns.services import MAX_NEW_RUNS, RerunError
from runs.models import Event, RetryPolicy, Run, RunStatus, User
from runs.models.extension import RunVerdicts, extension
from runs.models.policies import body_of
from runs.models.runs.run import hides_something
from runs.queue.workers import wake_workers
from webagent.recovery.rerunning import RunFacts, decide
from webagent.recovery.retry_policy import PolicyBody, RerunRule
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import EndReason, Outcome

MOST_RUNS = 2000
"""So many runs are looked at in one dry run."""


class PlanOutcome(TextChoices):
    """What becomes of a run under the policy."""

    RERUN = "rerun", gettext_lazy("would be rerun")
    USED_UP = "used_up", gettext_lazy("rerun limit of the rule reached")
    NO_RULE = "no_rule", gettext_lazy("no rule applies")
    NO_VERDICT = "no_verdict", gettext_lazy("required verdict missing")
    HIDDEN = "hidden", gettext_lazy("still judged by you")
    MOVING = "moving", gettext_lazy("already queued or running")
    """It, or a rerun that a rule made of it, has not ended."""
    REPLACED = "replaced", gettext_lazy("replaced by a later attempt")
    ELSEWHERE = "elsewhere", gettext_lazy("its rerun is in this list")
    CANNOT = "cannot", gettext_lazy("cannot run here")
    """A rule fits, but it cannot run here."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One run and what becomes of it.

    `last` is the newest of the reruns that rules have made of it one after another, or the run
    itself: what the rules look at, and what is rerun. `made` counts the reruns that `rule` has
    made in its family.
    """

    run: Run
    answer: PlanOutcome
    last: Run | None = None
    rule: RerunRule | None = None
    made: int = 0
    why: str = ""

    @property
    def words(self) -> str:
        return labelled(self.answer.label, self.why) if self.why else str(self.answer.label)

    @property
    def rule_words(self) -> str:
        return rule_in_words(self.rule) if self.rule else ""


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """The dry run of one policy."""

    policy: RetryPolicy
    body: PolicyBody
    rows: list[Planned] = field(default_factory=list)

    @property
    def reruns(self) -> list[Planned]:
        return [row for row in self.rows if row.answer is PlanOutcome.RERUN]


def plan_reruns(policy: RetryPolicy, runs: QuerySet[Run], user: User | None) -> RerunPlan:
    """What the policy would do with these runs; changes nothing.

    Args:
        runs: which ones; those that the person may not see are left out.
        user: who asks, since nothing is said of runs that they judge; None hides nothing.
    """
    body = body_of(policy)
    chosen = list(_shown(runs, user)[:MOST_RUNS])
    open_ones = [run for run in chosen if not _is_hidden(run, user) and not run.superseded]
    last = _last_of(open_ones, user)
    facts, made = _facts_of(last.values(), user), _made(run.root for run in last.values())
    own = {run.pk for run in chosen}
    taken: set[UUID] = set()
    plan = RerunPlan(policy, body)
    for run in chosen:
        row = Planned(run, PlanOutcome.HIDDEN)
        if not _is_hidden(run, user):
            row = _row(run, last.get(run.pk), body, facts, made, own | taken)
        if row.last is not None:
            taken.add(row.last.pk)
        plan.rows.append(row)
    return plan


def _row(
    run: Run,
    last: Run | None,
    body: PolicyBody,
    facts: Mapping[UUID, RunFacts],
    made: Mapping[UUID, Counter[str]],
    elsewhere: set[UUID],
) -> Planned:
    if last is None:
        return Planned(run, PlanOutcome.REPLACED)
    if last.pk != run.pk and last.pk in elsewhere:
        return Planned(run, PlanOutcome.ELSEWHERE)
    if last.is_active:
        return Planned(run, PlanOutcome.MOVING, last)
    of_family = made.get(last.root, Counter())
    decision = decide(body.reruns, facts[last.pk], of_family)
    rule, answer = decision.rule, PlanOutcome(decision.answer.value)
    row = Planned(run, answer, last, rule, of_family[rule.key] if rule else 0)
    if row.answer is not PlanOutcome.RERUN or rule is None:
        return row
    why = problem_of(last, rule.agent) or policy_problem(body)
    return Planned(run, PlanOutcome.CANNOT, last, rule, row.made, why) if why else row


def _facts_of(runs: Iterable[Run], user: User | None) -> dict[UUID, RunFacts]:
    """What the rules may ask of those of the runs that have ended, read in a few queries."""
    ended = [run for run in runs if not run.is_active]
    ids = [run.pk for run in ended]
    kinds: dict[UUID, set[str]] = defaultdict(set)
    for run_id, kind in Event.objects.filter(run__in=ids).values_list("run", "kind"):
        kinds[run_id].add(kind)
    judged = extension().judgements.of(ids, user)
    return {run.pk: _facts(run, kinds[run.pk], judged.get(run.pk, RunVerdicts())) for run in ended}


def _facts(run: Run, anomalies: set[str], judged: RunVerdicts) -> RunFacts:
    return RunFacts(
        outcome=Outcome(run.outcome),
        end_reason=EndReason(run.end_reason),
        fault=Fault(run.fault) if run.fault else None,
        looped=Event.Kind.LOOP in anomalies,
        declared_too_early=Event.Kind.FALSE_COMPLETION in anomalies,
        reference=judged.reference,
        evaluators=judged.evaluators,
        causes=judged.causes,
    )


def _shown(runs: QuerySet[Run], user: User | None) -> QuerySet[Any]:
    shown: QuerySet[Any] = Run.objects.filter(pk__in=runs.values("pk"))
    if user is not None:
        shown = Run.objects.visible_to(user).filter(pk__in=runs.values("pk"))
    shown = shown.select_related("task__task_set", "agent", "experiment")
    return shown.defer("record", "evidence", "task__record", "task__spec").order_by(
        "task__external_id", "trial", "created_at", "pk"
    )


def _is_hidden(run: Run, user: User | None) -> bool:
    return user is not None and hides_something(run)


def _last_of(runs: Sequence[Run], user: User | None) -> dict[UUID, Run]:
    """The newest rerun that rules made of each run, one of another; the run where there is none."""
    last = {run.pk: run for run in runs}
    ends = {run.pk: run.pk for run in runs}
    while ends:
        made = Run.objects.filter(rerun_of__in=ends, superseded=False).exclude(rerun_rule="")
        later = _shown(made.exclude(status=RunStatus.CANCELLED), user)
        # Where several came of one run, the last one created stands.
        following = {run.rerun_of_id: run for run in later.order_by("created_at", "pk")}
        ends = {run.pk: ends[parent] for parent, run in following.items() if parent}
        last |= {ends[run.pk]: run for run in following.values()}
    return last


def _made(families: Iterable[UUID]) -> dict[UUID, Counter[str]]:
    """Reruns by family and rule. What was cancelled is no rerun."""
    made: dict[UUID, Counter[str]] = defaultdict(Counter)
    reruns = Run.objects.filter(family__in=set(families), superseded=False)
    counted = reruns.exclude(rerun_rule="").exclude(status=RunStatus.CANCELLED)
    for family, rule in counted.order_by().values_list("family", "rerun_rule"):
        if family is not None:
            made[family][rule] += 1
    return made


@dataclass(frozen=True, slots=True)
class LaunchedReruns:
    """The runs of one launch; `is_new` tells whether they were not there before."""

    runs: list[Run]
    is_new: bool


@transaction.atomic
def launch_by_policy(
    *, policy: RetryPolicy, runs: QuerySet[Run], token: UUID, user: User | None
) -> LaunchedReruns:
    """Queue what the policy would run again of these runs, as things stand now.

    The same token launches once. A run is rerun once by a rule at a time, however many people
    launch: its rerun's id follows from the run, the rule, and how many went before.

    Raises:
        RerunError: there is nothing to rerun, or these are too many at once.
    """
    launch = uuid.uuid5(token, f"{policy.pk} {user.pk if user else ''}")
    if there := list(Run.objects.filter(launch=launch)):
        return LaunchedReruns(there, is_new=False)
    plan = plan_reruns(policy, runs, user)
    _demand_size(plan)
    wanted = _rows(plan, launch, user)
    Run.objects.bulk_create(wanted, ignore_conflicts=True)
    transaction.on_commit(wake_workers)
    return LaunchedReruns(list(Run.objects.filter(launch=launch)), is_new=True)


def _demand_size(plan: RerunPlan) -> None:
    """Raises RerunError if there is nothing to launch, or too much."""
    if not plan.reruns:
        raise RerunError(_("This policy reruns nothing now."))
    if len(plan.reruns) > MAX_NEW_RUNS:
        raise RerunError(
            _("At most %(max)d runs at once; these are %(n)d.")
            % {"n": len(plan.reruns), "max": MAX_NEW_RUNS}
        )


def _rows(plan: RerunPlan, launch: UUID, user: User | None) -> list[Run]:
    sources = [row.last.pk for row in plan.reruns if row.last]
    counted = Run.objects.filter(rerun_of__in=sources).exclude(rerun_rule="")
    before = dict(counted.values_list("rerun_of").annotate(n=Count("pk")).order_by())
    return [_rerun(row, plan, launch, before, user) for row in plan.reruns]


def _rerun(
    row: Planned, plan: RerunPlan, launch: UUID, before: dict[UUID, int], user: User | None
) -> Run:
    run, rule = row.last, row.rule
    assert run is not None  # noqa: S101 (mypy; a rerun has both)
    assert rule is not None  # noqa: S101 (mypy)
    pk = uuid.uuid5(run.pk, f"{rule.key} {before.get(run.pk, 0)}")
    seed = pk.int % 2**31 if rule.new_seed else run.seed
    return Run(
        pk=pk,
        task=run.task,
        agent=agent_for(run, rule.agent),
        # No part of the experiment that it repeats: whose runs were planned, not chosen by
        # how they ended.
        experiment=None,
        goal=run.goal if seed == run.seed else "",
        seed=seed,
        trial=run.trial,
        max_steps=run.max_steps or DEFAULT_MAX_STEPS,
        policy=plan.policy,
        launch=launch,
        rerun_rule=rule.key,
        source_format=OUR_FORMAT,
        rerun_of=run,
        family=run.root,
        created_by=user,
        priority=Run.Priority.EXPERIMENT,
        queued_at=Now(),
    )
