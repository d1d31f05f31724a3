"""Benchmarks' files of tasks: which kind one is, and its tasks as records.

Recognised by content: WebArena's task file (`task_id`, `intent`, `eval` with `eval_types`) and
the WebArena-Verified dataset (`start_urls`, `revision`, `eval` as a list of evaluators). Both
are JSON arrays; what is not a column of ours is kept in the record's `extra`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import first_field_error

LARGEST_FILE = 256 * 1024 * 1024
"""Bytes."""
LONGEST_TASK = 4_000_000
"""Characters of JSON."""
DEEPEST = 64
SEVERAL_URLS = " |AND| "

Site = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TaskFileError(ValueError):
    """The file holds no tasks that can be read; the words name task, field and reason."""


class _Task(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    task_id: int = Field(ge=0)
    sites: list[Site]
    intent: Annotated[str, StringConstraints(min_length=1)]
    intent_template: str = ""


class _WebArenaTask(_Task):
    start_url: str
    eval: dict[str, JsonValue]


class _VerifiedTask(_Task):
    start_urls: list[str]
    eval: list[dict[str, JsonValue]]
    revision: int


_COLUMNS = {"task_id", "sites", "intent", "intent_template", "start_url", "start_urls", "eval"}


def read_task_file(path: Path, *, task_set: TaskSetRecord) -> Iterator[TaskRecord]:
    """The tasks of a file as records of this task set, in order, one at a time.

    Raises:
        TaskFileError: the file is of no known kind, or a task is not as it should be.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        yield from _tasks(content, task_set)
    except OSError as error:
        raise TaskFileError(f"{path}: {error.strerror or error}") from error
    except TaskFileError as error:
        raise TaskFileError(f"{path}: {error}") from error


def _tasks(content: bytes, task_set: TaskSetRecord) -> Iterator[TaskRecord]:
    items = _array(content)
    if not items:
        raise TaskFileError("the array holds no task")
    seen: dict[int, int] = {}
    for number, item in enumerate(items, start=1):
        task = _checked(item, number)
        if task.task_id in seen:
            raise TaskFileError(
                f"task {task.task_id} stands there twice, as item"
                f" {seen[task.task_id]} and as item {number}"
            )
        seen[task.task_id] = number
        yield _record(task, task_set)


def _array(content: bytes) -> list[Any]:
    """The items of the JSON array. Raises TaskFileError if it is none."""
    if len(content) > LARGEST_FILE:
        raise TaskFileError(f"is larger than {LARGEST_FILE} bytes")
    try:
        items = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except RecursionError:
        raise TaskFileError("is nested too deeply") from None
    except ValueError as error:
        raise TaskFileError(f"is no JSON: {error}") from error
    if not isinstance(items, list):
        raise TaskFileError("is no JSON array")
    return items


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}")


def _checked(item: Any, number: int) -> _WebArenaTask | _VerifiedTask:
    where = f"item {number}"
    if not isinstance(item, dict):
        raise TaskFileError(f"{where}: is no JSON object")
    if isinstance(item.get("task_id"), int):
        where = f"task {item['task_id']} ({where})"
    try:
        if storable_json(item, LONGEST_TASK, DEEPEST) != item:
            raise ValueError("holds characters or numbers that cannot be stored")
        return _kind(item).model_validate(item)
    except ValidationError as error:
        raise TaskFileError(f"{where}: {first_field_error(error)}") from error
    except ValueError as error:
        raise TaskFileError(f"{where}: {error}") from error


def _kind(item: dict[str, Any]) -> type[_WebArenaTask] | type[_VerifiedTask]:
    specification = item.get("eval")
    if isinstance(specification, dict) and isinstance(specification.get("eval_types"), list):
        return _WebArenaTask
    if isinstance(specification, list) and "start_urls" in item:
        return _VerifiedTask
    raise ValueError(
        "is no task of a known kind: WebArena's have eval.eval_types, WebArena-Verified's"
        " start_urls and a list of evaluators in eval"
    )


def _record(task: _WebArenaTask | _VerifiedTask, task_set: TaskSetRecord) -> TaskRecord:
    external_id = str(task.task_id)
    raw = task.model_dump(mode="json")
    extra = {name: value for name, value in raw.items() if name not in _COLUMNS}
    if isinstance(task, _WebArenaTask):
        start_urls = tuple(url for url in task.start_url.split(SEVERAL_URLS) if url)
        specification: dict[str, JsonValue] = task.eval
    else:
        start_urls = tuple(task.start_urls)
        specification = {"evaluators": list(task.eval)}
    return TaskRecord(
        id=bounded_name(f"{task_set.name}@{task_set.version}:{external_id}"),
        task_set=task_set,
        external_id=external_id,
        sites=tuple(task.sites),
        goal=(TextPart(text=task.intent),),
        start_urls=start_urls,
        intent_template=task.intent_template or None,
        eval=specification,
        extra=extra or None,
    )
