"""What each benchmark lets an agent do: what its own publications use."""

from __future__ import annotations

from types import MappingProxyType

MAX_STEPS = MappingProxyType({"short": 30, "standard": 50, "long": 100})
"""Ready lengths of a run, in steps."""

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

BENCHMARK_ACTIONS = MappingProxyType(
    {
        # Leaving the page ends a task with 0, and nobody reads messages.
        "miniwob": ("bid", "coord"),
        "webarena": _WEBARENA_ACTIONS,
        "visualwebarena": _WEBARENA_ACTIONS,
        "workarena": ("bid", "tab", "nav", "chat", "infeas"),
    }
)
"""Names and groups of actions."""
DEFAULT_ACTIONS = ("bid", "nav", "tab", "chat", "infeas")
"""For tasks of no known benchmark."""
