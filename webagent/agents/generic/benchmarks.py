"""What each benchmark lets an agent do, and how long: what its own publications use."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

MAX_STEPS = MappingProxyType({"short": 30, "standard": 50, "long": 100})
"""Ready lengths of a run, in steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """`actions`: names and groups of actions. `max_steps` is the benchmark's own limit.

    `ends_at_message`: its environment ends a run at the first message to the user, so that
    saying so again and again, as the detector of false completion expects, cannot happen.
    """

    actions: tuple[str, ...]
    max_steps: int
    ends_at_message: bool


_WEBARENA_ACTIONS = (
    "scroll",
    "keyboard_press",
    "click",
    "fill",
    "hover",
    "select_option",
    "nav",
    "tab",
    "chat",
    "infeas",
)

BENCHMARKS = MappingProxyType(
    {
        "miniwob": Benchmark(
            # Leaving the page ends a task with 0, and nobody reads messages.
            actions=("bid", "coord"),
            max_steps=MAX_STEPS["standard"],
            ends_at_message=False,
        ),
        "webarena": Benchmark(
            actions=_WEBARENA_ACTIONS,
            max_steps=MAX_STEPS["short"],
            ends_at_message=True,
        ),
        "visualwebarena": Benchmark(
            actions=_WEBARENA_ACTIONS,
            max_steps=MAX_STEPS["short"],
            ends_at_message=True,
        ),
        "workarena": Benchmark(
            actions=("bid", "tab", "nav", "chat", "infeas"),
            max_steps=MAX_STEPS["standard"],
            ends_at_message=False,
        ),
    }
)
DEFAULT_ACTIONS = ("bid", "nav", "tab", "chat", "infeas")
"""For tasks of no known benchmark."""
