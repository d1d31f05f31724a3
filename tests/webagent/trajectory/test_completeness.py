"""What a source names is stored, or the run says what is missing: for every format.

Each thing that a sample names (pictures, steps, numbers) is taken from it or broken, one by one.
What the run held before and holds no more must then be a gap, a problem or a rejection.
"""

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import read
from tests.webagent.trajectory.mutations import Mutation, mutations
from webagent.trajectory.bundles import RunBundle, blobs_of
from webagent.trajectory.intake import Rejection
from webagent.trajectory.records import BlobRecord

pytestmark = pytest.mark.slow

FORMATS = (
    *("agentlab", "agentrewardbench", "atif", "browser_use", "browser_use_embedded"),
    *("computer_use", "inspect_ai", "native", "online_mind2web_v1", "online_mind2web_v2"),
    *("playwright_trace", "webarena", "webarena_verified", "webvoyager", "wonderbread"),
)
UNNAMED = {
    # Steps are counted from 1 or 2, and nothing says how many there are.
    "browser_use": ("history.0", "history.2"),
    "browser_use_embedded": ("history.0", "history.2"),
    # Pictures may be counted from 1.
    "online_mind2web_v1": ("/0_full_screenshot.png",),
}
"""What nothing else in the source tells of: it may be gone without a word."""


@dataclass
class Held:
    """What was read of a sample, and what was told of the rest."""

    leaves: Counter[str] = field(default_factory=Counter)
    """Every value of every record, but for where it was read from."""
    words: str = ""
    pictures: set[str] = field(default_factory=set)
    told: int = 0
    """Gaps and problems; a gap that counts several is so many."""
    rejected: int = 0
    missing_pictures: int = 0


def held(folder: Path) -> Held:
    found = Held()
    for item in read(folder):
        if not isinstance(item, RunBundle):
            found.told += 1
            found.rejected += isinstance(item, Rejection)
            continue
        n_gaps = sum(gap.count or 1 for gap in item.run.gaps)
        found.told += n_gaps + len(item.problems) - len(item.run.gaps)
        found.missing_pictures += sum(
            gap.count or 1 for gap in item.run.gaps if "screenshot" in gap.what
        )
        found.pictures |= {blob.sha256 for blob in shown(item)}
        for record in item.records():
            content = record.to_json() | {"source": None, "gaps": None}
            leaves(content, type(record).__name__, found.leaves)
            found.words += json.dumps(content)
        blobs = (blob for record in item.records() for blob in blobs_of(record))
        for blob in blobs:
            if blob.role != "source" and not blob.media_type.startswith("image/"):
                found.words += item.read_blob(blob.sha256).decode("utf-8", "replace")
    return found


def shown(bundle: RunBundle) -> list[BlobRecord]:
    seen = [look for step in bundle.steps for look in (step.before, step.after) if look]
    pictures = [picture for look in seen for picture in (look.screenshot, look.marked_screenshot)]
    kept = [blob for step in bundle.steps for blob in step.messages]
    return [blob for blob in (*pictures, *kept) if blob and blob.media_type.startswith("image/")]


def leaves(value: Any, path: str, found: Counter[str]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            leaves(item, f"{path}.{key}", found)
    elif isinstance(value, list):
        for item in value:
            leaves(item, path, found)
    elif value is not None:
        found[f"{path}={value}"] += 1


def why_silent(before: Held, after: Held, mutation: Mutation) -> str:
    """What went and was not told; empty if nothing did."""
    lost = before.leaves - after.leaves
    if not lost or after.told > before.told or after.rejected > before.rejected:
        return ""
    if mutation.what == "picture":
        named = len(before.pictures) + before.missing_pictures
        if len(after.pictures) + after.missing_pictures >= named:
            return ""
    if mutation.what == "number" and any(each in after.words for each in spelled(mutation.value)):
        return ""
    return f"{mutation.what} {mutation.where} {mutation.how}: {sorted(lost)[:3]}"


def spelled(value: Any) -> set[str]:
    """How a record may hold a number that was put into a source; NaN is held by none."""
    if isinstance(value, str):
        return {value}
    # A time may be kept in other units.
    return {str(value), *map(repr, (value * 1.0, value / 1000))} if value == 2**63 else set()


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_taken_or_broken_is_told(
    originals: dict[str, Path], tmp_path: Path, name: str
) -> None:
    before = held(originals[name])
    silent, tried = [], Counter[str]()
    for place, mutation in enumerate(mutations(originals[name])):
        if mutation.how == "removed" and mutation.where.endswith(UNNAMED.get(name, ())):
            continue
        folder = shutil.copytree(originals[name], tmp_path / str(place) / name)
        mutation.change(folder)
        if why := why_silent(before, held(folder), mutation):
            silent.append(why)
        tried[mutation.what] += 1
        shutil.rmtree(folder.parent)
    assert not silent, "\n".join(silent)
    assert sum(tried.values()) > 10, tried


def test_every_format_is_tried(originals: dict[str, Path]) -> None:
    assert set(originals) == set(FORMATS)
