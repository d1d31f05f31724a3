"""`manage.py import_tasks FILE --set NAME --version VERSION`: bring a benchmark's tasks in.

Files are recognised by content: WebArena's task file (`task_id`, `intent`, `eval` with
`eval_types`) and the WebArena-Verified dataset (`start_urls`, `revision`, `eval` as a list of
evaluators). Both are JSON arrays; what is not a column of ours is kept in the record's `extra`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from runs.catalogue.tasks.rows import TaskSetError, TaskSetReport, import_tasks
from runs.models import Task
from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import first_field_error


class TaskSetCommand(BaseCommand):
    """A command whose `--version` is that of a task set."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version would be in the way of the task set's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)


class Command(TaskSetCommand):
    help = (
        "Import WebArena's task file or WebArena-Verified's dataset. All tasks are stored or none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--set", dest="name", default="webarena", metavar="NAME")
        parser.add_argument("--version", dest="set_version", default="raw", metavar="VERSION")

    def handle(self, *, file: Path, name: str, set_version: str, **_: Any) -> None:
        task_set = _task_set(name, set_version)
        records = read_task_file(file, task_set=task_set)
        try:
            report = import_tasks(records=records, task_set=task_set, hosts=settings.SITE_HOSTS)
        except (TaskFileError, TaskSetError) as error:
            raise CommandError(str(error)) from None
        self._print(report, f"{name} {set_version}")
        self._hint(name)

    def _print(self, report: TaskSetReport, task_set: str) -> None:
        self.stdout.write(
            f"{task_set}: {report.total} tasks. New: {report.new}. Filled in, known from runs"
            f" alone before: {report.filled}. Already there: {report.already_there}."
        )
        self._count("by site", report.by_site)
        self._count("by evaluation", report.by_kind)

    def _count(self, title: str, counts: Counter[str]) -> None:
        self.stdout.write(f"  {title}")
        for name, count in counts.most_common():
            self.stdout.write(f"    {count:>5}  {name}")

    def _hint(self, name: str) -> None:
        """Say which versions of the set have runs on tasks that nothing is known of."""
        unknown = (
            Task.objects.filter(task_set__name=name, spec__isnull=True, runs__isnull=False)
            .values_list("task_set__version")
            .annotate(n=Count("pk", distinct=True))
            .order_by("task_set__version")
        )
        for version, count in unknown:
            self.stdout.write(
                self.style.WARNING(
                    f"  {count} tasks of {name} {version} came with runs, without a"
                    f" specification; import the file with --version {version} too"
                )
            )


def _task_set(name: str, version: str) -> TaskSetRecord:
    for option, value in (("--set", name), ("--version", version)):
        if not value.strip() or len(value) > 200:
            raise CommandError(f"{option} must have 1 to 200 characters")
    return TaskSetRecord(name=name, version=version)


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
