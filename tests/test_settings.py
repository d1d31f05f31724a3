"""A bad setting stops the start with one clear line, before anything else happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from webagent.settings.base import database
from webagent.settings.environment import read_environment
from webagent.settings.files import make_folder, read_or_make_secret_key

ROOT = Path(__file__).resolve().parent.parent


CHECK = ("manage.py", "check")
READ = ("-c", "from django.conf import settings; settings.SECRET_KEY")
"""What a start does first, without all the rest."""


def start(
    settings_module: str, command: tuple[str, ...] = CHECK, /, **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=kept | {"DJANGO_SETTINGS_MODULE": settings_module} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


MAKES_A_FOLDER = """
import os, subprocess, sys
from pathlib import Path
os.environ.pop("DATA_DIR", None)
from webagent.settings.test import DATA_DIR
subprocess.run([sys.executable, "-c", "import webagent.settings.test"], check=True)
if not (child := os.fork()):
    sys.exit()
os.waitpid(child, 0)
print([DATA_DIR] == [*Path(os.environ["TMPDIR"]).glob("crosscheck-test-*")])
"""


@pytest.mark.slow
def test_the_folder_of_a_test_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    ended = start("webagent.settings.test", ("-c", MAKES_A_FOLDER), TMPDIR=str(tmp_path))
    assert ended.stdout.strip() == "True", ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrong",
    [
        {
            "PORT": "eighty",
            "LANGUAGE": "tlh",
            "MAX_ATTEMPTS": "0",
            "SECRET_KEY": "too-short-secret",
            "MODELS_FILE": "/nowhere/models.toml",
        },
        {"TIME_ZONE": "Mars/Olympus"},
        {"DATABASE_URL": "nonsense://x"},
    ],
    ids=", ".join,
)
@pytest.mark.slow
def test_wrong_values_are_named_in_one_line_and_no_secret_with_them(
    tmp_path: Path, wrong: dict[str, str]
) -> None:
    ended = start("webagent.settings.local", DATA_DIR=str(tmp_path), **wrong)
    assert ended.returncode != 0
    assert [name for name in wrong if name not in ended.stderr] == []
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "too-short-secret" not in ended.stderr + ended.stdout


def test_no_other_database_is_taken(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be like postgresql://"):
        database("mysql://u@localhost/d", tmp_path)


@pytest.mark.parametrize("missing", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS"])
@pytest.mark.slow
def test_production_demands_what_it_needs(tmp_path: Path, missing: str) -> None:
    given = {
        "SECRET_KEY": "x" * 50,
        "DATABASE_URL": "postgresql://u@localhost/d",
        "REDIS_URL": "redis://localhost",
        "ALLOWED_HOSTS": "example.org",
    }
    del given[missing]
    ended = start("webagent.settings.production", READ, DATA_DIR=str(tmp_path), **given)
    assert ended.returncode != 0
    assert ended.stderr.strip() == (f"Crosscheck cannot start, {missing} must be set in production")


@pytest.mark.slow
def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    given = {
        "SECRET_KEY": "k7Jq-2mZ" * 8,
        "DATABASE_URL": "postgresql://u@localhost/d",
        "REDIS_URL": "redis://localhost",
        "ALLOWED_HOSTS": "example.org",
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "webagent.settings.production",
    }
    ended = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_local_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    assert start("webagent.settings.local", READ, DATA_DIR=str(tmp_path)).returncode == 0
    key = tmp_path / "secret_key"
    first = key.read_text()
    assert len(first) >= 50
    assert key.stat().st_mode & 0o077 == 0
    assert start("webagent.settings.local", READ, DATA_DIR=str(tmp_path)).returncode == 0
    assert key.read_text() == first


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"PORT": "70000"}, "PORT"),
        ({"REDIS_URL": "foo"}, "REDIS_URL"),
        ({"REDIS_URL": "http://:secret@h:6379"}, "REDIS_URL"),
        ({"LEASE_S": "30", "HEARTBEAT_S": "16"}, "HEARTBEAT_S: Value error, must be at most half"),
        ({"LEASE_S": "x"}, "LEASE_S"),
    ],
)
def test_values_that_cannot_work_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], named: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=named) as stopped:
        read_environment()
    assert "secret" not in str(stopped.value)


@pytest.mark.parametrize(
    "given",
    [
        {"REDIS_URL": ""},
        {"REDIS_URL": "redis://:secret@h:6379/0"},
        {"REDIS_URL": "rediss://h/1"},
        {"LEASE_S": "30", "HEARTBEAT_S": "15"},
    ],
)
def test_values_that_work_are_kept(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    kept = read_environment().model_dump()
    assert {name: str(kept[name]) for name in given} == given


def test_a_data_directory_that_cannot_be_used_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(SystemExit, match="DATA_DIR cannot be used") as stopped:
            make_folder(path)
        assert len(str(stopped.value).splitlines()) == 1


@pytest.mark.parametrize("left", ["", "\n", "cut-off"])
def test_what_a_crash_left_of_a_secret_key_is_not_used(tmp_path: Path, left: str) -> None:
    path = tmp_path / "secret_key"
    path.write_text(left)
    key = read_or_make_secret_key(path)
    assert len(key) >= 50
    assert read_or_make_secret_key(path) == key == path.read_text()


def test_a_secret_key_that_cannot_be_kept_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="secret key"):
        read_or_make_secret_key(tmp_path / "nowhere" / "secret_key")


REGISTERS = re.compile(r"^(@shared_task\(|@swept$|swept\(|learns\()", re.MULTILINE)


def test_every_module_with_background_work_is_named() -> None:
    files = [path for app in ("runs", "judging") for path in (ROOT / app).rglob("*.py")]
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in files
        if REGISTERS.search(path.read_text())
    }
    assert found == set(settings.CELERY_IMPORTS)


@pytest.mark.django_db
@pytest.mark.sqlite_only("tests a command's refusal")
def test_the_demo_is_refused_where_it_is_not_allowed() -> None:
    with pytest.raises(CommandError, match="passwords are public"):
        call_command("load_demo")
