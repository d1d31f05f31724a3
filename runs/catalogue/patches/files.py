"""Task patches as files: where they lie, how they are read, and written for people to edit."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from runs.catalogue.patches.changes import Change, Replace
from runs.models import TaskRevision
from webagent.trajectory.texts import storable_json

SHIPPED = Path(__file__).parent
"""Patches that come with Crosscheck; named without folder and ending."""
LARGEST_FILE = 16 * 1024 * 1024
"""Bytes."""
MOST_ENTRIES = 100_000
SHOWN_PROBLEMS = 20

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Sentence = Annotated[str, StringConstraints(min_length=10, max_length=4000, strip_whitespace=True)]


class PatchFileError(ValueError):
    """The file is no task patch; the words name file, entry, field and reason."""


class PatchHead(BaseModel):
    """What the patch is and between which versions of which set it leads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    version: Name
    task_set: Name
    from_version: Name
    to_version: Name
    author: Name
    licence: Name
    about: str = ""

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if self.from_version == self.to_version:
            raise ValueError("to_version must differ from from_version")
        return self


class PatchEntry(BaseModel):
    """What changes in one task, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: Name
    category: TaskRevision.Category
    why: Sentence
    changes: Annotated[tuple[Change, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _says_infeasible_where_it_is(self) -> Self:
        given = any(
            change.path == "/infeasible_reason" and isinstance(change, Replace) and change.new
            for change in self.changes
        )
        if given != (self.category == "infeasible"):
            raise ValueError("an infeasible task, and no other, gets an /infeasible_reason")
        return self


class TaskPatch(BaseModel):
    """A whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["crosscheck-task-patch"]
    format_version: Literal[1]
    head: PatchHead
    entries: Annotated[tuple[PatchEntry, ...], Field(min_length=1, max_length=MOST_ENTRIES)]

    @model_validator(mode="after")
    def _names_each_task_once(self) -> Self:
        counts = Counter(entry.task for entry in self.entries)
        if twice := [task for task, count in counts.items() if count > 1]:
            raise ValueError(f"more than one entry for task {', '.join(twice[:SHOWN_PROBLEMS])}")
        return self

    @property
    def hash(self) -> str:
        """SHA-256 of the content, however the file is laid out."""
        spelled = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()


def patch_path(file: str) -> Path:
    """The file of that name, or the one that comes with Crosscheck under it."""
    shipped = SHIPPED / f"{file}.json"
    is_name = "/" not in file and not Path(file).exists()
    return shipped if is_name and shipped.is_file() else Path(file)


def read_patch(path: Path) -> TaskPatch:
    """The patch in a file.

    Raises:
        PatchFileError: it cannot be read, or holds something else.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise PatchFileError(f"{path}: {error.strerror or error}") from error
    if len(content) > LARGEST_FILE:
        raise PatchFileError(f"{path}: is larger than {LARGEST_FILE} bytes")
    return parse_patch(content, str(path))


def parse_patch(content: bytes, name: str) -> TaskPatch:
    """The patch in these bytes; `name` is what errors call them. Raises PatchFileError."""
    try:
        value = json.loads(content)
        if storable_json(value, LARGEST_FILE) != value:
            raise ValueError("it holds characters or numbers that cannot be stored")
    except (ValueError, RecursionError) as error:
        raise PatchFileError(f"{name}: is not JSON: {error}") from error
    try:
        return TaskPatch.model_validate(value)
    except ValidationError as error:
        problems = [_problem(item["loc"], item["msg"], value) for item in error.errors()]
        lines = "\n".join(f"{name}: {problem}" for problem in problems[:SHOWN_PROBLEMS])
        more = len(problems) - SHOWN_PROBLEMS
        raise PatchFileError(lines + (f"\nand {more} more" if more > 0 else "")) from error


def _problem(place: tuple[int | str, ...], reason: str, value: object) -> str:
    """Entry, field and reason in words."""
    if place[:1] == ("entries",) and len(place) > 1 and isinstance(place[1], int):
        task = _task_of(value, place[1])
        named = f" (task {task})" if task else ""
        field = ".".join(map(str, place[2:]))
        return f"entry {place[1] + 1}{named}: {field}: {reason}".replace(": :", ":")
    field = ".".join(map(str, place))
    return f"{field}: {reason}" if field else reason


def _task_of(value: object, index: int) -> str:
    entries = value.get("entries") if isinstance(value, dict) else None
    entry = entries[index] if isinstance(entries, list) and index < len(entries) else None
    return str(entry.get("task", ""))[:200] if isinstance(entry, dict) else ""


def patch_text(patch: TaskPatch) -> str:
    """The file's text: a few lines an entry, so that a change to one is a small difference."""
    said = {"format": patch.format, "format_version": patch.format_version}
    head = json.dumps(patch.head.model_dump(), ensure_ascii=False, indent=2)
    lines = ["{", *(f" {_json(key)}: {_json(value)}," for key, value in said.items())]
    lines += [f' "head": {head},', ' "entries": [']
    return "\n".join([*lines, ",\n".join(map(_entry, patch.entries)), " ]", "}", ""])


def _entry(entry: PatchEntry) -> str:
    changes = ",\n    ".join(
        _json(change.model_dump(mode="json", by_alias=True)) for change in entry.changes
    )
    return (
        f'  {{"task": {_json(entry.task)}, "category": {_json(str(entry.category))},\n'
        f'   "why": {_json(entry.why)},\n   "changes": [{changes}]}}'
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
