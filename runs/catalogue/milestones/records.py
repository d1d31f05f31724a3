"""The milestones of tasks as runs carry them from one installation to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from pydantic import ValidationError

from runs.catalogue.milestones.definitions import MOST, definition_of, definitions_of
from runs.models import Milestone, Task
from runs.signals import announce_milestones
from webagent.field_errors import first_field_error
from webagent.milestones.definition import Definition, digest_of
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.records import MilestoneRecord


def milestone_records(task: Task) -> tuple[MilestoneRecord, ...] | None:
    """Those in force, in their order; None if there are none. Prefetch `milestones`."""
    in_force = [definition_of(row) for row in task.milestones.all() if row.removed_at is None]
    written = [one.model_dump(mode="json", exclude_none=True) for one in in_force]
    return tuple(map(MilestoneRecord.model_validate, written)) or None


def store_milestones(task: Task, bundle: RunBundle) -> list[Problem]:
    """Give a task that never had milestones those of the run's file. Inside a transaction.

    A task that has its own keeps them: people and judges have spoken of them.
    """
    if not bundle.task.milestones:
        return []
    try:
        milestones = _read(bundle.task.milestones)
    except ValueError as error:
        return [_problem(bundle, str(error))]
    if digest_of(milestones) == digest_of(definitions_of(task)):
        return []
    if task.milestones.exists():
        return [_problem(bundle, "the task has other milestones here, which stay")]
    Milestone.objects.bulk_create(
        Milestone(
            task=task,
            position=position,
            name=one.name,
            weight=one.weight,
            is_ordered=one.is_ordered,
            rule=one.rule.model_dump(exclude_none=True) if one.rule else None,
            origin=Milestone.Origin.IMPORTED,
        )
        for position, one in enumerate(milestones, start=1)
    )
    transaction.on_commit(partial(announce_milestones, Task, task.pk))
    return []


def _read(records: Sequence[MilestoneRecord]) -> list[Definition]:
    """Raises ValueError."""
    if len(records) > MOST:
        raise ValueError(f"more than {MOST} milestones")
    if len({record.name.strip() for record in records}) < len(records):
        raise ValueError("two milestones have the same name")
    try:
        return [
            Definition(
                name=record.name,
                weight=record.weight,
                is_ordered=record.is_ordered,
                rule=record.rule,
            )
            for record in records
        ]
    except ValidationError as error:
        raise ValueError(str(first_field_error(error))) from error


def _problem(bundle: RunBundle, reason: str) -> Problem:
    return Problem(bundle.source, f"task {bundle.task.external_id}"[:200], "milestones", reason)
