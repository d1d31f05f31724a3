"""Tasks as rows: made of their records and back, one by one or a whole file at once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import IntegrityError, transaction

from runs.accounts.audit_log import record_entry
from runs.models import Task, TaskSet
from runs.models.audit_log import TASKS_IMPORTED
from runs.models.tasks import task_key
from runs.storage.records import MAX_INT, goal_text
from webagent.environment import registry
from webagent.environment.placeholders import resolve
from webagent.measures import batched
from webagent.trajectory.bundles import NAMED_ONLY
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name

FILLED_LATER = (
    "spec",
    "evaluation_kind",
    "reference",
    "infeasible_reason",
    "max_steps",
    "goal",
    "intent_template",
    "template",
)
"""Columns that an import fills where an earlier one knew nothing."""


def store_task(record: TaskRecord) -> Task:
    """The row of this task, by task set and name in it; made if it is new.

    A task that is here stays as it is, but what was unknown of it is filled in.
    """
    name, version = record.task_set.name, record.task_set.version
    task_set, _ = TaskSet.objects.get_or_create(name=name, version=version)
    columns = task_columns(record)
    in_set = {"task_set": task_set.pk, "external_id": record.external_id}
    task = Task.objects.filter(**in_set).first()
    if task is None:
        try:
            with transaction.atomic():
                own = plain_json(record)
                return Task.objects.create(
                    task_set=task_set, external_id=record.external_id, record=own, **columns
                )
        except IntegrityError:  # another import was first
            task = Task.objects.get(**in_set)
    if is_named_only(task) and not (record.extra or {}).get(NAMED_ONLY):
        _told_of(task, record).save()
        return task
    news = [name for name in FILLED_LATER if columns[name] and not getattr(task, name)]
    for name in news:
        setattr(task, name, columns[name])
    if news:
        task.save(update_fields=news)
    return task


def note_split(task: Task, split: str) -> None:
    """Note the split of its benchmark that a task belongs to, where it came in without one.

    Raises:
        ValueError: it came in with another.
    """
    extra = task.record.get("extra") or {}
    if (there := str(extra.get(SPLIT) or split)) != split:
        raise ValueError(f"is of the split {there} already, not of {split}")
    task.record = plain_json(task_record(task)) | {"extra": {**extra, SPLIT: split}}
    task.save(update_fields=["record"])


def is_named_only(task: Task) -> bool:
    """Whether nothing is known of the task but the name that a stub gave."""
    return bool((task.record.get("extra") or {}).get(NAMED_ONLY))


def forget_named_only(task: Task, known: Task) -> None:
    """Delete a task that only a stub named, with its set, once nothing refers to them.

    Args:
        known: the task itself, which gets the milestones if it has none.
    """
    if task.pk == known.pk or not is_named_only(task) or task.runs.exists():
        return
    if not known.milestones.exists():
        task.milestones.update(task=known)
    if task.milestones.exists():
        return
    task_set = task.task_set
    task.delete()
    if not (task_set.tasks.exists() or task_set.children.exists()):
        task_set.delete()


def differs(task: Task, record: TaskRecord) -> bool:
    """Whether the row's own record says something else of the task than this one."""
    same_id = task_record(task).model_copy(update={"id": record.id})
    return plain_json(same_id) != plain_json(record)


def task_record(task: Task) -> TaskRecord:
    """The task as it came in, or, if it was made here, as its columns have it."""
    if task.record:
        return TaskRecord.model_validate(task.record)
    return TaskRecord(
        id=bounded_name(f"{task.task_set.name}/{task.task_set.version}/{task.external_id}"),
        task_set=TaskSetRecord(name=task.task_set.name, version=task.task_set.version),
        external_id=task.external_id,
        sites=tuple(task.sites or ([task.site] if task.site else ())),
        goal=(TextPart(text=task.goal),) if task.goal else (),
        start_urls=tuple(task.start_urls),
        intent_template=task.intent_template or None,
        eval=task.spec,
        reference=task.reference,
        max_steps=task.max_steps,
        infeasible_reason=task.infeasible_reason or None,
    )


def task_columns(record: TaskRecord) -> dict[str, Any]:
    """The columns of `Task` that follow from its record."""
    max_steps = record.max_steps
    stored = plain_json(record)
    return {
        "site": record.sites[0][:200] if record.sites else "",
        "sites": list(record.sites),
        "goal": goal_text(record.goal),
        "start_urls": list(record.start_urls),
        "intent_template": record.intent_template or "",
        "template": str((record.extra or {}).get("intent_template_id", ""))[:200],
        "spec": stored.get("eval"),
        "evaluation_kind": evaluation_kind(stored.get("eval")),
        "reference": stored.get("reference"),
        "max_steps": max_steps if max_steps and 0 < max_steps <= MAX_INT else None,
        "infeasible_reason": record.infeasible_reason or "",
    }


def task_content(task: Task) -> dict[str, Any]:
    """The part of a task that patches may change."""
    return {
        "goal": task.goal,
        "sites": list(task.sites),
        "start_urls": list(task.start_urls),
        "spec": task.spec,
        "reference": task.reference,
        "infeasible_reason": task.infeasible_reason,
    }


def evaluation_kind(spec: object) -> str:
    """Names of the evaluations that a specification asks for, each once, joined by +.

    WebArena's `eval_types`, or the evaluators of WebArena-Verified; "" for other benchmarks'.
    """
    if not isinstance(spec, dict):
        return ""
    named = spec.get("eval_types")
    if isinstance(evaluators := spec.get("evaluators"), list):
        named = [each.get("evaluator") for each in evaluators if isinstance(each, dict)]
    if not isinstance(named, list):
        return ""
    return "+".join(dict.fromkeys(str(name) for name in named if name))[:200]


BATCH = 500
SHOWN_DIFFERENCES = 10
COMPARED = ("sites", "goal", "start_urls", "intent_template", "spec", "extra")
"""What a task says, by the names that differences are told with."""


SPLIT = "split"
"""Key in a task's `extra`: the part of its benchmark, such as `dev` or `test`."""


class TaskSetError(ValueError):
    """The tasks cannot be brought into this set; the words say which and why."""


@dataclass(kw_only=True)
class TaskSetReport:
    """What an import of tasks did."""

    new: int = 0
    filled: int = 0
    """Known from a run alone so far, without specification."""
    already_there: int = 0
    by_site: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.new + self.filled + self.already_there


def import_tasks(
    *, records: Iterable[TaskRecord], task_set: TaskSetRecord, hosts: dict[str, str]
) -> TaskSetReport:
    """Store the tasks of one set; those that are there stay as they are.

    A task that came with a run, without a specification, is filled in. All or nothing.

    Args:
        hosts: base URL by site: a run says what was shown, with placeholders replaced.

    Raises:
        TaskSetError: a stored task of this set has another content, or a patch made the set.
    """
    report = TaskSetReport()
    differences: list[str] = []
    with transaction.atomic():
        row, _ = TaskSet.objects.get_or_create(name=task_set.name, version=task_set.version)
        if row.parent_id:
            raise TaskSetError(f"{row} was made by a patch; tasks are imported into {row.parent}")
        for batch in batched(records, BATCH):
            differences += _store(batch, row, hosts, report)
            if len(differences) > SHOWN_DIFFERENCES:
                break
        if differences:
            raise TaskSetError(_differences_text(differences, row))
        if report.new or report.filled:
            after = f"{report.new} new, {report.filled} filled"
            record_entry(TASKS_IMPORTED, about=row, words=str(row), after=after)
    return report


def _store(
    batch: list[TaskRecord], task_set: TaskSet, hosts: dict[str, str], report: TaskSetReport
) -> list[str]:
    """Store new ones and fill what is lacking; returns how stored ones differ."""
    names = [record.external_id for record in batch]
    prefixed = [f"{task_set.name}.{name}" for name in names]
    there = {
        task_key(task_set.name, task.external_id): task
        for task in task_set.tasks.filter(external_id__in=names + prefixed)
    }
    new, filled, differences = [], [], []
    for record in batch:
        columns = task_columns(record)
        report.by_site[" + ".join(record.sites) or "-"] += 1
        report.by_kind[columns["evaluation_kind"] or "-"] += 1
        task = there.get(record.external_id)
        if task is None:
            columns |= {"external_id": record.external_id, "record": plain_json(record)}
            new.append(Task(task_set=task_set, **columns))
        elif task.spec is None and not _clashes(task, columns, hosts):
            # Under the id that its runs know it by.
            same_id = record.model_copy(update={"external_id": task.external_id})
            filled.append(_told_of(task, same_id))
        else:
            differences += _differences(task, record)
            report.already_there += 1
    Task.objects.bulk_create(new, batch_size=BATCH)
    if filled:
        Task.objects.bulk_update(filled, [*task_columns(batch[0]), "record"], batch_size=100)
    report.new += len(new)
    report.filled += len(filled)
    return differences


def _clashes(task: Task, columns: dict[str, object], hosts: dict[str, str]) -> bool:
    """Whether a task that came with a run is another one: its goal says something else.

    Runs may add a note of their own after the goal.
    """
    goal = resolve(columns["goal"], hosts)
    return bool(task.goal) and not task.goal.startswith((str(columns["goal"]), str(goal)))


def _told_of(task: Task, record: TaskRecord) -> Task:
    """The task as the record has it, not saved; a split that was noted stays."""
    for name, value in task_columns(record).items():
        setattr(task, name, value)
    noted = {SPLIT: split} if (split := (task.record.get("extra") or {}).get(SPLIT)) else {}
    task.record = plain_json(record)
    if noted:
        task.record["extra"] = noted | (task.record.get("extra") or {})
    return task


def _differences(task: Task, record: TaskRecord) -> list[str]:
    stored, given = _compared(task_record(task)), _compared(record)
    if isinstance(own := stored["extra"], dict) and SPLIT not in (record.extra or {}):
        # Whoever noted a split contradicts no file that names none.
        stored["extra"] = {key: value for key, value in own.items() if key != SPLIT} or None
    return [
        f"task {record.external_id}: {name} differs (stored {_short(stored[name])},"
        f" in the file {_short(given[name])})"
        for name in COMPARED
        if stored[name] != given[name]
    ]


def _compared(record: TaskRecord) -> dict[str, object]:
    columns = task_columns(record)
    extra = plain_json(record).get("extra")
    return {name: extra if name == "extra" else columns[name] for name in COMPARED}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _differences_text(differences: list[str], task_set: TaskSet) -> str:
    lines = [f"{task_set} is stored with another content; import the file as another version:"]
    lines += [f"  {line}" for line in differences[:SHOWN_DIFFERENCES]]
    if len(differences) > SHOWN_DIFFERENCES:
        lines.append("  and more")
    return "\n".join(lines)


def task_set_choices() -> list[str]:
    """What `Selection.task_set` may be: installed suites first, then stored sets."""
    sets = map(suite_set, registry.suites())
    installed = {f"{record.name} {record.version}" for record in sets}
    stored = [str(row) for row in TaskSet.objects.order_by("name", "version")]
    return [*registry.suites(), *(words for words in stored if words not in installed)]


@cache
def suite_set(name: str) -> TaskSetRecord:
    """The set that the tasks of a suite belong to."""
    return registry.task_record(registry.task_names(name)[0]).task_set
