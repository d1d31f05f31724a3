"""A few of the damaged samples that `python -m tests.fuzz all` makes by the thousand."""

import json
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import damaged, damaged_json
from tests.fuzz.importers import IMPORTERS, FoundError, Importer
from tests.fuzz.running import fuzz, within
from tests.fuzz.storing import broken, storing
from tests.runs.storage.stores import use_store

pytestmark = pytest.mark.slow

QUICK = (
    "native",
    "atif",
    "computer_use",
    "inspect_ai",
    "playwright_trace",
    "webarena_native",
    "webarena_verified",
    "webvoyager",
    "labels",
    "label_lines",
)
"""The others have samples of a megabyte and more."""


@pytest.mark.parametrize("name", [*QUICK, "patches", "milestones", "tasks"])
def test_damaged_samples_are_read_or_refused(name: str) -> None:
    tally = fuzz(IMPORTERS[name], range(12))
    assert tally.examples == 12
    assert tally.found == {}, tally.seeds


@pytest.mark.django_db
@pytest.mark.postgresql_only("it refuses more texts")
def test_damaged_samples_are_stored_whole_and_once(settings, tmp_path) -> None:
    use_store(settings, tmp_path)
    for name in ("native", "atif"):
        importer = storing(IMPORTERS[name])
        assert importer is not None
        tally = fuzz(importer, range(4))
        assert tally.found == {}, tally.seeds
    assert broken() == []


@given(st.integers(min_value=0))
@settings(max_examples=25)
def test_the_same_number_does_the_same_damage(seed: int) -> None:
    content = json.dumps({"steps": [{"action": "click('7')", "url": "http://x/"}] * 3}).encode()
    assert damaged("a.json", content, Random(seed)) == damaged("a.json", content, Random(seed))


def test_most_damage_changes_something() -> None:
    content = json.dumps({"steps": [{"action": "click('7')"}] * 3, "at": None}).encode()
    made = {damaged_json(content, Random(seed)) for seed in range(200)}
    assert len(made - {content}) > 100


def test_what_an_importer_does_wrong_is_found(tmp_path: Path) -> None:
    """Else the tests above would pass over anything."""
    (tmp_path / "x.json").write_text("{}")

    def breaks(_given: Path) -> int:
        raise KeyError("steps")

    tally = fuzz(Importer("broken", lambda: [tmp_path], breaks), range(3))
    assert list(tally.found.values()) == [3]
    assert "KeyError" in next(iter(tally.found))


def test_who_takes_too_long_is_found() -> None:
    with pytest.raises(FoundError, match="took more than 1 s"), within(1):
        time.sleep(20)
