"""Filling a database with seeded runs."""

from collections.abc import Callable
from random import Random

from django.db import connection, transaction

from judging.models import Study, StudyMember
from judging.studies.access import Role
from judging.studies.protocols import DEFAULT_CAUSES
from judging.studies.services import Protocol, create_study, set_member
from runs.models import Event, Experiment, ExperimentState, Run, Step, User
from tools.seed_scale import TASK_SETS, shares
from tools.seed_scale.bulk import Bulk, trust_rows
from tools.seed_scale.drawing import RUN_COLUMNS, Drawn, draw_runs
from tools.seed_scale.judged import Judging
from tools.seed_scale.plan import STEP_COLUMNS, Plan, make_plan, read_pool

RUNS_AT_ONCE = 2_000
"""Runs of an experiment, which are written in one transaction."""
PAUSED_EVERY = 10
"""Of so many experiments one is paused."""
TAXONOMY = [{"key": key, "name": name} for key, name in DEFAULT_CAUSES.items()]


class SeedingError(Exception):
    """The database is not to be filled; says why."""


def fill(
    n_runs: int, *, seed: int, anyway: bool = False, on_runs: Callable[[int], None] = lambda n: None
) -> None:
    """So many runs with their steps, evaluations, experiments and studies.

    The same number and seed make the same rows (accounts' passwords and keys of some tables
    apart). Experiment by experiment: what was stored stays when it is stopped.

    Args:
        anyway: fill it although it holds what is not seeded.
        on_runs: told how many more runs are stored.

    Raises:
        SeedingError: it holds what is not seeded, or this seed already.
    """
    _demand_room(seed, anyway=anyway)
    random = Random(seed)  # noqa: S311 (nothing secret)
    pool = read_pool(random)
    plan = make_plan(pool, random)
    judging = Judging(plan, pool)
    large = _study(f"{TASK_SETS}large study {seed}", plan, is_open=True)
    writer = _Writer(plan, judging, large, seed)
    for number, first in enumerate(range(0, n_runs, RUNS_AT_ONCE)):
        n = min(RUNS_AT_ONCE, n_runs - first)
        part = Random(f"{seed} {number}")  # noqa: S311 (nothing secret)
        with transaction.atomic():
            trust_rows()
            experiment = _experiment(number, seed)
            paused = experiment.state == ExperimentState.PAUSED
            drawn = list(
                draw_runs(
                    n,
                    first=first,
                    plan=plan,
                    pool=pool,
                    random=part,
                    experiment=experiment.pk,
                    paused=paused,
                )
            )
            writer.write(number, drawn, part)
        on_runs(n)
    judging.finish()
    _analyse()


class _Writer:
    """Writes the runs of one experiment after another."""

    def __init__(self, plan: Plan, judging: Judging, large: Study, seed: int) -> None:
        self._plan, self._judging, self._large, self._seed = plan, judging, large, seed
        self._n_large = 0
        self._runs = Bulk(Run, RUN_COLUMNS)
        self._steps = Bulk(Step, ("run", "index", *STEP_COLUMNS))
        self._events = Bulk(Event, ("run", "kind", "first_step", "last_step"))

    def write(self, number: int, drawn: list[Drawn], random: Random) -> None:
        self._runs.add(run.row for run in drawn)
        self._steps.add(step for run in drawn for step in run.steps)
        self._events.add(event for run in drawn for event in run.events)
        self._judging.evaluate(drawn, random)
        free = [run for run in drawn if run.is_judgeable]
        n_large = round(len(drawn) * shares.LARGE_STUDY_SHARE)
        into_large, rest = free[:n_large], free[n_large:]
        annotators = self._plan.people[Role.ANNOTATOR]
        self._judging.study(
            self._large,
            into_large,
            first=self._n_large + 1,
            people=annotators,
            settled=False,
            random=random,
        )
        self._n_large += len(into_large)
        if number % (shares.RUNS_PER_STUDY // RUNS_AT_ONCE) == 0:
            is_open = random.random() > shares.CLOSED_STUDIES
            name = f"{TASK_SETS}study {number} of {self._seed}"
            self._judging.study(
                _study(name, self._plan, is_open=is_open),
                rest[: shares.STUDY_RUNS],
                first=1,
                people=annotators,
                settled=not is_open,
                random=random,
            )


def _experiment(number: int, seed: int) -> Experiment:
    is_paused = number % PAUSED_EVERY == PAUSED_EVERY - 1
    return Experiment.objects.create(
        name=f"{TASK_SETS}experiment {number} of {seed}",
        state=ExperimentState.PAUSED if is_paused else ExperimentState.RUNNING,
        created_by=User.objects.filter(groups__name=Role.ENGINEER).order_by("pk").first(),
    )


def _study(name: str, plan: Plan, *, is_open: bool) -> Study:
    study = create_study(
        name=name,
        run_ids=(),
        protocol=Protocol(taxonomy=TAXONOMY),
        guidelines="Seeded: nobody judged anything here.",
        created_by=plan.people[Role.ENGINEER][0],
    )
    Study.objects.filter(pk=study.pk).update(is_open=is_open)
    for role, part in (
        (Role.ANNOTATOR, StudyMember.Part.ANNOTATOR),
        (Role.ADJUDICATOR, StudyMember.Part.ADJUDICATOR),
    ):
        for person in plan.people[role]:
            set_member(study=study, user=person, part=part)
    return study


def _demand_room(seed: int, *, anyway: bool) -> None:
    if Experiment.objects.filter(name__startswith=f"{TASK_SETS}experiment 0 of {seed}").exists():
        raise SeedingError(f"it is filled with seed {seed} already; take another --seed for more")
    foreign = Run.objects.exclude(task__task_set__name__startswith=TASK_SETS).order_by()
    if not anyway and foreign.exists():
        raise SeedingError("it holds runs that are not seeded; --anyway fills it all the same")


def _analyse() -> None:
    """Have PostgreSQL look at what it holds now, as it soon would; SQLite plans without."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
