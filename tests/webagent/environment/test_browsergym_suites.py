"""BrowserGym's benchmarks of sites: what is missing is named, and what is there is wired up."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from webagent.environment import browsergym_suites, registry
from webagent.environment.interface import EnvironmentFailure, UnknownTask
from webagent.environment.registry import (
    ASSISTANTBENCH,
    SITE_BENCHMARKS,
    VISUALWEBARENA,
    WEBARENA,
    WORKARENA,
    SiteBenchmark,
    make_environment,
    suites,
    task_names,
    task_record,
)
from webagent.trajectory.faults import Fault

TASK = {
    "task_id": 7,
    "sites": ["reddit", "shopping"],
    "start_url": "__REDDIT__ |AND| __SHOPPING__",
    "intent": "Tell the price.",
    "intent_template": "Tell the {{what}}.",
    "eval": {"eval_types": ["string_match"]},
}


class TheTask:
    """Stands for the package's own class, which is made with a seed and a number."""

    def __init__(self, seed: int, task_id: int | str = 0) -> None:
        self.made_of = (seed, task_id)

    @classmethod
    def get_task_id(cls) -> str:
        return "workarena.servicenow.the-task"


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for benchmark in SITE_BENCHMARKS.values():
        for name in benchmark.read_variables:
            monkeypatch.delenv(name, raising=False)
    browsergym_suites._tasks_of.cache_clear()
    browsergym_suites._specifications.cache_clear()


def ready(monkeypatch: pytest.MonkeyPatch, benchmark: SiteBenchmark, **parts: Any) -> None:
    """The benchmark with a package of these parts, and sites of one host."""
    module = ModuleType(benchmark.module)
    vars(module).update(parts)
    monkeypatch.setitem(sys.modules, benchmark.module, module)
    monkeypatch.setattr(registry, "_is_installed", lambda name: True)
    monkeypatch.setattr(registry, "_version", dict(benchmark.pins).get)
    for port, name in enumerate((*benchmark.sites.values(), *benchmark.variables), start=7770):
        monkeypatch.setenv(name, f"http://sites.test:{port}/")


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("webarena.3", ("the package browsergym-webarena", "WA_SHOPPING", "WA_HOMEPAGE")),
        ("visualwebarena.3", ("the package browsergym-visualwebarena", "VWA_CLASSIFIEDS")),
        ("workarena.servicenow.x", ("the package browsergym-workarena", "SNOW_INSTANCE_URL")),
        ("assistantbench.imp.0", ("the package browsergym-assistantbench", "ASSISTANTBENCH_HOSTS")),
    ],
)
def test_what_a_benchmark_lacks_is_named(task: str, named: tuple[str, ...]) -> None:
    for ask in (make_environment, task_record):
        with pytest.raises(UnknownTask) as refused:
            ask(task)
        assert all(each in str(refused.value) for each in named)
    assert task.partition(".")[0] not in suites()


def test_only_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_is_installed", lambda name: True)
    given = dict.fromkeys(WEBARENA.sites.values(), "http://sites.test")
    assert WEBARENA.missing(given) == ()
    assert WEBARENA.missing(given | {"WA_MAP": " "}) == ("the environment variable WA_MAP",)


def test_what_a_package_needs_beside_itself_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As tried with the real packages: one imports torch, one insists on an older Playwright."""
    monkeypatch.setattr(registry, "_is_installed", lambda name: name != "torch")
    said = dict.fromkeys(VISUALWEBARENA.read_variables, "x")
    assert VISUALWEBARENA.missing(said) == (
        "the module torch, which browsergym-visualwebarena imports",
    )
    said = dict.fromkeys(WORKARENA.read_variables, "x")
    monkeypatch.setattr(registry, "_version", {"playwright": "1.65.2"}.get)
    assert WORKARENA.missing(said) == (
        "playwright 1.44.0, which browsergym-workarena insists on (1.65.2 is here)",
    )
    monkeypatch.setattr(registry, "_version", {"playwright": "1.44.0"}.get)
    assert WORKARENA.missing(said) == ()


def test_only_sites_with_an_address_are_there_to_ask() -> None:
    assert WEBARENA.addresses({"WA_MAP": " http://map.test ", "WA_REDDIT": ""}) == {
        "map": "http://map.test"
    }


def test_tasks_of_the_open_web_reach_the_hosts_that_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready(
        monkeypatch,
        ASSISTANTBENCH,
        task=SimpleNamespace(AssistantBenchTask=TheTask),
        TOY_AB_TASK_IDS=["assistantbench.imp.0"],
        VALID_AB_TASK_IDS=["assistantbench.validation.0", "assistantbench.validation.1"],
        TEST_AB_TASK_IDS=["assistantbench.test.0"],
    )
    assert "assistantbench" not in suites(), "without hosts there is nothing to reach"
    monkeypatch.setenv("ASSISTANTBENCH_HOSTS", " google.com, WWW.google.com ,,")
    assert "assistantbench" in suites()
    assert len(task_names("assistantbench")) == 4
    environment: Any = make_environment("assistantbench.validation.1")
    assert environment.entrypoint(seed=3).made_of == (3, "validation.1")
    assert environment.allowed_hosts == {"google.com", "www.google.com"}
    assert environment.foreign_hosts == frozenset()
    assert registry.ends_at_first_message("assistantbench.imp.0")


def test_numbered_tasks_are_made_by_their_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "test.raw.json").write_text(json.dumps([TASK]))
    monkeypatch.setattr(browsergym_suites, "files", lambda module: tmp_path)
    ready(
        monkeypatch,
        WEBARENA,
        task=SimpleNamespace(GenericWebArenaTask=TheTask),
        config=SimpleNamespace(TASK_IDS=range(9)),
    )
    assert "webarena" in suites()
    assert len(task_names("webarena")) == 9
    assert registry.ends_at_first_message("webarena.7")
    record = task_record("webarena.7")
    assert (record.external_id, record.task_set.name) == ("webarena.7", "webarena")
    assert (record.sites, record.max_steps) == (("reddit", "shopping"), 30)
    assert record.start_urls == ("__REDDIT__", "__SHOPPING__")
    assert record.eval == {"eval_types": ["string_match"]}
    environment: Any = make_environment("webarena.7")
    assert environment.entrypoint(seed=3).made_of == (3, 7)
    assert environment.allowed_hosts == {"sites.test"}
    # Its own two sites are the infrastructure's business, the others' error pages the agent's.
    assert environment.foreign_hosts == {
        f"sites.test:{port}" for port in (7771, 7773, 7774, 7775, 7776)
    }
    with pytest.raises(UnknownTask, match=r"no task 'webarena.99'"):
        make_environment("webarena.99")


def test_tasks_of_a_class_each_are_found_by_their_own_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready(monkeypatch, WORKARENA, ALL_WORKARENA_TASKS=[TheTask])
    assert task_names("workarena") == ("workarena.servicenow.the-task",)
    environment: Any = make_environment("workarena.servicenow.the-task")
    assert environment.entrypoint(seed=3).made_of == (3, 0)
    assert task_record("workarena.servicenow.the-task").goal == ()


def test_a_package_that_does_not_fit_says_why_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready(monkeypatch, WORKARENA)
    with pytest.raises(UnknownTask, match="browsergym-workarena cannot be used.*ALL_WORKARENA"):
        task_record("workarena.servicenow.x")


class OfAFarSite:
    """As WorkArena's tasks: it asks its site when it is made, before there is a browser."""

    viewport = {"width": 300, "height": 200}
    slow_mo = 0
    timeout = 5000
    locale = timezone_id = None

    def __init__(self, seed: int) -> None:
        raise RuntimeError("ServiceNow instance at http://sites.test:1 is not reachable.")

    @classmethod
    def get_task_id(cls) -> str:
        return "workarena.servicenow.the-task"


class OfAClosedSite(OfAFarSite):
    """As WebArena's tasks: it opens its site in the browser."""

    def __init__(self, seed: int) -> None:
        self.url = "http://127.0.0.1:9/"

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        page.goto(self.url)
        return "Never read", {}

    def teardown(self) -> None:
        pass


@pytest.mark.browser
@pytest.mark.parametrize("task", [OfAFarSite, OfAClosedSite])
def test_an_environment_is_made_up_to_the_first_missing_server(
    monkeypatch: pytest.MonkeyPatch, task: type
) -> None:
    """The site is to blame, and the same run may succeed later: no crash of the browser."""
    ready(monkeypatch, WORKARENA, ALL_WORKARENA_TASKS=[task])
    environment = make_environment("workarena.servicenow.the-task")
    try:
        with pytest.raises(EnvironmentFailure) as failed:
            environment.reset(3)
    finally:
        environment.close()
    assert failed.value.fault is Fault.SITE_NOT_READY
    assert failed.value.retriable
