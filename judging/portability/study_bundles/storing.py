"""Rows out of a bundle's lines, and what became of each."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from django.db import models

from judging.models import EvaluatorVersion
from judging.portability.study_bundles.reading import BundleError, StudyBundle
from judging.portability.study_bundles.records import Line, NumberedPart, RunRef, TaskRef
from runs.models import Run, Task, User
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.intake import Problem

MOST_CONFLICTS = 1000
M = TypeVar("M", bound=models.Model)


@dataclass(slots=True)
class StudyReport:
    """What is new, what was here, and what is here otherwise and stays so."""

    study: str = ""
    new: Counter[str] = field(default_factory=Counter)
    """Lines stored, by kind."""
    already_there: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    n_conflicts: int = 0
    people: list[str] = field(default_factory=list)
    """Usernames of accounts that were made: without a password, and not active."""

    def conflict(self, words: str) -> None:
        """Note what is here otherwise."""
        self.n_conflicts += 1
        if len(self.conflicts) < MOST_CONFLICTS:
            self.conflicts.append(words)

    def is_new(self, kind: str, is_same: bool | None, words: str, n: int = 1) -> bool:
        """Note `n` lines, and whether nothing of them is here.

        Args:
            is_same: whether what is here says the same; None where nothing is.
            words: for what says something else, and stays.
        """
        if is_same is None:
            self.new[kind] += n
        elif is_same:
            self.already_there[kind] += n
        else:
            self.conflict(words)
        return is_same is None

    @staticmethod
    def told(counts: Counter[str]) -> str:
        """The counts in words."""
        return ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()) if n)

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "new": dict(sorted(self.new.items())),
            "already_there": dict(sorted(self.already_there.items())),
            "conflicts": self.conflicts,
            "n_conflicts": self.n_conflicts,
            "people": self.people,
        }


def is_same(there: Line, here: Line | None) -> bool | None:
    """Whether two lines say the same, but for the run's id here; None where nothing is here."""
    if here is None:
        return None
    return hashed_json(there, exclude={"run"}) == hashed_json(here, exclude={"run"})


class BundleStore:
    """One bundle on its way into the database: accounts and runs are looked up once each."""

    def __init__(self, bundle: StudyBundle, report: StudyReport) -> None:
        self.bundle = bundle
        self.report = report
        self._people: dict[str, User] = {}
        self._runs: dict[UUID, Run] = {}

    @cached_property
    def evaluators(self) -> Mapping[str, int]:
        """The rows by the hash of their configuration; all of the bundle's are here."""
        return dict(EvaluatorVersion.objects.values_list("config_hash", "pk"))

    def person(self, username: str) -> User:
        """The account of that name; who is missing gets one that nobody can log in to."""
        if username not in self._people:
            user = User.objects.filter(username=username).first()
            if user is None:
                # As it is spelled there: the same name comes out again.
                user = User(username=username, is_active=False)
                user.set_unusable_password()
                user.save()
                self.report.people.append(username)
            self._people[username] = user
        return self._people[username]

    def run(self, ref: RunRef, file: str) -> Run:
        """The run that a line of the file names. Raises BundleError."""
        if ref.id not in self._runs:
            rows = Run.objects.select_related("task").defer("record", "evidence")
            found = rows.filter(content_hash=ref.content_hash).first() if ref.content_hash else None
            found = found or rows.filter(pk=ref.id).first()
            if found is None:
                raise BundleError(Problem("", file, "run", f"run {ref.id} is not here"))
            self._runs[ref.id] = found
        return self._runs[ref.id]

    def row(self, model: type[M], line: Line, **given: Any) -> M:
        """A row, not saved: what is given, and the line's fields for which it has columns.

        People become accounts, and evaluators are found; what refers to other rows must be given.
        """
        columns = {each.attname: each for each in model._meta.concrete_fields}
        columns |= {each.name: each for each in model._meta.concrete_fields}
        for name in type(line).model_fields:
            column = columns.get(line.COLUMNS.get(name, name) or "")
            if column is None or {column.name, column.attname} & given.keys():
                continue
            value = getattr(line, name)
            if column.related_model is User and value is not None:
                given[column.name] = self.person(value)
            elif column.related_model is EvaluatorVersion:
                given[column.attname] = self.evaluators[value]
            else:
                given[column.attname] = value
        return model(**given)

    def insert(self, model: type[M], lines: Iterable[Line], **given: Any) -> None:
        insert([self.row(model, line, **given) for line in lines])

    def insert_history(self, model: type[M], parts: Iterable[NumberedPart], **given: Any) -> None:
        """Store a row for each of the parts, after that of the part which it replaces."""
        keys: dict[int | None, Any] = {None: None}
        for part in sorted(parts, key=lambda one: one.number):
            row = self.row(model, part, replaces_id=keys.get(part.replaces), **given)
            insert([row])
            keys[part.number] = row.pk


def insert(rows: list[M]) -> None:
    """Insert the rows, with the times that they name where columns would say now."""
    if not rows:
        return
    fields = rows[0]._meta.concrete_fields
    times = [each.attname for each in fields if getattr(each, "auto_now_add", False)]
    wanted = [{name: vars(row)[name] for name in times} for row in rows]
    manager = type(rows[0])._default_manager
    manager.bulk_create(rows, batch_size=200)
    for row, values in zip(rows, wanted, strict=True):
        vars(row).update(values)
    if times:
        manager.bulk_update(rows, times, batch_size=200)


def find_task(ref: TaskRef | None) -> Task | None:
    if ref is None:
        return None
    named = Task.objects.filter(task_set__name=ref.task_set, task_set__version=ref.version)
    return named.filter(external_id=ref.id).first()
