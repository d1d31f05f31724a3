"""What a run's models read, wrote and cost, for its page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runs.models import Run
from runs.models.shown_runs import hides_something


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpending:
    """Sums over a run's model calls, those of abandoned branches included; None for unknown.

    `unpriced`: so many of the calls have no known price, and are not in `cost`.
    """

    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None
    unpriced: int


def spending_facts(run: Run) -> dict[str, Any]:
    """Nothing where no tokens are known, or the run hides something from the viewer."""
    if hides_something(run) or (run.input_tokens is None and run.output_tokens is None):
        return {}
    unpriced = _number(run.record.get("extra"), "unpriced_calls")
    return {
        "spending": RunSpending(
            input_tokens=run.input_tokens,
            cached_tokens=_number(run.record.get("totals"), "cached_tokens"),
            output_tokens=run.output_tokens,
            cost=run.cost,
            unpriced=unpriced or 0,
        )
    }


def _number(table: object, name: str) -> int | None:
    """Records come from outside too: what is no number is not known."""
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
