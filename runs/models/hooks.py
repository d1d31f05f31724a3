"""Places where the app above answers: empty until it registers (`runs.extension`)."""

from __future__ import annotations

from typing import Generic, TypeVar

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
