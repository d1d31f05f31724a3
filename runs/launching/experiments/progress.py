"""How far an experiment is, as far as the person may know."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Avg, Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from runs.launching.reruns.pages import LiveRun, wall_of
from runs.models import Experiment, ExperimentState, RetryPolicy, Run, RunStatus, User
from runs.models.visibility import visibility_of


@dataclass(slots=True, kw_only=True)
class Progress:
    """Counts of runs, each trial once. `left_s` is None where it cannot be told."""

    experiment: Experiment
    done: int = 0
    running: int = 0
    queued: int = 0
    errors: int = 0
    """Of those done, how many ended in an error that nobody tries again."""
    cancelled: int = 0
    left_s: float | None = None
    spent: RetryPolicy | None = None
    """The policy whose limits per launch let no further run start."""
    wall: list[LiveRun] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.done + self.running + self.queued + self.cancelled

    @property
    def moves(self) -> bool:
        """Whether it will look different in a while without anybody doing anything."""
        if self.running:
            return True
        return bool(self.queued) and self.experiment.state != ExperimentState.PAUSED

    @property
    def state(self) -> str:
        """The experiment's state, or `finished`."""
        if self.experiment.state == ExperimentState.CANCELLED or self.running or self.queued:
            return self.experiment.state
        return "finished"

    @property
    def state_words(self) -> str:
        return _("finished") if self.state == "finished" else str(ExperimentState(self.state).label)

    @property
    def can_pause(self) -> bool:
        return bool(self.queued) and self.experiment.state == ExperimentState.RUNNING

    @property
    def can_resume(self) -> bool:
        return self.experiment.state in (ExperimentState.PAUSED, ExperimentState.WAITING)

    @property
    def can_cancel(self) -> bool:
        is_cancelled = self.experiment.state == ExperimentState.CANCELLED
        return bool(self.running or self.queued) and not is_cancelled


def progress_of(experiment: Experiment, user: User) -> Progress:
    """Progress of one experiment, with all that its page shows. Seven queries."""
    (progress,) = progress_of_each([experiment], user)
    # Whose experiment the person may know.
    known = Run.objects.visible_to(user).latest_attempts().not_anonymous()
    runs = known.filter(experiment=experiment)
    if progress.running:
        progress.wall = wall_of(runs, user)
    if progress.moves:
        progress.left_s = _time_left(progress, runs)
    if progress.cancelled:
        progress.spent = _spent_policy(runs.not_blind())
    return progress


def progress_of_each(experiments: Iterable[Experiment], user: User) -> list[Progress]:
    """Counts of several experiments. One query."""
    found = {experiment.pk: Progress(experiment=experiment) for experiment in experiments}
    shown: QuerySet[Any] = Run.objects.visible_with(visibility_of(user)).not_anonymous()
    # SQLite finds "in" by the index `run_counted`, which holds all that is counted, and not "NOT".
    counted = (
        shown.filter(experiment__in=found, superseded__in=[False])
        .order_by()
        .values_list("experiment", "status", "shown_outcome")
        .annotate(n=Count("*"))
    )
    for pk, status, outcome, n in counted:
        _count(found[pk], status, outcome, n)
    return list(found.values())


def _count(progress: Progress, status: str, outcome: str | None, n: int) -> None:
    if status == RunStatus.QUEUED:
        progress.queued += n
    elif status in RunStatus.active():
        progress.running += n
    # That a run broke or was cancelled is its outcome, which a blind person does not see.
    elif status == RunStatus.CANCELLED and outcome is not None:
        progress.cancelled += n
    else:
        progress.done += n
        progress.errors += n if outcome == Run.Outcome.ERROR else 0


def _spent_policy(runs: QuerySet[Run]) -> RetryPolicy | None:
    """Whose limits refused a run its start; see `starting.refuse_beyond_budget`."""
    refused = runs.filter(status=RunStatus.CANCELLED, end_reason=Run.EndReason.NEVER_STARTED)
    return RetryPolicy.objects.filter(pk__in=refused.values("policy")).first()


def _time_left(progress: Progress, runs: QuerySet[Run]) -> float | None:
    """By the mean length of the runs that have ended, and how many are under way at a time."""
    ended = Q(status=RunStatus.FINISHED, seconds__isnull=False)
    usual = runs.filter(ended).order_by().aggregate(mean=Avg(F("seconds")))["mean"]
    if usual is None or not progress.running or progress.state == ExperimentState.PAUSED:
        return None
    return float(usual) * (progress.queued + progress.running / 2) / progress.running
