"""The documents say what is true."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from scripts import reference
from webagent.trajectory.reading import READERS

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_pages_say_what_the_code_says(name: str) -> None:
    """If this fails: `make reference`."""
    assert (ROOT / "docs" / name).read_text() == reference.PAGES[name]()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_files_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_every_failure_names_the_tests_that_cause_it() -> None:
    table = (ROOT / "docs/reliability.md").read_text().split("## Where each is caused")[1]
    rows = dict(re.findall(r"^\| (\d+) \|(.*)$", table.split("##")[0], re.M))
    for path in (ROOT / "tests").rglob("test_*.py"):
        for number in re.findall(r"mark\.fault\(\s*(\d+),", path.read_text()):
            assert f"`{path.relative_to(ROOT)}`" in rows[number], (number, path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_tests_that_are_named_are_there(document: Path) -> None:
    text = document.read_text()
    for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / path).exists(), path
    assert set(re.findall(r"`(test_\w+)`", text)) <= names_of_tests()


def test_every_format_says_what_becomes_of_it() -> None:
    names = re.findall(r"^## .*\(`(\w+)`\)$", (ROOT / "docs/formats.md").read_text(), re.M)
    # Our own has a page of its own.
    assert sorted([*names, "native"]) == sorted(reader.name for reader in READERS)


def test_every_format_has_its_traps_and_every_trap_its_tests() -> None:
    text = (ROOT / "docs/format_traps.md").read_text()
    names = re.findall(r"^## .*\(`(\w+)`\)$", text, re.M)
    assert sorted(names) == sorted(reader.name for reader in READERS)
    for section in text.split("\n## ")[1:]:
        assert section.count("\n| ") > 1, f"no trap of {section.splitlines()[0]}"
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith("| trap |"):
            continue
        tests = re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", line.rsplit("|", 2)[1])
        assert tests, f"no test shows: {line}"
        for path, name in tests:
            assert name in names_in(path), (path, name)


@cache
def names_in(path: str) -> frozenset[str]:
    """Every test of a file, as pytest names it: `test_x`, `TestAll::test_y`."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inside = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {f"{node.name}::{each.name}" for each in inside}
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


@cache
def names_of_tests() -> frozenset[str]:
    files = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    return frozenset(name for text in files for name in re.findall(r"def (test_\w+)", text))
