"""Which run the names of a stub mean, and which stub a trajectory belongs to."""

from collections.abc import Sequence

from runs.models import Run
from runs.models.runs.queries import RunQuerySet
from webagent.trajectory.bundles import RunBundle, has_names, n_named, names_of, spellings, stub_key
from webagent.trajectory.records import StubRecord

STUB = "stub"
"""Key in `Run.record` for the names of a stub."""
_PATHS = {
    "task_set_version": "task__task_set__version",
    "agent_version": "agent__version",
    "model": "agent__model",
    "seed": "seed",
}


def stub_names(run: Run) -> StubRecord:
    """The names that a stub came with."""
    return StubRecord.model_validate(run.record[STUB])


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
