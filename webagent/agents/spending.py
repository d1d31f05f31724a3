"""What the model calls of one run have taken, and how much they may take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from webagent.trajectory.records import EndReason, Json, LlmCall


@dataclass(slots=True)
class Spending:
    """Sums over every call, those of other agents and of abandoned branches included.

    A call whose price is not known adds nothing to the money; `unpriced` counts such calls, but
    not those of which nothing came.
    """

    max_tokens: int | None = None
    max_cost: Decimal | None = None
    calls: list[LlmCall] = field(default_factory=list)
    tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, calls: Iterable[LlmCall]) -> None:
        """Count these calls too."""
        for call in calls:
            self.calls.append(call)
            self.tokens += (call.input_tokens or 0) + (call.output_tokens or 0)
            if call.cost is not None:
                self.cost += call.cost
            elif call.input_tokens:
                self.unpriced += 1

    @property
    def end(self) -> EndReason | None:
        """The limit that is used up; None as long as there is something left."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return EndReason.TOKEN_LIMIT
        if self.max_cost is not None and self.cost >= self.max_cost:
            return EndReason.COST_LIMIT
        return None

    def summary(self) -> Json | None:
        """The limits for the run's record; None where there are none."""
        limits: Json = {}
        if self.max_tokens is not None:
            limits["max_tokens"] = self.max_tokens
        if self.max_cost is not None:
            limits["max_cost"] = str(self.max_cost)
            if self.unpriced:
                limits["calls_without_a_price"] = self.unpriced
        return limits or None
