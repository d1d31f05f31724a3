"""What each benchmark lets an agent do, and how long: what its own publications use."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

MAX_STEPS = MappingProxyType({"short": 30, "standard": 50, "long": 100})
"""Ready lengths of a run, in steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """`actions`: names and groups of actions. `max_steps` is the benchmark's own limit.

    `ends_at_message`: its environment ends a run at the first message to the user, so that
    saying so again and again, as the detector of false completion expects, cannot happen.
    `packages` are modules, `sites` environment variables, that a run of its tasks needs.
    """

    actions: tuple[str, ...]
    max_steps: int
    ends_at_message: bool
    packages: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()


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
            packages=("browsergym.miniwob", "miniwob"),
        ),
        "webarena": Benchmark(
            actions=_WEBARENA_ACTIONS,
            max_steps=MAX_STEPS["short"],
            ends_at_message=True,
            packages=("browsergym.webarena",),
            sites=(
                "WA_SHOPPING",
                "WA_SHOPPING_ADMIN",
                "WA_REDDIT",
                "WA_GITLAB",
                "WA_WIKIPEDIA",
                "WA_MAP",
                "WA_HOMEPAGE",
            ),
        ),
        "visualwebarena": Benchmark(
            actions=_WEBARENA_ACTIONS,
            max_steps=MAX_STEPS["short"],
            ends_at_message=True,
            packages=("browsergym.visualwebarena",),
            sites=(
                "VWA_CLASSIFIEDS",
                "VWA_CLASSIFIEDS_RESET_TOKEN",
                "VWA_SHOPPING",
                "VWA_REDDIT",
                "VWA_WIKIPEDIA",
                "VWA_HOMEPAGE",
            ),
        ),
        "workarena": Benchmark(
            actions=("bid", "tab", "nav", "chat", "infeas"),
            max_steps=MAX_STEPS["standard"],
            ends_at_message=False,
            packages=("browsergym.workarena",),
            sites=("SNOW_INSTANCE_URL", "SNOW_INSTANCE_UNAME", "SNOW_INSTANCE_PWD"),
        ),
    }
)
DEFAULT_ACTIONS = ("bid", "nav", "tab", "chat", "infeas")
"""For tasks of no known benchmark."""


def missing(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """What a benchmark lacks here, in words; empty if its tasks can run.

    Raises:
        KeyError: it is not known.
    """
    benchmark = BENCHMARKS[name]
    packages = [
        f"the package {module.replace('.', '-')}"
        for module in benchmark.packages
        if not _is_installed(module)
    ]
    sites = [
        f"the environment variable {variable}"
        for variable in benchmark.sites
        if not environment.get(variable, "").strip()
    ]
    return (*packages, *sites)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is missing too
        return False
