"""Runs as logs to learn from: rows in, no verdict out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models import QuerySet

from runs.models import Run, RunStatus, Step
from webagent.knowledge.run_log import RunLog, log_of

AT_A_TIME = 50


def runs_to_learn_from(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those that have ended and did something, whatever came of them; replaced attempts too."""
    return runs.filter(status__in=RunStatus.ended(), n_steps__gt=0)


def logs_of(run_ids: Sequence[UUID]) -> Iterator[RunLog]:
    """The logs of these runs, in their order; runs that are gone are left out."""
    for start in range(0, len(run_ids), AT_A_TIME):
        part = run_ids[start : start + AT_A_TIME]
        # Only what a log is made of: outcome, reward and evidence are not even read.
        runs = Run.objects.select_related("task__task_set").only(
            "goal",
            *(
                f"task__{name}"
                for name in ("goal", "site", "sites", "external_id", "task_set__name")
            ),
        )
        found = runs.in_bulk(part)
        steps = _steps_of(found)
        for run_id in part:
            if run_id in found:
                yield _log(found[run_id], steps[run_id])


def site_of(run: Run) -> str:
    """The site that the run's task is on, several joined by +; its task set where it names none."""
    sites = [str(site) for site in run.task.sites]
    return "+".join(sites) or run.task.site or run.task.task_set.name


def _log(run: Run, steps: Sequence[Step]) -> RunLog:
    return log_of(
        str(run.pk),
        f"{run.task.task_set_id} {run.task.external_id}",
        run.goal or run.task.goal,
        [step.to_record() for step in steps],
        site=site_of(run),
    )


def _steps_of(run_ids: Iterable[UUID]) -> dict[UUID, list[Step]]:
    steps: dict[UUID, list[Step]] = defaultdict(list)
    rows = Step.objects.filter(run__in=list(run_ids)).only("run", "index", "record")
    for step in rows.order_by("run", "index"):
        steps[step.run_id].append(step)
    return steps
