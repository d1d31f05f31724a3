"""Launching, cancelling and retrying runs."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from runs.catalogue.agents import store_agent
from runs.catalogue.tasks.rows import store_task
from runs.interface.sentences import worded
from runs.knowledge.web.sets import UnknownKnowledgeError, with_knowledge
from runs.launching.agents import (
    DEFAULT_MAX_STEPS,
    OUR_FORMAT,
    agent_for,
    own_step_limit,
    policy_problem,
    why_not_runnable,
)
from runs.models import (
    AgentConfiguration,
    Experiment,
    ExperimentState,
    RetryPolicy,
    Run,
    RunStatus,
    User,
)
from runs.models.policies import body_of
from runs.models.runs.queries import RunQuerySet
from runs.queue.sweeping import announce, ask_for_sweep, next_attempt
from runs.queue.workers import wake_workers
from runs.storage.usage import QuotaError, demand_room
from webagent.agents.registry import BadAgentConfig, UnknownAgent, make_agent
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import task_record as environment_task_record
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.records import Json

MAX_NEW_RUNS = 500
MOST_BY_HAND = 5
"""Somebody waits for so few runs; more go through the queue like an experiment."""


class RerunError(Exception):
    """It cannot be done; the message says to the user why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunRequest:
    """How to run again.

    `agent` None keeps each run's own, and so does `own_policy` with policies. `seed` None keeps
    each run's own; further trials then have the same one. A given seed is for the first trial,
    further ones count up.
    `token` names the form it was asked with: the same request with the same token is granted once.
    """

    token: UUID
    agent: str | AgentChoice | None = None
    policy: RetryPolicy | None = None
    own_policy: bool = True
    seed: int | None = None
    new_seeds: bool = False
    trials: int = 1
    max_steps: int | None = None
    experiment: str = ""

    def policy_for(self, run: Run) -> RetryPolicy | None:
        return run.policy if self.own_policy else self.policy


@dataclass(frozen=True, slots=True)
class Launch:
    """What became of a request: the queued runs, and those that could not be rerun, with why."""

    queued: list[Run]
    refused: list[tuple[Run, str]]


@transaction.atomic
def launch_reruns(*, runs: Iterable[Run], rerun_request: RerunRequest, user: User) -> Launch:
    """Queue the wanted trials of every run that can be rerun; asking twice queues them once.

    Raises:
        RerunError: none of them can be rerun, or these are too many at once.
    """
    sources = list(runs)
    if len(sources) * rerun_request.trials > MAX_NEW_RUNS:
        raise RerunError(
            _("At most %(max)d runs at once; these are %(n)d.")
            % {"n": len(sources) * rerun_request.trials, "max": MAX_NEW_RUNS}
        )
    experiment = _experiment(rerun_request.experiment, user)
    refused: list[tuple[Run, str]] = []
    wanted: list[Run] = []
    for run in sources:
        policy = rerun_request.policy_for(run)
        if why := why_not_runnable(run, rerun_request.agent) or _policy_problem(policy):
            refused.append((run, why))
            continue
        agent = agent_for(run, rerun_request.agent)
        trials = range(1, rerun_request.trials + 1)
        wanted += [_rerun(run, trial, rerun_request, agent, user) for trial in trials]
    is_by_hand = len(sources) * rerun_request.trials <= MOST_BY_HAND
    for rerun in wanted:
        rerun.experiment = experiment
        rerun.priority = Run.Priority.BY_HAND if is_by_hand else Run.Priority.EXPERIMENT
    if not wanted:
        raise RerunError(refused[0][1] if refused else _("Select at least one run."))
    ids = [run.pk for run in wanted]
    _demand_room(experiment, ids)
    Run.objects.bulk_create(wanted, ignore_conflicts=True)
    transaction.on_commit(wake_workers)
    return Launch(list(Run.objects.filter(pk__in=ids)), refused)


@transaction.atomic
def queue_run(
    *,
    task: str,
    agent: str,
    agent_config: Json | None = None,
    seed: int | None = None,
    trial: int = 1,
    max_steps: int | None = None,
    experiment: str = "",
    policy: RetryPolicy | None = None,
    user: User | None = None,
) -> Run:
    """A queued run of a task by its name, about which the caller tells a worker, or is one.

    A caller that is to carry it out itself claims it in the same transaction.

    Raises:
        RerunError: there is no such task or agent here.
    """
    try:
        record = environment_task_record(task)
        row = store_agent(make_agent(agent, with_knowledge(agent_config or {})).describe())
    except (UnknownTask, UnknownAgent, BadAgentConfig, UnknownKnowledgeError) as error:
        raise RerunError(worded(str(error))) from None
    if why := _policy_problem(policy):
        raise RerunError(why)
    gathered = _experiment(experiment, user)
    _demand_room(gathered, [None])
    return Run.objects.create(
        task=store_task(record),
        agent=row,
        experiment=gathered,
        seed=seed,
        trial=trial,
        max_steps=max_steps or record.max_steps or own_step_limit(row),
        policy=policy,
        source_format=OUR_FORMAT,
        created_by=user,
        queued_at=Now(),
    )


def cancel_run(*, run: Run) -> bool:
    """Stop a run: now if it waits, at its next step if it runs; False if it has ended already."""
    with transaction.atomic():
        asked = Run.objects.request_cancel(run.pk)
        for run_id in Run.objects.filter(pk=run.pk).end_cancelled():
            announce(run_id)
    return asked


def cancel_runs(*, runs: RunQuerySet[Run]) -> int:
    """Stop those of the runs that have not ended; of how many that is new.

    Runs that wait are ended by the next sweep, which is asked for.
    """
    active = Run.objects.filter(status__in=RunStatus.active(), cancel_requested_at=None)
    asked = active.filter(pk__in=runs.order_by().values("pk")).update(cancel_requested_at=Now())
    transaction.on_commit(ask_for_sweep)
    return asked


def retry_run(*, run: Run, user: User) -> Run:
    """Queue the next attempt of a run that broke or was cancelled; asking twice queues one.

    Raises:
        RerunError: the run has not ended like that, or cannot run here.
    """
    if why := why_not_runnable(run, None):
        raise RerunError(why)
    if run.status not in (RunStatus.FAILED, RunStatus.CANCELLED):
        raise RerunError(_("Only broken or cancelled runs can be retried; rerun it."))
    if run.experiment and run.experiment.state == ExperimentState.CANCELLED:
        raise RerunError(_("Its experiment was cancelled. Rerun it instead."))
    try:
        with transaction.atomic():
            later = next_attempt(run, created_by=user)
            transaction.on_commit(wake_workers)
            return later
    except IntegrityError:
        return Run.objects.get(retry_of=run)


def _rerun(
    run: Run, trial: int, rerun_request: RerunRequest, agent: AgentConfiguration, user: User
) -> Run:
    """A new row whose id follows from the request, so that the same request makes the same row."""
    pk = uuid.uuid5(rerun_request.token, f"{user.pk} {run.pk} {trial} {rerun_request}")
    seed = run.seed
    if rerun_request.new_seeds:
        seed = pk.int % 2**31
    elif rerun_request.seed is not None:
        seed = rerun_request.seed + trial - 1
    return Run(
        pk=pk,
        task=run.task,
        agent=agent,
        goal=run.goal if seed == run.seed else "",
        seed=seed,
        trial=trial,
        max_steps=rerun_request.max_steps or run.max_steps or DEFAULT_MAX_STEPS,
        policy=rerun_request.policy_for(run),
        launch=uuid.uuid5(rerun_request.token, str(user.pk)),
        source_format=OUR_FORMAT,
        rerun_of=run,
        family=run.root,
        created_by=user,
        queued_at=Now(),
    )


def _policy_problem(policy: RetryPolicy | None) -> str | None:
    """Why runs under this policy could not be carried out here; None if they can."""
    return policy_problem(body_of(policy)) if policy else None


def _demand_room(experiment: Experiment | None, ids: Sequence[UUID | None]) -> None:
    """Raises RerunError if the experiment cannot take what is not among its runs yet."""
    there = Run.objects.filter(experiment=experiment, pk__in=[pk for pk in ids if pk]).count()
    try:
        demand_room(experiment, n_runs=len(ids) - there)
    except QuotaError as error:
        raise RerunError(str(error)) from None


def _experiment(name: str, user: User | None) -> Experiment | None:
    name = name.strip()
    if not name:
        return None
    experiment, _is_new = Experiment.objects.get_or_create(name=name, defaults={"created_by": user})
    if experiment.state == ExperimentState.CANCELLED:
        raise RerunError(
            _("The experiment %(name)s was cancelled. Choose another name.") % {"name": name}
        )
    return experiment
