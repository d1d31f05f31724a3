"""Places where the app above answers: empty until it registers (`runs.models.extension`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Hook(Generic[T]):
    """One thing that runs ask of the app above.

    Args:
        question: what it answers, for the error where nothing is registered.
    """

    def __init__(self, question: str) -> None:
        self._question = question
        self._answers: list[T] = []

    def use(self, answer: T) -> None:
        """Have it answer from now on."""
        self._answers[:] = [answer]

    def get(self) -> T:
        """What was registered.

        Raises:
            LookupError: nothing was.
        """
        if not self._answers:
            raise LookupError(f"nothing is registered that knows {self._question}")
        return self._answers[0]


class LinkedPage(StrEnum):
    """Pages of the app above to which pages of runs link."""

    HOME = "home"
    API_REFERENCE = "api_reference"
    STUDIES = "studies"
    NEW_STUDY = "new_study"
    AUDITS = "audits"
    EVALUATE_RUNS = "evaluate_runs"
    RUN_JUDGEMENTS = "run_judgements"
    """Of the run with this id."""
    EXPERIMENT = "experiment"
    """The figures of the experiment with this id."""
    HINT_REPORT = "hint_report"
    """What hints changed in the experiment with this id."""
    WRITE_HINTS = "write_hints"
    IMPORT_LABELS = "import_labels"
    MILESTONE_PROPOSALS = "milestone_proposals"
    """For the task with this id."""


class Addresses(Protocol):
    """Where the pages lie."""

    def __call__(self, page: LinkedPage, *args: object) -> str: ...


addresses_hook: Hook[Addresses] = Hook("where the pages of the app above lie")


def address_above(page: LinkedPage, *args: object) -> str:
    """The address of a page of the app above."""
    return addresses_hook.get()(page, *args)
