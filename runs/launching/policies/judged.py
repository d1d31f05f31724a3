"""What the app above says of runs, for the rules of retry policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from runs.models.hooks import Hook

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from runs.models import Run, User


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdicts:
    """Verdicts on one run: True is a success; what has no verdict is None or missing."""

    reference: bool | None = None
    evaluators: Mapping[str, bool] = field(default_factory=dict)
    causes: frozenset[str] = frozenset()
    """Causes of failure that people marked in labels."""


class Judgements(Protocol):
    """Verdicts by run, and the studies that gather runs. `user` None sees everything."""

    def of(self, run_ids: Iterable[UUID], user: User | None) -> Mapping[UUID, RunVerdicts]:
        """What the person may know of these runs; the caller leaves out hidden ones."""
        ...

    def evaluators(self) -> list[tuple[str, str]]:
        """Evaluators by name, with words for each."""
        ...

    def causes(self) -> list[tuple[str, str]]:
        """Causes of failure that studies offer, by key, with words for each."""
        ...

    def studies(self, user: User) -> QuerySet[Any]:
        """Studies that the person may open, newest first; each has a `name`."""
        ...

    def runs_of_study(self, study_id: int, user: User | None) -> QuerySet[Run] | None:
        """The runs in a study; None if there is none that the person may open."""
        ...


judgements_hook: Hook[Judgements] = Hook("verdicts and studies")


def judgements() -> Judgements:
    """Verdicts and studies of the app above."""
    return judgements_hook.get()
