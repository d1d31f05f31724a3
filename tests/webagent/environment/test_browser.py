"""Finding and starting Chromium."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from webagent.environment import browser
from webagent.environment.browser import (
    BrowserNotFound,
    BrowserSettings,
    Hosts,
    chromium_arguments,
    find_chromium,
)


@pytest.fixture(autouse=True)
def empty_machine(monkeypatch, tmp_path):
    """A machine without any browser and without settings."""
    monkeypatch.delenv(browser.EXECUTABLE_VARIABLE, raising=False)
    monkeypatch.delenv(browser.SANDBOX_VARIABLE, raising=False)
    monkeypatch.setattr(browser, "SYSTEM_CANDIDATES", ())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def program(tmp_path):
    def make(name: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def test_the_order_is_setting_playwright_system_path(monkeypatch, program):
    explicit, variable = program("explicit"), program("variable")
    playwright, system = program("playwright"), program("system")
    on_path = program("bin/chromium")
    assert find_chromium(None, None) == on_path
    monkeypatch.setattr(browser, "SYSTEM_CANDIDATES", ("/nowhere/chromium", system))
    assert find_chromium(None, None) == system
    assert find_chromium(None, "/nowhere/chrome") == system
    assert find_chromium(None, playwright) == playwright
    monkeypatch.setenv("CHROMIUM_EXECUTABLE", variable)
    assert find_chromium(None, playwright) == variable
    assert find_chromium(explicit, playwright) == explicit


def test_without_a_browser_it_is_said_what_to_do():
    with pytest.raises(
        BrowserNotFound, match="apt install chromium.*CHROMIUM_EXECUTABLE"
    ) as caught:
        find_chromium(None, "/nowhere/chrome")
    assert not caught.value.retriable


def test_a_setting_that_is_no_program_is_not_passed_over(monkeypatch, program, tmp_path):
    (tmp_path / "text").write_text("no program")
    for bad in ("/nowhere/chrome", str(tmp_path), str(tmp_path / "text")):
        monkeypatch.setenv("CHROMIUM_EXECUTABLE", bad)
        with pytest.raises(BrowserNotFound, match="no program"):
            find_chromium(None, program("playwright"))


def test_every_name_but_the_tasks_own_is_not_found():
    hosts = Hosts(
        allowed=frozenset({"shop.example"}), local={"miniwob.localhost": "127.0.0.1:4000"}
    )
    assert hosts.resolver_rules() == (
        "MAP miniwob.localhost 127.0.0.1:4000, MAP * ~NOTFOUND, EXCLUDE shop.example"
    )
    assert "shop.example" in hosts
    assert "miniwob.localhost" in hosts
    assert "127.0.0.1" not in hosts
    assert None not in hosts


def test_there_is_one_list_of_disabled_features_and_other_flags_are_kept():
    arguments = chromium_arguments(Hosts(), ["--window-size=1,2", "--disable-features=Mine,Other"])
    (features,) = [flag for flag in arguments if flag.startswith("--disable-features=")]
    names = features.partition("=")[2].split(",")
    assert {"Mine", "Other", "OverlayScrollbars", "HttpsUpgrades"} <= set(names)
    assert "--window-size=1,2" in arguments
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in arguments


def test_the_sandbox_is_used_unless_root_or_told_otherwise(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert BrowserSettings().wants_sandbox()
    assert not BrowserSettings(sandbox=False).wants_sandbox()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not BrowserSettings().wants_sandbox()
    assert BrowserSettings(sandbox=True).wants_sandbox()
    monkeypatch.setenv("CHROMIUM_SANDBOX", "1")
    assert BrowserSettings().wants_sandbox()
    monkeypatch.setenv("CHROMIUM_SANDBOX", "off")
    assert not BrowserSettings().wants_sandbox()


ROOT = Path(__file__).resolve().parents[3]


def which_browser(executable: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "webagent.environment"],
        cwd=ROOT,
        env=os.environ | {"CHROMIUM_EXECUTABLE": str(executable)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_the_browser_that_would_be_driven_is_printed(tmp_path):
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = which_browser(program)
    assert (found.returncode, found.stdout.strip()) == (0, str(program))


@pytest.mark.slow
def test_set_up_is_told_when_there_is_none(tmp_path):
    found = which_browser(tmp_path / "nowhere")
    assert found.returncode == 1
    assert "no program" in found.stderr


def test_set_up_asks_this_command():
    assert "-m webagent.environment " in (ROOT / "scripts" / "find_browser.sh").read_text()
    assert "scripts/find_browser.sh" in (ROOT / "scripts" / "install_services.sh").read_text()
