"""The states of a run in the queue, and whose turn it is, fair between people.

Runs wait in lanes, one for each person and experiment. However many runs wait, only the first of
each lane is looked at, by index: a turn costs the same with ten runs and with a hundred thousand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import connections, models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from runs.models.experiments import Experiment, ExperimentState
from runs.models.people import User
from webagent.trajectory.formats.pushed.runs import PUSH_FORMAT


class RunStatus(models.TextChoices):
    """Where a run is on its way through the queue; says nothing about success."""

    QUEUED = "queued", _("queued")
    LEASED = "leased", _("leased")
    RUNNING = "running", _("running")
    FINISHED = "finished", _("finished")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")

    @classmethod
    def active(cls) -> list[str]:
        return [cls.QUEUED, cls.LEASED, cls.RUNNING]

    @classmethod
    def ended(cls) -> list[str]:
        return [cls.FINISHED, cls.FAILED, cls.CANCELLED]

    @classmethod
    def held(cls) -> list[str]:
        """States in which a worker, or the side that pushes the run, holds it."""
        return [cls.LEASED, cls.RUNNING]


class RunPriority(models.IntegerChoices):
    """What goes first: lower numbers do."""

    BY_HAND = 0, _("by hand")
    EXPERIMENT = 1, _("experiment")
    BACKGROUND = 2, _("when nothing else waits")


RunRow = TypeVar("RunRow", bound=models.Model, covariant=True)


class DueQuerySet(models.QuerySet[RunRow]):
    """Runs by whether their time has come."""

    def due(self) -> Self:
        """Queued runs that may start now, as far as that does not hang on their experiment."""
        waited = Q(not_before=None) | Q(not_before__lte=Now())
        return self.filter(waited, status=RunStatus.QUEUED, cancel_requested_at=None)

    def held_here(self) -> Self:
        """Runs that workers of this installation hold: those pushed from elsewhere take no room."""
        return self.filter(status__in=RunStatus.held()).exclude(source_format=PUSH_FORMAT)


LANES_PER_PERSON = 2**32
"""A lane's number is that of its person times this, plus that of its experiment; 0 is nobody."""
PATIENCE = timedelta(minutes=10)
"""Who was not served for so long goes before even what others started by hand."""
_NONE, _NEVER = 0, datetime.min.replace(tzinfo=UTC)
# Jumps through the index from one lane to the next, where DISTINCT would read every queued row.
_LANES = """
WITH RECURSIVE lanes(lane) AS (
    SELECT (SELECT lane FROM {runs} WHERE status = 'queued' ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (
        SELECT run.lane FROM {runs} run
        WHERE run.status = 'queued' AND run.lane > lanes.lane ORDER BY run.lane LIMIT 1
    ) FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT lane FROM lanes WHERE lane IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class First:
    """The run that stands first in its lane."""

    run_id: UUID
    lane: int
    priority: int
    since: datetime

    @property
    def person(self) -> int:
        return self.lane // LANES_PER_PERSON

    @property
    def experiment(self) -> int:
        return self.lane % LANES_PER_PERSON


def firsts_in_turn(runs: DueQuerySet[Any], now: datetime) -> list[First]:
    """The first due run of every lane that may move, in the order in which workers take them."""
    lanes = _open_lanes(runs)
    firsts = [first for lane in lanes if (first := _first_of(runs, lane))]
    if len(firsts) < 2:
        return firsts
    held = _held_by(runs, "created_by")
    served = _last_served(runs, {first.person for first in firsts})
    return in_turn(firsts, held=held, served=served, now=now)


def in_turn(
    firsts: Iterable[First],
    *,
    held: Mapping[int, int],
    served: Mapping[int, datetime],
    now: datetime,
) -> list[First]:
    """The order of turns.

    What was started by hand goes before experiments, unless somebody has waited for `PATIENCE`
    without being served. Then whoever has fewest runs under way, and of those whoever was served
    longest ago. A person's own runs go by priority and age.

    Args:
        held: runs under way by person.
        served: when a worker last took a run of the person.
    """
    own = sorted(firsts, key=lambda first: (first.priority, first.since, first.run_id))
    best: dict[int, First] = {}
    for first in own:
        best.setdefault(first.person, first)

    def place(first: First) -> tuple[int, int, datetime, datetime, int]:
        person, urgent = first.person, best[first.person]
        last = served.get(person, _NEVER)
        has_waited = now - max(urgent.since, last) > PATIENCE
        priority = RunPriority.BY_HAND if has_waited else urgent.priority
        return (priority, held.get(person, 0), last, urgent.since, person)

    return sorted(own, key=place)


def lanes_of_waiting(runs: DueQuerySet[Any]) -> list[int]:
    """Every lane with a queued run, whether it may move or not."""
    with connections[runs.db].cursor() as cursor:
        # The only name in it is our own table's.
        cursor.execute(_LANES.format(runs=runs.model._meta.db_table))
        return [lane for (lane,) in cursor.fetchall()]


def _open_lanes(runs: DueQuerySet[Any]) -> list[int]:
    """Lanes whose experiment is neither paused nor cancelled nor has as many runs as it may."""
    lanes = lanes_of_waiting(runs)
    experiments = {lane % LANES_PER_PERSON for lane in lanes} - {_NONE}
    if not experiments:
        return lanes
    moving = Experiment.objects.filter(pk__in=experiments, state=ExperimentState.RUNNING)
    bounds = dict(moving.values_list("pk", "parallelism"))
    held = _held_by(runs, "experiment")
    may_move = {pk for pk, most in bounds.items() if most is None or held.get(pk, 0) < most}
    return [lane for lane in lanes if lane % LANES_PER_PERSON in may_move | {_NONE}]


def _first_of(runs: DueQuerySet[Any], lane: int) -> First | None:
    found = (
        runs.due()
        .filter(lane=lane)
        .order_by("priority", "created_at", "pk")
        .values_list("pk", "lane", "priority", "created_at")
        .first()
    )
    return First(*found) if found else None


def _held_by(runs: DueQuerySet[Any], key: str) -> dict[int, int]:
    """How many runs are under way, by person (`created_by`) or experiment."""
    held = runs.held_here().order_by()
    return {of or _NONE: n for of, n in held.values_list(key).annotate(n=Count("pk"))}


def _last_served(runs: DueQuerySet[Any], people: set[int]) -> dict[int, datetime]:
    """When a run of each was last taken, by one look into the index for each."""
    claimed = runs.filter(claimed_at__isnull=False).order_by("-claimed_at")
    last = claimed.filter(created_by=OuterRef("pk")).values("claimed_at")[:1]
    found = dict(
        User.objects.filter(pk__in=people)
        .annotate(last_served=Subquery(last))
        .values_list("pk", "last_served")
    )
    if _NONE in people:
        found[_NONE] = claimed.filter(created_by=None).values_list("claimed_at", flat=True).first()
    return {person: at for person, at in found.items() if at is not None}
