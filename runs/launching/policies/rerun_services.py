"""Launching the reruns that the rules of a policy ask for."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from runs.catalogue.agents.runnable import DEFAULT_MAX_STEPS, OUR_FORMAT, agent_for
from runs.launching.policies.rerun_plans import Planned, RerunPlan, plan_reruns
from runs.launching.reruns.services import MAX_NEW_RUNS, RerunError
from runs.models import RetryPolicy, Run, User
from runs.queue.messages import wake_workers


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
        raise RerunError(_("By this policy nothing is to be run again now."))
    if len(plan.reruns) > MAX_NEW_RUNS:
        raise RerunError(
            _("These would be %(n)d runs; at most %(max)d can be queued at once.")
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
