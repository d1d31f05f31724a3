"""The published schema is the code's, and what is written obeys it."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.schema import LINE_FILES, MANIFEST, native_schema_text
from webagent.trajectory.formats.native.writer import write_folder
from webagent.trajectory.reading import open_runs

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "docs" / "schema" / "native-1.json"


def test_the_published_schema_is_current() -> None:
    """If not: `python -m webagent.trajectory.formats.native.schema > docs/schema/native-1.json`."""
    assert PUBLISHED.read_text() == native_schema_text()


def validator(name: str) -> Draft202012Validator:
    schema: dict[str, Any] = json.loads(PUBLISHED.read_text())
    return Draft202012Validator(
        {"$ref": schema["properties"][name]["$ref"], "$defs": schema["$defs"]}
    )


@pytest.mark.parametrize("sample", ["made up", "recorded"])
@pytest.mark.slow
def test_what_is_written_obeys_the_schema(tmp_path: Path, sample: str) -> None:
    if sample == "made up":
        write_folder(tmp_path, [run_bundle(0), run_bundle(1)])
    else:
        with open_runs(ROOT / "tests" / "data" / "agentlab") as source:
            write_folder(tmp_path, (b for b in source if isinstance(b, RunBundle)))
    Draft202012Validator.check_schema(json.loads(PUBLISHED.read_text()))
    validator(MANIFEST).validate(json.loads((tmp_path / MANIFEST).read_text()))
    lines = 0
    for name in LINE_FILES:
        check = validator(name)
        for line in (tmp_path / name).read_text().splitlines():
            check.validate(json.loads(line))
            lines += 1
    assert lines > 15


def test_the_schema_refuses_what_is_wrong() -> None:
    check = validator("steps.jsonl")
    assert check.is_valid({"run_id": "x", "index": 0, "unknown": 1})
    assert not check.is_valid({"run_id": "x", "index": -1})
    assert not check.is_valid({"run_id": "x", "index": 0, "state": "gone"})
