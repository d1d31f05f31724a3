"""BrowserGym's benchmarks of whole sites: what each is made of, and what it lacks here.

Their packages bring the tasks and the scoring; the sites run elsewhere, at the addresses that the
packages read from the environment. Nothing of them is imported to tell what is missing.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SiteBenchmark:
    """One benchmark, whose tasks are named `prefix.…`.

    Attributes:
        sites: variable of the environment with the site's address, by the site's name.
        variables: what else the package reads from the environment.
        tasks: name in the package of the class of all its tasks, which takes `task_id`; without
            it every task is a class of its own, listed in `classes`.
        specifications: module and file that specify its tasks, numbered by `task_id`.
        max_steps: the benchmark's own limit, as its publications use it.
    """

    prefix: str
    sites: Mapping[str, str]
    variables: tuple[str, ...] = ()
    tasks: str = ""
    classes: str = ""
    specifications: tuple[str, str] | None = None
    max_steps: int | None = None
    ends_at_message: bool = False

    @property
    def module(self) -> str:
        return f"browsergym.{self.prefix}"

    @property
    def package(self) -> str:
        """The package to install."""
        return f"browsergym-{self.prefix}"

    def missing(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """What its tasks lack here, in words; empty if they can run."""
        lacks = [] if _is_installed(self.module) else [f"the package {self.package}"]
        return (
            *lacks,
            *(
                f"the environment variable {name}"
                for name in (*self.sites.values(), *self.variables)
                if not environment.get(name, "").strip()
            ),
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is missing too
        return False


WEBARENA = SiteBenchmark(
    prefix="webarena",
    sites={
        "shopping": "WA_SHOPPING",
        "shopping_admin": "WA_SHOPPING_ADMIN",
        "reddit": "WA_REDDIT",
        "gitlab": "WA_GITLAB",
        "wikipedia": "WA_WIKIPEDIA",
        "map": "WA_MAP",
        "homepage": "WA_HOMEPAGE",
    },
    tasks="GenericWebArenaTask",
    specifications=("webarena", "test.raw.json"),
    max_steps=30,
    ends_at_message=True,
)
VISUALWEBARENA = SiteBenchmark(
    prefix="visualwebarena",
    sites={
        "classifieds": "VWA_CLASSIFIEDS",
        "shopping": "VWA_SHOPPING",
        "reddit": "VWA_REDDIT",
        "wikipedia": "VWA_WIKIPEDIA",
        "homepage": "VWA_HOMEPAGE",
    },
    variables=("VWA_CLASSIFIEDS_RESET_TOKEN",),
    tasks="GenericVisualWebArenaTask",
    specifications=("visualwebarena", "test_raw.json"),
    max_steps=30,
    ends_at_message=True,
)
WORKARENA = SiteBenchmark(
    prefix="workarena",
    sites={"servicenow": "SNOW_INSTANCE_URL"},
    variables=("SNOW_INSTANCE_UNAME", "SNOW_INSTANCE_PWD"),
    classes="ALL_WORKARENA_TASKS",
)
SITE_BENCHMARKS = MappingProxyType(
    {each.prefix: each for each in (WEBARENA, VISUALWEBARENA, WORKARENA)}
)
