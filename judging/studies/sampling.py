"""Which runs a study gets: those a filter of the runs table matches, or a random part of them."""

import random
import secrets
from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from django.http import QueryDict

from runs.models import Run, RunStatus, User
from runs.models.run_queries import RunQuerySet
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter

Key = TypeVar("Key", int, str, UUID)

MAX_RUNS = 5000


def run_filter(query: str, user: User) -> RunFilter:
    """The runs table's own filter over the ended runs that the person may open."""
    visibility = visibility_of(user)
    ended = Run.objects.filter(status__in=RunStatus.ended()).visible_with(visibility)
    return RunFilter(QueryDict(query), queryset=ended, visibility=visibility)


def matching_runs(query: str, user: User) -> RunQuerySet[Run]:
    """Ended runs with at least one step that the filter matches."""
    matched: RunQuerySet[Run] = run_filter(query, user).qs
    return matched.filter(n_steps__gt=0)


def draw(keys: Sequence[Key], size: int | None, seed: int) -> list[Key]:
    """A random sample in random order, the same for the same keys, size and seed.

    Args:
        size: all of them where None or more than there are.
    """
    chance = random.Random(seed)  # noqa: S311 - a stored seed is the point
    ordered = sorted(keys)
    return chance.sample(ordered, min(len(ordered), len(ordered) if size is None else size))


def new_seed() -> int:
    """A seed of six digits, short enough to be read aloud."""
    return 100_000 + secrets.randbelow(900_000)
