"""Which run repeats which, restored by the ids that a file uses."""

import uuid
from collections import defaultdict
from uuid import UUID

from django.db import models
from django.db.models import Q

from runs.models import Run
from webagent.trajectory.records import RunRecord


class RunLinks:
    """The ids of one file and the runs they became.

    A file may name a run before or after its own line, and other runs than its own: those are
    found if they are here under the same id.
    """

    def __init__(self) -> None:
        self._runs: dict[str, UUID] = {}
        self._waiting: dict[str, list[tuple[UUID, str]]] = defaultdict(list)

    def connect(self, run_id: UUID, record: RunRecord) -> None:
        """Write the links of this run, and those of earlier ones that waited for it.

        Only links that are still empty are written. Inside the run's transaction.
        """
        for field in ("retry_of", "rerun_of", "superseded_by"):
            target = getattr(record, field)
            if target is None or target == record.id:
                continue
            found = self._runs.get(target) or _stored(target)
            if found:
                _link(run_id, field, found)
            else:
                self._waiting[target].append((run_id, field))
        for waiting, field in self._waiting.get(record.id, ()):
            _link(waiting, field, run_id)

    def remember(self, run_id: UUID, record: RunRecord) -> None:
        """Note which run an id became, once its transaction stands."""
        self._runs[record.id] = run_id
        self._waiting.pop(record.id, None)


def free_key(model: type[models.Model], text: str) -> UUID:
    """The key that the text is, if no row has it; else a new one."""
    own = as_uuid(text)
    return own if own and not model._default_manager.filter(pk=own).exists() else uuid.uuid4()


def as_uuid(text: str) -> UUID | None:
    """The UUID that the text spells in its usual form; None if it is another id."""
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value if str(value) == text else None


def _stored(target: str) -> UUID | None:
    own = as_uuid(target)
    return own if own and Run.objects.filter(pk=own).exists() else None


def _link(run_id: UUID, field: str, target: UUID) -> None:
    if run_id == target:
        return
    if field == "superseded_by":
        # What replaced a run is a further attempt at the same trial.
        run_id, field, target = target, "retry_of", run_id
    _join_families(run_id, target)
    if field == "retry_of" and Run.objects.filter(retry_of=target).exists():
        return
    Run.objects.filter(pk=run_id, **{field: None}).update(**{field: target})


def _join_families(run_id: UUID, target: UUID) -> None:
    """Make the run, and all that repeat it already, of the target's family."""
    roots = {run.pk: run.root for run in Run.objects.filter(pk__in=[run_id, target]).only("family")}
    own, joined = roots[run_id], roots[target]
    # A file may link in a circle: then the first run is of its own family.
    Run.objects.filter(Q(pk__in=[run_id, own]) | Q(family=own)).update(family=joined)
