"""What of a run stands in rows, and which stored run a run that comes in is.

A stub becomes whole where its trajectory comes: it keeps its id and all verdicts on it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from runs.accounts.audit_log import record_entry
from runs.catalogue.milestones.services import store_milestones
from runs.catalogue.tasks.rows import differs, forget_named_only
from runs.exports.services import TASK_KEY, bundle_of
from runs.imports.session import ImportSession
from runs.knowledge.hints.of_runs import store_hints
from runs.models import Attachment, Event, Run, RunSpace, RunStatus, Step
from runs.models.audit_log import RUN_COMPLETED
from runs.models.extension import extension
from runs.models.policies import known_policy
from runs.storage.links import as_uuid
from runs.storage.records import EVALUATION_ROLE, attachment_rows, event_rows, run_columns, step_row
from runs.storage.stubs import run_of_names
from runs.storage.usage import demand_room
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.intake import Problem
from webagent.trajectory.records import EndReason

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
