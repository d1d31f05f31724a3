"""The milestones of stored tasks, as the engine's definitions, and their file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from django.utils.translation import gettext as _
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from runs.catalogue.milestones.faults import first_fault
from runs.models import Milestone, Task
from webagent.milestones.definition import Definition, digest_of
from webagent.placeholders import resolve
from webagent.sequence_matching import first_repeated

FORMAT: Literal["crosscheck-milestones"] = "crosscheck-milestones"
MOST = 100
"""Milestones of one task."""


class MilestoneFileError(ValueError):
    """The file cannot be read; the words say where and why."""


class SetName(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str


class TaskMilestones(BaseModel):
    """The milestones of one task, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    """The task's id in its set."""
    milestones: Annotated[tuple[Definition, ...], Field(max_length=MOST)]

    @model_validator(mode="after")
    def _named_once(self) -> TaskMilestones:
        names = [one.name for one in self.milestones]
        if (twice := first_repeated(names)) is not None:
            raise ValueError(_("Two of its milestones have the name “%(name)s”.") % {"name": twice})
        return self


class MilestoneFile(BaseModel):
    """Milestones of tasks of one set, as they are written to a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["crosscheck-milestones"] = FORMAT
    format_version: Literal[1] = 1
    task_set: SetName
    tasks: tuple[TaskMilestones, ...]

    @field_validator("tasks")
    @classmethod
    def _told_once(cls, tasks: tuple[TaskMilestones, ...]) -> tuple[TaskMilestones, ...]:
        ids = [entry.task for entry in tasks]
        if (twice := first_repeated(ids)) is not None:
            raise ValueError(_("It says twice what task %(id)s has.") % {"id": twice})
        return tasks


def definition_of(row: Milestone) -> Definition:
    """The milestone as it is written down; placeholders of sites stay."""
    return Definition.model_validate(
        {
            "name": row.name,
            "weight": row.weight,
            "is_ordered": row.is_ordered,
            "rule": row.rule,
        }
    )


def definitions_of(task: Task) -> tuple[Definition, ...]:
    """The task's milestones in force, in order."""
    return tuple(map(definition_of, task.milestones.in_force()))


def resolved(milestones: Sequence[Definition], hosts: Mapping[str, str]) -> tuple[Definition, ...]:
    """The milestones with `__SHOPPING__` and the like replaced in their checks."""
    return tuple(
        milestone
        if milestone.rule is None
        else Definition.model_validate(
            milestone.model_dump() | {"rule": resolve(milestone.rule.model_dump(), hosts)}
        )
        for milestone in milestones
    )


def digest_of_task(task: Task) -> str:
    """A hash of the task's milestones in force; it changes whenever they do."""
    return digest_of(definitions_of(task))


def milestone_file(name: str, version: str, tasks: Iterable[Task]) -> MilestoneFile:
    """The file of these tasks; those without milestones are left out. Prefetch `milestones`."""
    entries = []
    for task in tasks:
        rows = [row for row in task.milestones.all() if row.removed_at is None]
        if rows:
            milestones = tuple(map(definition_of, rows))
            entries.append(TaskMilestones(task=task.external_id, milestones=milestones))
    return MilestoneFile(task_set=SetName(name=name, version=version), tasks=tuple(entries))


def written_file(file: MilestoneFile) -> str:
    """The file's text: indented JSON, without what has no value."""
    return file.model_dump_json(indent=1, exclude_none=True) + "\n"


def read_file(content: bytes) -> MilestoneFile:
    """The file, checked.

    Raises:
        MilestoneFileError: naming the first place that is wrong.
    """
    try:
        return MilestoneFile.model_validate_json(content)
    except ValidationError as error:
        raise MilestoneFileError(first_fault(error, content)) from None
