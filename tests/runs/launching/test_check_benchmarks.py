"""The command that says what benchmarks of sites have and lack."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.webagent.sites import Sites
from webagent.environment import registry
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import SITE_BENCHMARKS, WEBARENA

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for benchmark in SITE_BENCHMARKS.values():
        for name in benchmark.read_variables:
            monkeypatch.delenv(name, raising=False)


def check(*arguments: str) -> tuple[str, int]:
    """What it prints, and its exit code."""
    out = io.StringIO()
    try:
        call_command("check_benchmarks", *arguments, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(end.code or 0)
    return out.getvalue(), 0


def test_what_is_missing_of_every_benchmark_is_named() -> None:
    said, code = check()
    assert code == 0
    for benchmark in SITE_BENCHMARKS.values():
        assert f"{benchmark.prefix:<15} not ready" in said
        for lack in benchmark.missing():
            assert f"  lacks {lack}" in said


def test_one_that_is_named_and_not_ready_ends_with_1() -> None:
    said, code = check("workarena", "--json")
    (found,) = json.loads(said)["benchmarks"]
    assert (code, found["benchmark"], found["ready"]) == (1, "workarena", False)
    with pytest.raises(CommandError, match="no benchmark nonsense"):
        check("nonsense")


def test_sites_are_asked_and_tasks_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sites() as sites:
        for site, name in WEBARENA.sites.items():
            monkeypatch.setenv(name, sites.hosts[site])
        monkeypatch.setattr(registry, "_is_installed", lambda name: True)
        command = "runs.launching.management.commands.check_benchmarks.task_names"
        monkeypatch.setattr(command, lambda prefix: ("webarena.0", "webarena.1"))
        said, code = check("webarena")
        assert code == 0, said
        assert "ready" in said
        assert ", 2 tasks" in said
        assert "  map: ready" in said
        sites.answers["/users/sign_in"] = (502, {}, b"")
        said, code = check("webarena")
        assert code == 1
        assert f"gitlab: {sites.url}: login: HTTP 502" in said


def test_a_package_that_does_not_work_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(prefix: str) -> Any:
        raise UnknownTask("browsergym-webarena cannot be used here: no tokenizer")

    with Sites() as sites:
        for site, name in WEBARENA.sites.items():
            monkeypatch.setenv(name, sites.hosts[site])
        monkeypatch.setattr(registry, "_is_installed", lambda name: True)
        command = "runs.launching.management.commands.check_benchmarks.task_names"
        monkeypatch.setattr(command, broken)
        said, code = check("webarena")
    assert code == 1
    assert "cannot be used here: no tokenizer" in said
