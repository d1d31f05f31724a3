"""What of a run stands in rows, and where its file says more than the database takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from runs.catalogue.milestones.services import store_milestones
from runs.catalogue.tasks.rows import differs
from runs.exports.run_bundles import TASK_KEY
from runs.imports.session import ImportSession
from runs.knowledge.hints.writing import store_hints
from runs.models import Attachment, Event, Run, RunStatus, Step
from runs.models.extension import extension
from runs.models.policies import known_policy
from runs.storage.records import EVALUATION_ROLE, attachment_rows, event_rows, run_columns, step_row
from runs.storage.usage import demand_room
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.records import EndReason


@dataclass(frozen=True, slots=True)
class RunParts:
    """Rows of a run beside its own, not saved."""

    steps: Sequence[Step]
    attachments: Sequence[Attachment]
    events: Sequence[Event]


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


def _attachments(run_id: UUID, bundle: RunBundle, steps: list[Step]) -> Iterator[Attachment]:
    yield from attachment_rows(run_id, bundle.task)
    yield from attachment_rows(run_id, bundle.run)
    for record, row in zip(bundle.steps, steps, strict=True):
        yield from attachment_rows(run_id, record, row)
    for evaluation in bundle.evaluations:
        for attachment in attachment_rows(run_id, evaluation):
            attachment.role = EVALUATION_ROLE
            yield attachment
