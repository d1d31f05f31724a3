"""A run that came in part: the whole one, sent later, takes its place and its address.

The whole is known by where it comes from (file, task, experiment, sender) and by what it says: all
that the part says, and more. A run that is judged here stays as it was, as in reading again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError

from runs.models import Run, RunStatus, Task, User
from runs.models.extension import Verdicts, extension
from runs.storage.usage import named_deleted
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.records import Outcome

MOST = 20
"""Runs of one name that are compared."""
UNKNOWN, INCOMPLETE = Outcome.UNKNOWN.value, Outcome.INCOMPLETE.value
_SAYS_NOTHING: tuple[object, ...] = (None, "unknown", "", [], {})
_FOLLOWS_FROM_REST = {"index", "run_id", "seconds", "point", "box", "coordinate_space"}
"""Fields of steps that follow from other steps and pictures, which the part may lack."""


def why_kept(run: Run) -> str:
    """Why the run may not be replaced; empty if it may."""
    if run.family or run.reruns.exists() or Run.objects.filter(retry_of=run).exists():
        return "it repeats a run, or others repeat it"
    return extension().verdicts.why_kept(run)


def make_way(
    bundle: RunBundle, experiment: str | None, user: User | None
) -> tuple[Run, Verdicts] | None:
    """Delete the part of this run that is here, for the whole one to be stored in its place.

    Inside the transaction that stores the whole one.

    Returns:
        the part as it was and what imports said of it; None if none is here, or it has to stay.
    """
    for run in _of_its_name(bundle, experiment, user):
        if _is_part(run, bundle) and not why_kept(run):
            try:
                with transaction.atomic():
                    said = extension().verdicts.release(run)
                    with named_deleted(run, "all of it was sent"):
                        Run.objects.filter(pk=run.pk).delete()
            except ProtectedError:  # hints or knowledge were made from it
                return None
            return run, said
    return None


def with_verdicts(read: RunBundle, said: Verdicts) -> RunBundle:
    """The run as it was read now, and what earlier imports said of it after that."""
    return replace(
        read,
        evaluations=(*read.evaluations, *said.evaluations),
        labels=(*read.labels, *said.labels),
        adjudications=(*read.adjudications, *said.adjudications),
    )


def has_namesakes(bundles: Sequence[RunBundle], experiment: str | None, user: User | None) -> bool:
    """Whether runs of the person come from where one of these comes from: parts, perhaps.

    The tasks are looked up first, and what else is indexed is compared here: SQLite would go
    through all runs of the person or the experiment.
    """
    runs, tasks = [each.run for each in bundles], [each.task for each in bundles]
    known = Task.objects.filter(
        task_set__name__in={task.task_set.name for task in tasks},
        task_set__version__in={task.task_set.version for task in tasks},
        external_id__in={task.external_id for task in tasks},
    )
    here = Run.objects.filter(
        task__in=list(known.values_list("pk", flat=True)),
        source_format__in={run.source.format for run in runs},
        trial__in={run.trial for run in runs},
        attempt__in={run.attempt for run in runs},
        record__id__in=[run.id for run in runs],
    )
    whose = here.order_by().values_list("experiment__name", "created_by")
    return (experiment, user and user.pk) in set(whose)


def _of_its_name(bundle: RunBundle, experiment: str | None, user: User | None) -> list[Run]:
    run, task = bundle.run, bundle.task
    found = Run.objects.filter(
        task__external_id=task.external_id,
        task__task_set__name=task.task_set.name,
        task__task_set__version=task.task_set.version,
        source_format=run.source.format,
        experiment__name=experiment,
        created_by=user,
        trial=run.trial,
        attempt=run.attempt,
        status__in=RunStatus.ended(),
        record__id=run.id,
    )
    newest = found.order_by("-created_at")[:MOST].values_list("pk", flat=True)
    return [Run.objects.get(pk=pk) for pk in newest]  # of most runs there is none


def _is_part(run: Run, whole: RunBundle) -> bool:
    """Whether every step of the run is one of the whole, and the run has more gaps or no end.

    One that was carried out again says other things: its times, pictures or words differ.
    """
    steps = [step.to_record().to_json() for step in run.steps.order_by("index").iterator()]
    if not steps or len(steps) > len(whole.steps):
        return False
    gaps = sum(gap.get("count") or 1 for gap in run.record.get("gaps", ()))
    has_no_end = len(steps) < len(whole.steps) and run.outcome in (UNKNOWN, INCOMPLETE)
    lacks = has_no_end or gaps > sum(gap.count or 1 for gap in whole.run.gaps)
    return lacks and _holds([step.to_json() for step in whole.steps], steps)


def _holds(whole: Any, part: Any) -> bool:
    """Whether a JSON value says all that another says: lists may have more in between."""
    if part in _SAYS_NOTHING:
        return True
    if isinstance(part, dict) and isinstance(whole, dict):
        keys = part.keys() - _FOLLOWS_FROM_REST
        return all(_holds(whole.get(key), part[key]) for key in keys)
    if isinstance(part, list) and isinstance(whole, list):
        rest = iter(whole)
        return all(any(_holds(item, wanted) for item in rest) for wanted in part)
    return bool(whole == part)
