"""Rows of runs whose trajectories are not here: each such run is made a stub, once."""

from typing import Any
from uuid import UUID

from pydantic import ValidationError

from judging.portability.judgements.columns import EXPERIMENT, NUMBERS, RUN_PATHS
from runs.catalogue.tasks.rows import task_record
from runs.imports.session import ImportSession
from runs.imports.storing import import_bundle
from runs.models import Task, User
from runs.storage.links import run_of_names, stub_names, stubs_like
from webagent.trajectory.bundles import FOUND_BY, may_be_same, spellings, stub_bundle, stub_key
from webagent.trajectory.intake import InputError
from webagent.trajectory.records import StubRecord, TaskRecord
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import first_field_error

FORMAT = "labels"
"""Source format of stubs that a table of labels named."""
WHY = "the trajectory was not in the file of labels"
NEEDED = "is missing; a run without trajectory is named by task_set, task and agent"
UNDECIDED = (
    "a run without trajectory here may be this one, but its source did not name {names};"
    " leave that out if it is the same run"
)


class StubRuns:
    """The runs that rows name, made where they are not here; one session's stubs."""

    def __init__(self, user: User | None) -> None:
        self._session = ImportSession(user=user)
        self._known: dict[str, UUID] = {}
        self.made: set[UUID] = set()

    def of(self, values: dict[str, Any], *, may_make: bool) -> UUID | None:
        """Id of the run of these names: a stub, one that was a stub, or a new one.

        Args:
            may_make: whether a new one may be made; None comes back where it may not.

        Raises:
            InputError: the names are too few, or leave open which run they mean.
        """
        names = _names(values)
        key = stub_key(names)
        found = self._known.get(key) or self._found(names)
        if not found and may_make:
            found = self._made(names, values)
        if found:
            self._known[key] = found
        return found

    def close(self) -> None:
        """Nothing more comes."""
        self._session.close()

    def _found(self, names: StubRecord) -> UUID | None:
        if run := run_of_names(names):
            return run.pk
        for stub in stubs_like(names):
            own = stub_names(stub)
            if may_be_same(names, own):
                open_names = [
                    name
                    for name in FOUND_BY
                    if getattr(own, name) is None and getattr(names, name) is not None
                ]
                raise InputError("task", UNDECIDED.format(names=", ".join(open_names)))
        return None

    def _made(self, names: StubRecord, values: dict[str, Any]) -> UUID:
        named = str(values.get(EXPERIMENT, "")).strip()
        bundle = stub_bundle(
            names,
            format=FORMAT,
            why=WHY,
            task=_known_task(names),
            experiment=bounded_name(named) if named else None,
        )
        run_id = import_bundle(bundle, session=self._session).run_id
        self.made.add(run_id)
        return run_id


def _names(values: dict[str, Any]) -> StubRecord:
    for name in ("task_set", "task", "agent"):
        if not str(values.get(name, "")).strip():
            raise InputError(name, NEEDED)
    given = {
        name: values[name] if name in NUMBERS else str(values[name]).strip()
        for name in RUN_PATHS
        if name in values and name != EXPERIMENT
    }
    try:
        return StubRecord.model_validate(given)
    except ValidationError as error:
        raise InputError(*first_field_error(error)) from error


def _known_task(names: StubRecord) -> TaskRecord | None:
    """The task's record, if there is one task of that name here."""
    tasks = Task.objects.filter(
        task_set__name=names.task_set, external_id__in=spellings(names.task_set, names.task)
    )
    if names.task_set_version:
        tasks = tasks.filter(task_set__version=names.task_set_version)
    found = list(tasks.select_related("task_set")[:2])
    return task_record(found[0]) if len(found) == 1 else None
