"""What of a run stands in rows, and which stored run a run that comes in is.

A stub becomes whole where its trajectory comes: it keeps its id and all verdicts on it. The place
and the address of a part are taken by the whole run, which is known by where it comes from (file,
task, experiment, sender) and by what it says: all that the part says, and more. A part that is
judged here stays as it was, as in reading again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from runs.accounts.audit_log import record_entry
from runs.catalogue.milestones.services import store_milestones
from runs.catalogue.tasks.rows import differs, forget_named_only
from runs.exports.services import TASK_KEY, bundle_of
from runs.imports.session import ImportSession
from runs.knowledge.hints.of_runs import store_hints
from runs.models import Attachment, Event, Run, RunSpace, RunStatus, Step, Task, User
from runs.models.audit_log import RUN_COMPLETED
from runs.models.extension import Verdicts, extension
from runs.models.policies import known_policy
from runs.storage.links import as_uuid, run_of_names
from runs.storage.records import EVALUATION_ROLE, attachment_rows, event_rows, run_columns, step_row
from runs.storage.usage import demand_room, named_deleted
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.intake import Problem
from webagent.trajectory.records import EndReason, Outcome

_OWN = ("step_index", "role", "name", "blob_id")


@dataclass(frozen=True, slots=True)
class RunParts:
    """Rows of a run beside its own, not saved."""

    steps: Sequence[Step]
    attachments: Sequence[Attachment]
    events: Sequence[Event]


def stored_run(bundle: RunBundle, content_hash: str) -> Run | None:
    """The run with this content, if it is here.

    One that a dead worker left has no hash in its row: it is known by its id and compared. A stub
    is known by its names, though its trajectory may be here by now.
    """
    # A key is asked for first: of most runs that come in there is none.
    if found := Run.objects.filter(content_hash=content_hash).values_list("pk", flat=True)[:1]:
        return Run.objects.get(pk=found[0])
    if bundle.run.stub:
        return run_of_names(bundle.run.stub)
    own = as_uuid(bundle.run.id)
    unhashed = Run.objects.ended().filter(content_hash=None)
    left = unhashed.filter(pk=own).first() if own else None
    return left if left and bundle_of(left).content_hash == content_hash else None


def is_stored(bundle: RunBundle) -> bool:
    """Whether a run with this content is here."""
    return stored_run(bundle, bundle.content_hash) is not None


def parts_of(run_id: UUID, bundle: RunBundle) -> RunParts:
    """The rows for this run. Asks the database nothing."""
    steps = [step_row(run_id, step) for step in bundle.steps]
    attachments = list(_attachments(run_id, bundle, steps))
    return RunParts(steps, attachments, list(event_rows(run_id, bundle.run.events)))


def insert_parts(parts: Iterable[RunParts]) -> None:
    """Save the rows, of all runs at once. Inside a transaction, after the runs' own."""
    parts = list(parts)
    Step.objects.bulk_create(chain.from_iterable(each.steps for each in parts))
    Attachment.objects.bulk_create(chain.from_iterable(each.attachments for each in parts))
    Event.objects.bulk_create(chain.from_iterable(each.events for each in parts))


def problems_with(run: Run, bundle: RunBundle, *, was_stub: bool = False) -> list[Problem]:
    """Store what was said of the run and its task; what of that cannot be taken."""
    return [
        *store_milestones(run.task, bundle),
        *store_hints(run, bundle),
        *(extension().verdicts.completed(run, bundle) if was_stub else ()),
        *extension().verdicts.store(run, bundle),
    ]


def columns_of(
    bundle: RunBundle, experiment_name: str | None, session: ImportSession
) -> dict[str, Any]:
    """The run's own columns; its task, agent and experiment are made where they are new.

    Raises:
        QuotaError: the experiment has no room for it.
    """
    # Milestones stand in rows of their own.
    described = bundle.task.model_copy(update={"milestones": None})
    task = session.task(described)
    columns = run_columns(bundle.run, described.goal)
    if differs(task, described):
        columns["record"][TASK_KEY] = plain_json(described)
    experiment = session.experiment(experiment_name or bundle.run.experiment)
    demand_room(experiment, n_runs=1, n_bytes=n_bytes(bundle))
    cancelled = bundle.run.end_reason == EndReason.CANCELLED
    return {
        "task": task,
        "agent": session.agent(bundle.run),
        "experiment": experiment,
        "policy": known_policy(bundle.run.extra),
        "status": RunStatus.CANCELLED if cancelled else RunStatus.FINISHED,
        "n_steps": len(bundle.steps),
        "n_screenshots": bundle.n_screenshots,
        "content_hash": bundle.content_hash,
        **columns,
    }


def n_bytes(bundle: RunBundle) -> int:
    """Of its files, each once."""
    return sum({blob.sha256: blob.bytes for blob in bundle.blob_records()}.values())


def made_whole(stub: Run, columns: dict[str, Any]) -> Run:
    """The stub with the columns of its whole run; the database permits it once.

    Inside a transaction, with the stub's row locked.

    Raises:
        IntegrityError: another import was first.
    """
    given = columns | ({} if columns["experiment"] else {"experiment": stub.experiment})
    if not Run.objects.filter(pk=stub.pk, is_stub=True).update(**given, is_stub=False):
        raise IntegrityError("another import made the stub whole")
    forget_named_only(stub.task, given["task"])
    RunSpace.objects.filter(run=stub.pk).delete()
    run = Run.objects.select_related("task__task_set", "agent", "experiment").get(pk=stub.pk)
    record_entry(RUN_COMPLETED, about=run, words=f"{run.agent} {run.task.external_id}"[:200])
    return run


def new_attachments(run: Run, found: Iterable[Attachment]) -> list[Attachment]:
    """Those that a stub did not have before."""
    known = set(Attachment.objects.filter(run=run).values_list(*_OWN)) if run.stub_key else set()
    return [row for row in found if tuple(getattr(row, name) for name in _OWN) not in known]


def _attachments(run_id: UUID, bundle: RunBundle, steps: list[Step]) -> Iterator[Attachment]:
    yield from attachment_rows(run_id, bundle.task)
    yield from attachment_rows(run_id, bundle.run)
    for record, row in zip(bundle.steps, steps, strict=True):
        yield from attachment_rows(run_id, record, row)
    for evaluation in bundle.evaluations:
        for attachment in attachment_rows(run_id, evaluation):
            attachment.role = EVALUATION_ROLE
            yield attachment


MOST_NAMESAKES = 20
"""Runs of one name that are compared."""
_WITHOUT_END = (Outcome.UNKNOWN.value, Outcome.INCOMPLETE.value)
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
                    return run, take_away(run, "all of it was sent")
            except ProtectedError:  # hints or knowledge were made from it
                return None
    return None


def take_away(run: Run, why: str) -> Verdicts:
    """Delete the run, for what was read now to be stored in its place; what imports said of it.

    Inside the transaction that stores it.

    Raises:
        ProtectedError: something that must not be lost refers to the run.
    """
    said = extension().verdicts.release(run)
    with named_deleted(run, why):
        Run.objects.filter(pk=run.pk).delete()
    return said


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
    newest = found.order_by("-created_at")[:MOST_NAMESAKES].values_list("pk", flat=True)
    return [Run.objects.get(pk=pk) for pk in newest]  # of most runs there is none


def _is_part(run: Run, whole: RunBundle) -> bool:
    """Whether every step of the run is one of the whole, and the run has more gaps or no end.

    One that was carried out again says other things: its times, pictures or words differ.
    """
    steps = [step.to_record().to_json() for step in run.steps.order_by("index").iterator()]
    if not steps or len(steps) > len(whole.steps):
        return False
    gaps = sum(gap.get("count") or 1 for gap in run.record.get("gaps", ()))
    has_no_end = len(steps) < len(whole.steps) and run.outcome in _WITHOUT_END
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
