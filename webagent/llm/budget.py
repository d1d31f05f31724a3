"""A cap on spending that concurrent calls cannot overrun."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from webagent.llm.interface import FailureKind, ModelFailure


class Reservation:
    """Money set aside for one try. Unless told otherwise, all of it is spent."""

    def __init__(self, amount: Decimal) -> None:
        self.amount = amount
        self.spent = amount

    def settle(self, spent: Decimal) -> None:
        """Say what the try did cost; the rest goes back."""
        self.spent = spent


class Budget:
    """At most `limit` US dollars, over all threads that share it.

    The most that a try may cost is set aside before it is made. A try that does not fit beside
    those in the air waits for them; one that cannot fit any more is refused.
    """

    def __init__(self, limit: Decimal, spent: Decimal = Decimal(0)) -> None:
        if not limit.is_finite() or limit < 0:
            raise ValueError("a limit of spending is a number of dollars, at least 0")
        self.limit = limit
        self._spent = spent
        self._reserved = Decimal(0)
        self._in_the_air = 0
        self._changed = threading.Condition()

    @property
    def spent(self) -> Decimal:
        """What was spent so far, in US dollars."""
        with self._changed:
            return self._spent

    @contextmanager
    def reserve(self, amount: Decimal) -> Iterator[Reservation]:
        """Set the amount aside while the block runs, then count what its reservation says.

        Raises:
            ModelFailure: OUT_OF_BUDGET, the amount does not fit into what is left.
        """
        self._take(amount)
        reservation = Reservation(amount)
        try:
            yield reservation
        finally:
            with self._changed:
                self._reserved -= amount
                self._in_the_air -= 1
                self._spent += reservation.spent
                self._changed.notify_all()

    def _take(self, amount: Decimal) -> None:
        with self._changed:
            while self._spent + self._reserved + amount > self.limit:
                if self._spent + amount > self.limit or self._in_the_air == 0:
                    raise ModelFailure(
                        FailureKind.OUT_OF_BUDGET,
                        f"the next call may cost up to ${_dollars(amount)}, but of the cap of"
                        f" ${_dollars(self.limit)} only ${_dollars(self.limit - self._spent)}"
                        " is left",
                    )
                self._changed.wait()
            self._reserved += amount
            self._in_the_air += 1


def _dollars(amount: Decimal) -> str:
    return f"{max(amount, Decimal(0)):.4f}"
