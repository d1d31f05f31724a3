"""Which stored run a file means: by the ids that it uses, or by the names of a stub."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from django.db import models
from django.db.models import Q

from runs.models import Run
from runs.models.runs.queries import RunQuerySet
from webagent.trajectory.bundles import RunBundle, has_names, n_named, names_of, spellings, stub_key
from webagent.trajectory.records import RunRecord, StubRecord


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


_PATHS = {
    "task_set_version": "task__task_set__version",
    "agent_version": "agent__version",
    "model": "agent__model",
    "seed": "seed",
}


def stub_names(run: Run) -> StubRecord:
    """The names that a stub came with."""
    return StubRecord.model_validate(run.record["stub"])


def run_of_names(names: StubRecord) -> Run | None:
    """The run that the names mean, stub or whole; None if none or several have them all."""
    if known := Run.objects.filter(stub_key=stub_key(names)).first():
        return known
    given = {path: getattr(names, name) for name, path in _PATHS.items()}
    wanted = {path: value for path, value in given.items() if value is not None}
    fitting = _of_tasks_and_agents([names]).filter(**wanted, superseded=False)
    found = list(fitting.ended()[:2])
    return found[0] if len(found) == 1 else None


def stubs_like(names: StubRecord) -> list[Run]:
    """Stubs of the same task, agent and trial."""
    found = _of_tasks_and_agents([names]).filter(is_stub=True).order_by("created_at", "pk")
    # Keys are asked for first: of most runs that come in there is none.
    return [Run.objects.get(pk=pk) for pk in found.values_list("pk", flat=True)]


def has_stubs_like(names: Sequence[StubRecord]) -> bool:
    """Whether there are any of the tasks, agents and trials."""
    return _of_tasks_and_agents(names).filter(is_stub=True).exists()


def stub_for(bundle: RunBundle) -> Run | None:
    """The stub that this trajectory makes whole, locked; None if none does, or several might.

    Inside a transaction. The stub that names most counts, and of several attempts the last one.
    """
    if bundle.run.stub or bundle.run.superseded_by:
        return None
    names = names_of(bundle)
    fitting = [
        (n_named(own), run) for run in stubs_like(names) if has_names(names, own := stub_names(run))
    ]
    most = max((n for n, _ in fitting), default=0)
    best = [run for n, run in fitting if n == most]
    if len(best) != 1:
        return None
    return Run.objects.select_for_update(of=("self",)).filter(pk=best[0].pk, is_stub=True).first()


def _of_tasks_and_agents(names: Sequence[StubRecord]) -> RunQuerySet[Run]:
    return Run.objects.filter(
        task__task_set__name__in={each.task_set for each in names},
        task__external_id__in=set().union(*(spellings(each.task_set, each.task) for each in names)),
        agent__name__in={each.agent for each in names},
        trial__in={each.trial for each in names},
    )
