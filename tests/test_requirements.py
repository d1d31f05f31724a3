"""What is installed to run Crosscheck is there because something that runs needs it."""

import ast
import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[1]
CODE = ("runs", "judging", "webagent", "scripts", "manage.py")
NOT_IMPORTED = {
    "argon2-cffi": "loaded by Django for the setting PASSWORD_HASHERS",
    "gunicorn": "the web server, a program of its own",
    "whitenoise": "named as middleware and storage in the settings",
    "psycopg": "loaded by Django for a DATABASE_URL of PostgreSQL",
    "miniwob": "its pages are opened in a browser, its code is never imported",
    "opencv-python-headless": "the OpenCV without windows that RapidOCR imports",
    "async-timeout": "redis needs it for Python below 3.11.3, where the lock is made for",
    "psycopg-binary": "psycopg's own binary part, the extra [binary]",
}
"""Packages that no import and no other package's metadata here names, and why they stay."""


def names_in(file: str) -> set[str]:
    lines = (REPOSITORY / file).read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(found[0]) for line in lines if (found := re.match(r"[\w.-]+", line))}


def modules_imported() -> Iterator[str]:
    for part in CODE:
        root = REPOSITORY / part
        for path in [root] if root.is_file() else root.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Import):
                    yield from (alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.partition(".")[0]


def required_by(name: str) -> set[str]:
    """What an installed package needs here, extras aside."""
    needs = map(Requirement, importlib.metadata.requires(name) or [])
    return {
        canonicalize_name(need.name)
        for need in needs
        if need.marker is None or need.marker.evaluate({"extra": ""})
    }


def test_every_production_requirement_is_imported_or_needed_by_one_that_is() -> None:
    locked = names_in("requirements.txt")
    by_module = importlib.metadata.packages_distributions()
    modules = set(modules_imported())
    used = {canonicalize_name(each) for one in modules for each in by_module.get(one, ())}
    assert set(NOT_IMPORTED) - {"async-timeout"} <= locked, "an exception that is none any more"
    reached, waiting = set[str](), (used | set(NOT_IMPORTED)) & locked
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= (required_by(name) & locked) - reached
    assert sorted(locked - reached) == []


def test_what_is_asked_for_by_name_is_imported_or_explained() -> None:
    """What only tests import belongs to requirements-dev.in."""
    by_module = importlib.metadata.packages_distributions()
    modules = set(modules_imported())
    used = {canonicalize_name(each) for one in modules for each in by_module.get(one, ())}
    assert sorted(names_in("requirements.in") - used - set(NOT_IMPORTED)) == []


def test_what_an_override_leaves_out_is_not_locked() -> None:
    left_out = {
        line.partition(";")[0].partition("==")[0].strip()
        for line in (REPOSITORY / "overrides.txt").read_text(encoding="utf-8").splitlines()
        if "never" in line and not line.startswith("#")
    }
    assert {"mcp", "lxml"} <= left_out
    assert left_out & names_in("requirements.txt") == set()
