"""Who may see what of a run.

The rules live above this app (studies make people blind), so they are asked of
`runs.models.extension`. Everything that shows, filters, sorts, counts or exports runs goes
through `RunQuerySet.visible_to(user)`, which applies them in the database.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from django.db.models import Q, QuerySet

from runs.models.hooks import registered

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from uuid import UUID

    from runs.models.people import User


class RunPolicy(Protocol):
    """Conditions over `Run`, for one person. Each is safe to use in any query of runs."""

    def visible(self, user: User, only: Collection[UUID] | None = None) -> Q:
        """Runs that the person may open at all.

        Args:
            only: the runs that will be asked about, where they are few; no other is visible then.
        """

    def newest(self, user: User, most: int) -> NewestRuns | None:
        """The newest runs that the person may open, about so many.

        None where that is no quicker than going through all: for who may open every run.
        """

    def blind(self, user: User) -> Q | None:
        """Runs whose outcome, reward, verdicts and labels are hidden; None where there are none."""

    def anonymous(self, user: User) -> Q | None:
        """Runs whose agent and model are hidden too; None where there are none."""

    def hidden(self, user: User, only: Collection[UUID] | None = None) -> tuple[Q | None, Q | None]:
        """Both at once: blind and anonymous, the same object where they are the same runs.

        Args:
            only: the runs that will be asked about, where they are few: what holds for these is
                looked up, and the conditions say nothing of any other run.
        """

    def blind_runs(self, user: User) -> QuerySet[Any] | None:
        """The runs of `blind` as a list: for questions about others than runs.

        A condition has to be asked of every run there is, a list begins with the few.
        """

    def blind_tasks(self, user: User) -> set[int]:
        """The tasks of those runs."""


def run_policy() -> RunPolicy:
    """The policy of the app above."""
    policy: RunPolicy = registered().policy
    return policy


NEWEST = 300
"""Runs that a list looks at first, for somebody who sees only part of all."""
WIDER = 10
"""Times as many that it looks at next, where these do not fill its page."""


@dataclass(frozen=True, slots=True)
class NewestRuns:
    """The newest runs that somebody may open, and whether there may be older ones."""

    runs: Collection[UUID]
    has_older: bool


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one person may see of runs. Asked once for a page that asks for runs several times.

    It is as old as the page: what comes between two requests is seen by the second.
    """

    user: User
    visible: Q
    """Runs that the person may open; it holds nothing where that is every run."""
    blind: Q | None
    """Of those, the runs whose outcome is hidden; it holds nothing where those are all."""
    anonymous: Q | None
    lacks_older: bool = False
    """Whether `visible` holds the newest runs alone, and there may be older ones."""

    @property
    def is_whole(self) -> bool:
        """Whether the person sees all of every run."""
        return not self.visible and self.blind is None and self.anonymous is None

    def of_newest(self, times: int = 1) -> Visibility:
        """For somebody who sees only part: of the newest runs alone, found without the others.

        Args:
            times: of so many times as many.
        """
        found = run_policy().newest(self.user, times * NEWEST)
        if found is None:
            return self
        return replace(self, visible=Q(pk__among=found.runs), lacks_older=found.has_older)

    def widened(self, *, newest_first: bool) -> Iterator[Visibility]:
        """What a list looks at in turn until it finds its page: the newest runs, more, all.

        Args:
            newest_first: whether older runs can only come after the page. Else the newest are
                looked at only where there are no older ones: all are known by their keys then.
        """
        for times in (1, WIDER) if newest_first else (1,):
            some = self.of_newest(times)
            if newest_first or not some.lacks_older:
                yield some
            if not some.lacks_older:
                return
        yield self


def visibility_of(user: User, only: Collection[UUID] | None = None) -> Visibility:
    """What the policy says of the person now.

    Args:
        only: the few runs that are asked for; no other is visible then. What waits for a person
            may be long, and a page of rows or a single run is far quicker without it.
    """
    policy = run_policy()
    return Visibility(user, policy.visible(user, only), *policy.hidden(user, only))
