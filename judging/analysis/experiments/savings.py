"""What stopping stuck runs early saved, by configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.sources import Source
from runs.launching.policies.run_facts import Saving, saving_in
from runs.models import Run


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """How many runs were stopped, and at most how much more they could have taken."""

    runs: int = 0
    saved: Saving = Saving(0, None)


def stopped_early(scope: Scope, source: Source) -> Mapping[int, StoppedEarly]:
    """By configuration, of the runs that count; in one query."""
    stopped = scope.counted(source).filter(end_reason=Run.EndReason.HARNESS_LOOP_STOP)
    found: dict[int, StoppedEarly] = {}
    rows = stopped.values_list("agent", "n_steps", "cost", "record__extra__recovery")
    for agent, n_steps, cost, recovery in rows:
        before = found.get(agent, StoppedEarly())
        told = recovery if isinstance(recovery, dict) else {}
        found[agent] = StoppedEarly(before.runs + 1, before.saved + saving_in(told, n_steps, cost))
    return found
