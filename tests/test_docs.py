"""The documents say what is true."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from scripts import reference
from tests.faults.failures_withstood import FAILURES
from webagent.trajectory.reading import READERS

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "runs",
    "judging",
    "webagent",
    "tests",
    "tools",
    "scripts",
    "docker",
    "static",
    "templates",
)
SUFFIXES = {".py", ".html", ".po", ".sh", ".yaml", ".yml", ".toml", ".example"}
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def pages_named_in_source() -> set[str]:
    """`agents.md`, wherever code or a page of the site says `docs/agents.md`."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    texts = (path.read_text() for path in paths if path.suffix in SUFFIXES and path.exists())
    return {name for text in texts for name in re.findall(r"docs/([\w.]+\.(?:md|toml))", text)}


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_pages_say_what_the_code_says(name: str) -> None:
    """If this fails: `make reference`."""
    assert (ROOT / "docs" / name).read_text() == reference.PAGES[name]()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_files_lead_somewhere(document: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", document.read_text()):
        page = document.parent / target if target else document
        if target.startswith("http"):
            continue
        assert page.exists(), target
        assert not anchor or anchor in anchors_of(page), f"{target}#{anchor}"


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """Of each heading its name in addresses, as GitHub makes it."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return frozenset(re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings)


@pytest.mark.parametrize("name", sorted(pages_named_in_source()))
def test_pages_named_in_the_source_are_there(name: str) -> None:
    assert (ROOT / "docs" / name).exists()


def test_every_failure_has_its_promise_and_its_tests() -> None:
    text = (ROOT / "docs/reliability.md").read_text()
    promised = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)}
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    caused = {int(n) for text in sources for n in re.findall(r"mark\.fault\(\s*(\d+),", text)}
    assert promised == {failure.number for failure in FAILURES} == caused


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_and_tests_that_are_named_are_there(document: Path) -> None:
    text = document.read_text()
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*[\w/])", text):
        if not path.endswith("/.env"):  # the operator writes it
            assert (ROOT / path).exists(), path
    assert set(re.findall(r"`(test_\w+)`", text)) <= names_of_tests()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_pages_keep_to_the_glossary(document: Path) -> None:
    """Of the words that it says to avoid, those that have no other meaning: whole phrases."""
    glossary = ROOT / "docs/glossary.md"
    cells = [line.split("|")[-2] for line in glossary.read_text().splitlines() if "|" in line]
    words = [re.sub(r"\(.*?\)", "", word).strip() for cell in cells for word in cell.split(",")]
    phrases = [word for word in words if " " in word]
    assert phrases
    text = document.read_text().lower()
    assert document == glossary or not [each for each in phrases if re.search(rf"\b{each}\b", text)]


def test_every_format_has_its_section_and_every_pitfall_its_tests() -> None:
    sections = (ROOT / "docs/formats.md").read_text().split("\n## ")[2:]
    names = [re.search(r"\(`(\w+)`\)$", section.splitlines()[0]) for section in sections]
    assert sorted(name[1] for name in names if name) == sorted(reader.name for reader in READERS)
    for section in sections:
        pitfalls = section.split("**Pitfalls**\n")[1].strip().splitlines()
        assert all(re.search(r"`test_\w+`\)$", pitfall) for pitfall in pitfalls), section


@cache
def names_of_tests() -> frozenset[str]:
    files = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    return frozenset(name for text in files for name in re.findall(r"def (test_\w+)", text))
