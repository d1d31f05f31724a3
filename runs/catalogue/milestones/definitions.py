"""The milestones of stored tasks, as the engine's definitions, and their file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from runs.interface.sentences import listed, worded
from runs.models import Milestone, Task
from webagent.environment.placeholders import resolve
from webagent.measures import first_repeated
from webagent.milestones.findings import Definition, digest_of

Place = tuple[int | str, ...]
LONGEST_NAME = 60


def _place(path: Place, content: bytes) -> str:
    """Such as `task 7, milestone 2 “The cart is open”, weight`; empty for the file as a whole."""
    if path[:1] != ("tasks",) or len(path) < 2:
        return ".".join(map(str, path))
    words = [_entry(_("task"), path[:2], "task", content)]
    rest = path[2:]
    if rest[:1] == ("milestones",) and len(rest) > 1:
        words.append(_entry(_("milestone"), path[:4], "name", content))
        rest = rest[2:]
    if rest:
        words.append(".".join(str(part) for part in rest))
    return listed(words)


def _entry(kind: str, path: Place, key: str, content: bytes) -> str:
    """An entry of a list by its number, counted from 1, and its name where it has one."""
    number = f"{kind} {int(path[-1]) + 1}"
    name = _found(content, (*path, key))
    if not isinstance(name, str) or not name.strip():
        return number
    return f"{number} “{name[:LONGEST_NAME]}”"


def _found(content: bytes, path: Place) -> object:
    """What stands at that place of the file; None where nothing does."""
    found: Any = json.loads(content)
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return cast("object", found)


def _reason(fault: ErrorDetails) -> str:
    context: Mapping[str, Any] = fault.get("ctx", {})
    words = _REASONS.get(fault["type"])
    return words(context) if words else str(fault["msg"])


def _not_a(kind: str) -> str:
    return worded(f"Input should be a valid {kind}")


_REASONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json_invalid": lambda said: _("Invalid JSON: %(why)s.") % {"why": said["error"]},
    "model_type": lambda _said: _not_a("object"),
    "tuple_type": lambda _said: _not_a("array"),
    "missing": lambda _said: _("Required."),
    "extra_forbidden": lambda _said: _("Unknown field."),
    "literal_error": lambda said: _("Must be %(expected)s.") % {"expected": said["expected"]},
    "union_tag_invalid": lambda said: (
        _("Unknown check “%(tag)s”; known: %(expected)s.")
        % {"tag": said["tag"], "expected": said["expected_tags"]}
    ),
    "union_tag_not_found": lambda _said: _("Name the check with “kind”."),
    "float_type": lambda _said: _not_a("number"),
    "float_parsing": lambda _said: _not_a("number"),
    "finite_number": lambda _said: _not_a("number"),
    "bool_type": lambda _said: _not_a("boolean"),
    "bool_parsing": lambda _said: _not_a("boolean"),
    "string_type": lambda _said: _not_a("string"),
    "string_too_short": lambda _said: _("Required."),
    "string_too_long": lambda said: (
        _("Longer than %(most)s characters.") % {"most": said["max_length"]}
    ),
    "too_long": lambda said: _("More than %(most)s.") % {"most": said["max_length"]},
    "greater_than": lambda said: _("Must be above %(limit)s.") % {"limit": f"{said['gt']:g}"},
    "less_than_equal": lambda said: _("Must be at most %(limit)s.") % {"limit": f"{said['le']:g}"},
    "value_error": lambda said: str(said["error"]),
}


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
        _demand_once(one.name for one in self.milestones)
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
        _demand_once(entry.task for entry in tasks)
        return tasks


def _demand_once(names: Iterable[str]) -> None:
    if (twice := first_repeated(names)) is not None:
        raise ValueError(_("“%(name)s” appears twice.") % {"name": twice})


def definition_of(row: Milestone) -> Definition:
    """The milestone as it is written down; placeholders of sites stay."""
    return Definition(name=row.name, weight=row.weight, is_ordered=row.is_ordered, rule=row.rule)


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
        fault = error.errors(include_url=False)[0]
        place, reason = _place(fault["loc"], content), _reason(fault)
        raise MilestoneFileError(f"{place}: {reason}" if place else reason) from None
