"""Which environment stands behind a task's name: the part before the first dot tells.

A suite is a module with `environment`, `task_record` and `task_names` (see `miniwob`). It is
imported when its first task is asked for, so that what is not used need not be installed.

BrowserGym's benchmarks of whole sites: what each is made of, and what it lacks here.

Their packages bring the tasks and the scoring; the sites run elsewhere, at the addresses that the
packages read from the environment. Nothing of them is imported to tell what is missing.
"""

import importlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol, cast

from webagent.environment.browser import BrowserSettings
from webagent.environment.interface import Environment, UnknownTask
from webagent.trajectory.records import TaskRecord


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SiteBenchmark:
    """One benchmark, whose tasks are named `prefix.…`.

    Attributes:
        sites: variable of the environment with the site's address, by the site's name.
        variables: what else the package reads from the environment.
        tasks: name in the package of the class of all its tasks, which takes `task_id`; without
            it every task is a class of its own, listed in `classes`.
        task_lists: names in the package of lists of its tasks' names, for packages whose class
            takes a `task_id` that is no number.
        specifications: module and file that specify its tasks, numbered by `task_id`.
        modules: what the package imports and does not come with it everywhere.
        pins: versions that the package insists on when it is imported, by package.
        hosts_variable: of a benchmark of the open web: variable with the hosts that its browsers
            may reach, with commas.
        max_steps: the benchmark's own limit, as its publications use it.
    """

    prefix: str
    sites: Mapping[str, str]
    variables: tuple[str, ...] = ()
    tasks: str = ""
    classes: str = ""
    task_lists: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    hosts_variable: str = ""
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

    @property
    def read_variables(self) -> tuple[str, ...]:
        """Every variable of the environment that it needs."""
        hosts = (self.hosts_variable,) if self.hosts_variable else ()
        return (*self.sites.values(), *self.variables, *hosts)

    @property
    def version(self) -> str | None:
        """Of its package, if that is here."""
        return _version(self.package)

    def missing(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """What its tasks lack here, in words; empty if they can run."""
        unset = [name for name in self.read_variables if not environment.get(name, "").strip()]
        return (*self._missing_packages(), *(f"the environment variable {name}" for name in unset))

    def addresses(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The address of each site that has one."""
        said = {site: environment.get(name, "").strip() for site, name in self.sites.items()}
        return {site: address for site, address in said.items() if address}

    def _missing_packages(self) -> Iterator[str]:
        if not _is_installed(self.module):
            yield f"the package {self.package}"
            return
        for name in self.modules:
            if not _is_installed(name):
                yield f"the module {name}, which {self.package} imports"
        for name, wanted in self.pins:
            if (there := _version(name)) != wanted:
                yield f"{name} {wanted}, which {self.package} insists on ({there} is here)"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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
    modules=("torch",),
    specifications=("visualwebarena", "test_raw.json"),
    max_steps=30,
    ends_at_message=True,
)
WORKARENA = SiteBenchmark(
    prefix="workarena",
    sites={"servicenow": "SNOW_INSTANCE_URL"},
    variables=("SNOW_INSTANCE_UNAME", "SNOW_INSTANCE_PWD"),
    classes="ALL_WORKARENA_TASKS",
    pins=(("playwright", "1.44.0"),),
)
ASSISTANTBENCH = SiteBenchmark(
    prefix="assistantbench",
    sites={},
    tasks="AssistantBenchTask",
    task_lists=("TOY_AB_TASK_IDS", "VALID_AB_TASK_IDS", "TEST_AB_TASK_IDS"),
    modules=("datasets",),
    hosts_variable="ASSISTANTBENCH_HOSTS",
    ends_at_message=True,
)
SITE_BENCHMARKS = {
    each.prefix: each for each in (WEBARENA, VISUALWEBARENA, WORKARENA, ASSISTANTBENCH)
}


_SUITES = {"larkfield": "webagent.environment.larkfield", "miniwob": "webagent.environment.miniwob"}

# Of benchmarks whose packages and sites may be here or not.
_SITE_SUITES = "webagent.environment.browsergym_suites"

# Benchmarks that BrowserGym knows, and what it takes to run them.
_NOT_SET_UP = {
    "webarena_verified": "the package `browsergym-webarena-verified` and the benchmark's sites",
    "weblinx": "the package `weblinx-browsergym` and its data",
}


class Suite(Protocol):
    """What the module of a suite offers.

    Each raises UnknownTask: there is no such task, or what the suite needs does not work here.
    """

    def environment(
        self, task_name: str, settings: BrowserSettings, step_timeout_s: float
    ) -> Environment: ...

    def task_record(self, task_name: str) -> TaskRecord: ...

    def task_names(self) -> tuple[str, ...]: ...


def register_suite(prefix: str, module: str) -> None:
    """From now on tasks named `prefix.…` come from that module, given by its dotted name."""
    _SUITES[prefix] = module


def suites() -> tuple[str, ...]:
    """The prefixes of the suites that are here."""
    ready = [name for name, benchmark in SITE_BENCHMARKS.items() if not benchmark.missing()]
    return tuple(sorted({*_SUITES, *ready}))


def prepare_browser() -> None:
    """Have what each run's browser needs started in the background, before there is a run."""
    # It imports Playwright, which whoever only asks for tasks can do without.
    from webagent.environment.browsergym_environment import spare_driver

    spare_driver.prepare()


def make_environment(
    task_name: str, *, settings: BrowserSettings | None = None, step_timeout_s: float = 60.0
) -> Environment:
    """An environment for the task, not yet started.

    Raises:
        UnknownTask: no suite here has it; the message says what is missing.
    """
    suite = _suite(task_name)
    return suite.environment(task_name, settings or BrowserSettings(), step_timeout_s)


def task_record(task_name: str) -> TaskRecord:
    """The task as a record, its id being its name.

    Raises:
        UnknownTask: no suite here has it.
    """
    return _suite(task_name).task_record(task_name)


def task_names(prefix: str) -> tuple[str, ...]:
    """Every task of a suite.

    Raises:
        UnknownTask: there is no such suite.
    """
    return _suite(f"{prefix}.").task_names()


def ends_at_first_message(task_name: str) -> bool:
    """Whether the task is over as soon as the agent says something: no second message is sent.

    A suite says so by `ENDS_AT_FIRST_MESSAGE = True`.

    Raises:
        UnknownTask: no suite here has it.
    """
    return bool(getattr(_suite(task_name), "ENDS_AT_FIRST_MESSAGE", False))


def _suite(task_name: str) -> Suite:
    prefix, dot, _ = task_name.partition(".")
    if dot and prefix in _SUITES:
        return cast("Suite", importlib.import_module(_SUITES[prefix]))
    if dot and prefix in SITE_BENCHMARKS:
        if lacks := SITE_BENCHMARKS[prefix].missing():
            raise UnknownTask(f"{prefix} cannot run here; it lacks {', '.join(lacks)}.")
        return cast("Suite", importlib.import_module(_SITE_SUITES).SUITES[prefix])
    known = ", ".join(f"{name}.…" for name in suites())
    if prefix in _NOT_SET_UP:
        raise UnknownTask(
            f"{task_name!r} cannot run here: it needs {_NOT_SET_UP[prefix]}, and a suite "
            f"registered for {prefix!r}. Suites that are here: {known}."
        )
    raise UnknownTask(f"No suite provides {task_name!r}. Suites that are here: {known}.")
