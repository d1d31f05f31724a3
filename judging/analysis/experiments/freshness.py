"""Whether runs of an experiment have ended since its figures were made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from runs.launching.experiments.progress import progress_of_each
from runs.models import Experiment, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Of when the figures are, and what has happened since."""

    experiment: Experiment
    made_at: datetime
    done: int
    """Runs that had ended then."""
    since: int = 0
    """Runs that have ended since."""
    moves: bool = False
    """Whether there will be more."""

    @property
    def url(self) -> str:
        """Where it is asked for again."""
        path = reverse("judging:experiment_freshness", args=[self.experiment.pk])
        return f"{path}?{urlencode({'done': self.done, 'at': int(self.made_at.timestamp())})}"


def freshness(experiment: Experiment, user: User) -> Freshness:
    """That of figures that are made now. One query."""
    (now,) = progress_of_each([experiment], user)
    return Freshness(experiment=experiment, made_at=timezone.now(), done=now.done, moves=now.moves)


def freshness_since(query: QueryDict, experiment: Experiment, user: User) -> Freshness:
    """That of the figures of an address, now. One query.

    Raises:
        ValueError: the address does not say of when they are.
    """
    done, at = int(query.get("done", "")), int(query.get("at", ""))
    if not 0 <= at < 2**33:
        raise ValueError(f"{at} is no time")
    (now,) = progress_of_each([experiment], user)
    return Freshness(
        experiment=experiment,
        made_at=datetime.fromtimestamp(at, tz=UTC),
        done=done,
        since=max(0, now.done - done),
        moves=now.moves,
    )
