"""Benchmarks' files of tasks: which kind one is, and its tasks as records.

Recognised by content: WebArena's task file (`task_id`, `intent`, `eval` with `eval_types`) and
the WebArena-Verified dataset (`start_urls`, `revision`, `eval` as a list of evaluators). Both
are JSON arrays; what is not a column of ours is kept in the record's `extra`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import first_field_error

CHUNK = 256 * 1024
"""Characters."""

_BLANKS = " \t\r\n"
_OF_NUMBERS = "0123456789.eE+-"
"""Holds the empty string too, which is what the end of the text reads as."""


class ArrayError(ValueError):
    """The file is no JSON array, or an item of it is too large."""


def array_items(file: TextIO, *, longest: int) -> Iterator[Any]:
    """The items of the JSON array that the file holds, in order.

    Args:
        longest: characters that one item may have.

    Raises:
        ArrayError: it is no array, breaks off, goes on after its end, or an item is too long,
            nested too deeply or holds NaN.
    """
    reader = _Reader(file, longest)
    reader.take("[")
    if reader.peek() == "]":
        reader.take("]")
    else:
        yield reader.item()
        while reader.peek() == ",":
            reader.take(",")
            yield reader.item()
        reader.take("]")
    if reader.peek():
        reader.fail("there is more after the end of the array")


class _Reader:
    def __init__(self, file: TextIO, longest: int) -> None:
        self.file = file
        self.longest = longest
        self.text = ""
        self.at = 0
        self.count = 0
        self.decoder = json.JSONDecoder(parse_constant=_refuse)

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANKS:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        found = self.peek()
        if found != wanted:
            self.fail(f"expected {wanted!r}, found {found!r}" if found else "it breaks off")
        self.at += 1

    def item(self) -> Any:
        """The next value. Tries with twice the text each time, so that work stays linear."""
        if not self.peek():
            self.fail("it breaks off")
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except (json.JSONDecodeError, RecursionError) as error:
                self._grow(error)
                continue
            except ValueError as error:
                self.fail(str(error))
            if self.text[end : end + 1] in _OF_NUMBERS and self._more():
                continue  # a number may go on
            self.at = end
            self.count += 1
            return value

    def _grow(self, error: Exception) -> None:
        """As much text again as there is, unless that cannot help."""
        waiting = len(self.text) - self.at
        if isinstance(error, RecursionError):
            self.fail("it is nested too deeply")
        if waiting > self.longest:
            self.fail(f"it is longer than {self.longest} characters, or no JSON")
        if not self._more(max(CHUNK, waiting)):
            self.fail(f"it is no JSON: {error}")

    def _more(self, characters: int = CHUNK) -> bool:
        try:
            read = self.file.read(characters)
        except UnicodeDecodeError as error:
            self.fail(f"it is no UTF-8: {error}")
        self.text = self.text[self.at :] + read
        self.at = 0
        return bool(read)

    def fail(self, reason: str) -> NoReturn:
        where = f"item {self.count + 1}" if self.count else "the array"
        raise ArrayError(f"{where}: {reason}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


LONGEST_TASK = 4_000_000
"""Characters of JSON."""
MOST_TASKS = 1_000_000
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
        with path.open(encoding="utf-8-sig") as file:
            yield from _tasks(file, task_set)
    except OSError as error:
        raise TaskFileError(f"{path}: {error.strerror or error}") from error
    except (ArrayError, TaskFileError) as error:
        raise TaskFileError(f"{path}: {error}") from error


def _tasks(file: TextIO, task_set: TaskSetRecord) -> Iterator[TaskRecord]:
    seen: dict[int, int] = {}
    number = 0
    for number, item in enumerate(array_items(file, longest=LONGEST_TASK), start=1):
        if number > MOST_TASKS:
            raise TaskFileError(f"there are more than {MOST_TASKS} tasks")
        task = _checked(item, number)
        if task.task_id in seen:
            raise TaskFileError(
                f"task {task.task_id} stands there twice, as item"
                f" {seen[task.task_id]} and as item {number}"
            )
        seen[task.task_id] = number
        yield _record(task, task_set)
    if not number:
        raise TaskFileError("the array holds no task")


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
