"""Parts of the runs table that an app above adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from runs.models.hooks import Hook

if TYPE_CHECKING:
    from django_filters import Filter
    from django_tables2 import Column

    from runs.interface.keyset import Lead
    from runs.models import Run
    from runs.models.run_queries import RunQuerySet


AGE_ELSEWHERE = ("age_elsewhere", "key_elsewhere")
"""A filter may annotate a run's `created_at` and key under these names, as a table that it joins
keeps them too: the list is then read in the order of that table's index.
"""


class RunListExtension(Protocol):
    """Columns and filters for what only an app above knows of a run.

    It sees runs that went through `visible_to` and must keep to `is_blind` and `is_anonymous`.
    """

    def annotate(self, runs: RunQuerySet[Run]) -> RunQuerySet[Run]:
        """The runs with the fields that the columns and filters read."""
        ...

    def columns(self) -> list[tuple[str, Column]]:
        """Columns by name, in order."""
        ...

    def filters(self) -> dict[str, Filter]:
        """Filters by the name they have in the address."""
        ...

    def choices(self) -> dict[str, list[tuple[str, Any]]]:
        """What each filter offers: values with their words."""
        ...

    def leads(self, is_blind: str) -> dict[str, Lead]:
        """What orders by its columns begin with; the flag is empty where nothing is hidden."""
        ...


run_list_hook: Hook[RunListExtension] = Hook("what else the runs table shows")


def run_list_extension() -> RunListExtension:
    """What the app above adds."""
    return run_list_hook.get()
