"""Launching, pausing, resuming and cancelling experiments, and running one in this process.

Before that, what of a plan cannot run here, and what its retry policy notices too late.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from runs.catalogue.agents import store_agent
from runs.catalogue.tasks.rows import store_task, task_columns
from runs.launching.agents import OUR_FORMAT, environment_problem, task_name
from runs.launching.experiments.plans import Plan, demand_size
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.starting import unready_words
from runs.launching.running import execute
from runs.models import Experiment, ExperimentState, Run, RunStatus, Task, User
from runs.models.policies import body_of
from runs.queue.sweeping import ask_for_sweep, sweep_runs
from runs.queue.workers import wake_workers
from webagent.environment.registry import task_record
from webagent.recovery.retry_policy import AnomalyResponse, RecoveryPolicy

ROWS_PER_QUERY = 500


@dataclass(frozen=True, slots=True)
class Launched:
    """The experiment; `is_new` tells whether it was not there before."""

    experiment: Experiment
    is_new: bool


def launch_experiment(*, plan: Plan, token: UUID, user: User | None) -> Launched:
    """Queue every run of the plan, all or none; the same token launches it once.

    Raises:
        PlanError: it cannot run here, its name is taken, or a site is not ready.
    """
    if there := Experiment.objects.filter(token=token).first():
        return Launched(there, is_new=False)
    demand_size(plan)
    state, waits_because = _readiness(plan)
    try:
        with transaction.atomic():
            experiment = Experiment.objects.create(
                name=plan.name.strip(),
                plan=plan.to_json(),
                token=token,
                state=state,
                waits_because=waits_because,
                parallelism=plan.parallelism,
                created_by=user,
            )
            _queue(plan, experiment, token, user)
            transaction.on_commit(wake_workers)
    except IntegrityError:
        # The second click of two came while the first one was at work.
        if there := Experiment.objects.filter(token=token).first():
            return Launched(there, is_new=False)
        raise PlanError(_("This name is taken.")) from None
    return Launched(experiment, is_new=True)


def pause_experiment(*, experiment: Experiment) -> bool:
    """From now on no run of it starts; those under way go on. False if it did not run."""
    moving = (ExperimentState.RUNNING, ExperimentState.WAITING)
    return _change(experiment, moving, ExperimentState.PAUSED)


def resume_experiment(*, experiment: Experiment) -> bool:
    """Runs start again, also where it waited for its sites. False if it did not rest."""
    resting = (ExperimentState.PAUSED, ExperimentState.WAITING)
    changed = _change(experiment, resting, ExperimentState.RUNNING)
    transaction.on_commit(wake_workers)
    return changed


def cancel_experiment(*, experiment: Experiment) -> bool:
    """No run of it starts any more, and those under way end at their next step.

    Runs that wait are ended by the next sweep, which is asked for. False if it was cancelled.
    """
    others = [state for state in ExperimentState if state != ExperimentState.CANCELLED]
    with transaction.atomic():
        changed = _change(experiment, others, ExperimentState.CANCELLED)
        Run.objects.filter(experiment=experiment).call_off()
        transaction.on_commit(ask_for_sweep)
    return changed


def plan_problem(plan: Plan) -> str | None:
    """Why the plan cannot run here, sites apart; None if it can."""
    try:
        demand_size(plan)
        _demand_runnable(plan)
    except PlanError as error:
        return str(error)
    return None


def _demand_runnable(plan: Plan) -> None:
    """Raises PlanError naming the first task that cannot run here; agents were made already."""
    for task in plan.tasks:
        if why := environment_problem(task):
            raise PlanError(why)


def late_responses(plan: Plan) -> list[str]:
    """A sentence for each response of the policy that comes too late for runs of the plan."""
    body = body_of(plan.policy) if plan.policy else None
    if body is None or body.recovery is None:
        return []
    most = body.run.steps
    asked = [plan.step_limit(task, agent) for task in plan.tasks for agent in plan.agents]
    limits = [min(limit, most or limit) for limit in asked]
    said = []
    for words, steps in _noticed_after(body.recovery):
        # With its last step a run ends, whatever is noticed then.
        late = sum(limit <= steps for limit in limits) * plan.trials
        if late:
            said.append(words % {"steps": steps, "late": late, "total": plan.n_runs})
    return said


def _noticed_after(policy: RecoveryPolicy) -> Iterator[tuple[str, int]]:
    """For each response, what to say of it, and the fewest steps that it takes."""
    if policy.on_loop is not AnomalyResponse.IGNORE:
        words = _(
            "The retry policy notices a loop after %(steps)d steps at the earliest: too late for "
            "%(late)d of %(total)d runs, whose step limit ends them by then."
        )
        yield words, policy.loop_shortest
    if policy.on_false_completion is not AnomalyResponse.IGNORE:
        words = _(
            "The retry policy notices repeated completion after %(steps)d steps at the earliest: "
            "too late for %(late)d of %(total)d runs, whose step limit ends them by then."
        )
        yield words, policy.false_completions


def _readiness(plan: Plan) -> tuple[ExperimentState, str]:
    """The state to start in, and which sites are waited for.

    Raises:
        PlanError: a task cannot run here, or a site is not ready and nobody wants to wait.
    """
    _demand_runnable(plan)
    # What is not stored yet, as its suite describes it: its sites above all.
    unready = unready_words(
        task if task.pk else Task(**task_columns(task_record(task_name(task))))
        for task in plan.tasks
    )
    if not unready:
        return ExperimentState.RUNNING, ""
    if plan.waits_for_sites:
        return ExperimentState.WAITING, unready
    raise PlanError(
        _("Not all sites are ready: %(sites)s. Try again later, or choose to wait for them.")
        % {"sites": unready}
    )


def _queue(plan: Plan, experiment: Experiment, token: UUID, user: User | None) -> None:
    """The rows, trial by trial, so that all agents get on alike."""
    tasks = [stored_task(task) for task in plan.tasks]
    agents = [store_agent(record) for record in plan.agents]
    background, usual = Run.Priority.BACKGROUND, Run.Priority.EXPERIMENT
    runs = (
        Run(
            # The same launch makes the same rows.
            pk=uuid.uuid5(token, f"{task.pk} {agent.pk} {trial}"),
            task=task,
            agent=agent,
            experiment=experiment,
            seed=plan.seeds.of(token, task, trial),
            trial=trial,
            max_steps=plan.step_limit(task, agent),
            policy=plan.policy,
            launch=token,
            source_format=OUR_FORMAT,
            priority=background if plan.in_background else usual,
            created_by=user,
            queued_at=Now(),
        )
        for trial in range(1, plan.trials + 1)
        for task in tasks
        for agent in agents
    )
    Run.objects.bulk_create(runs, batch_size=ROWS_PER_QUERY)


def stored_task(task: Task) -> Task:
    """The row of a task that may come from a suite alone."""
    return task if task.pk else store_task(task_record(task_name(task)))


def _change(experiment: Experiment, among: Iterable[str], state: ExperimentState) -> bool:
    rows = Experiment.objects.filter(pk=experiment.pk, state__in=among)
    return bool(rows.update(state=state, waits_because=""))


POLL_S = 1.0
AT_A_TIME = 50
"""So many runs are read of the queue at once; others may have taken them meanwhile."""

Watcher = Callable[[], None]


def carry_out_experiment(
    experiment: Experiment,
    *,
    takes_part: bool = True,
    should_stop: Callable[[], bool],
    on_change: Watcher,
) -> bool:
    """Until no run of it is to come, one run after the other; False if it was stopped before.

    A run that is under way is finished first. What another process left is taken up once its
    lease has run out, as a further attempt of the same trial.

    Args:
        takes_part: False leaves the runs to the workers, and only waits.
        on_change: called whenever a run may have ended.
    """
    while not should_stop():
        on_change()
        if not active_runs(experiment).exists():
            return True
        if Experiment.objects.get(pk=experiment.pk).state == ExperimentState.CANCELLED:
            return False
        if not takes_part or not _some(_due(experiment), should_stop, on_change):
            sweep_runs()
            time.sleep(POLL_S)
    on_change()
    return not active_runs(experiment).exists()


def active_runs(experiment: Experiment) -> QuerySet[Run]:
    return Run.objects.filter(experiment=experiment, status__in=RunStatus.active())


def _due(experiment: Experiment) -> list[UUID]:
    waiting = Run.objects.filter(experiment=experiment, status=RunStatus.QUEUED)
    return list(waiting.due().order_by("trial", "pk").values_list("pk", flat=True)[:AT_A_TIME])


def _some(due: list[UUID], should_stop: Callable[[], bool], on_change: Watcher) -> bool:
    """Whether any of them was there to be had."""
    found = False
    for run_id in due:
        if should_stop():
            break
        found = execute(run_id) or found
        on_change()
    return found
