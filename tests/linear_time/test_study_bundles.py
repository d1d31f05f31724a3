"""Study bundles are checked and read, and tables written as Parquet, in linear time."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judging.models import Study
from judging.portability.judgements.columns import Type
from judging.portability.judgements.data_tables import DATA_TABLES
from judging.portability.judgements.table_parquet import write_parquet
from judging.portability.study_bundles.kinds import KINDS
from judging.portability.study_bundles.reading import BundleError, StudyBundle
from tests.judging.portability.test_study_bundles import (
    bundle_of,
    study,  # noqa: F401 - a fixture
)
from tests.linear_time import grown
from tests.linear_time.growth import Sizes, size_grows_too_fast
from tests.webagent.trajectory.formats import members, zip_of
from webagent.trajectory.intake import Bounds

LINES = Sizes(100, 800)
CHARACTERS = Sizes(10_000, 80_000)
ROWS = Sizes(500, 4_000)
HEAD = "study/bundle.json"


@pytest.fixture
def files(request: pytest.FixtureRequest, tmp_path: Path) -> grown.Files:
    made: Study = request.getfixturevalue("study")
    found = members(bundle_of(made, tmp_path / "study.zip"))
    return {name: content for name, content in found.items() if "study/" in name}


def _written(files: grown.Files, path: Path) -> Path:
    """A bundle whose head says what its files hold."""
    head = json.loads(files[HEAD])
    for name, told in head["files"].items():
        told["sha256"] = hashlib.sha256(files[f"study/{name}"]).hexdigest()
    path.write_bytes(zip_of(files | {HEAD: json.dumps(head).encode()}))
    return path


def _read(path: Path) -> bool:
    try:
        bundle = StudyBundle(path, Bounds())
    except BundleError:
        return False
    with bundle:
        for kind in KINDS.values():
            list(bundle.lines(kind))
        return True


def _changed(files: grown.Files, change: Callable[[list[bytes]], list[bytes]]) -> grown.Files:
    """The files of lines changed, but for the study's own line."""
    return {
        name: b"\n".join([*change(content.splitlines()), b""])
        if name.endswith(".jsonl") and not name.endswith("/study.jsonl")
        else content
        for name, content in files.items()
    }


def _longer_lists(value: Any, n: int) -> Any:
    if isinstance(value, dict):
        return {key: _longer_lists(item, n) for key, item in value.items()}
    return value * n if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.sqlite_only("reads files")
def test_a_study_bundle_takes_linear_time(files: grown.Files, tmp_path: Path) -> None:
    def more_lines(n: int) -> Path:
        return _written(_changed(files, lambda lines: lines * n), tmp_path / f"lines-{n}.zip")

    def longer_lists(n: int) -> Path:
        def longer(lines: list[bytes]) -> list[bytes]:
            return [json.dumps(_longer_lists(json.loads(one), n)).encode() for one in lines]

        return _written(_changed(files, longer), tmp_path / f"lists-{n}.zip")

    def longer_texts(n: int) -> Path:
        lines = {name: content for name, content in files.items() if name != HEAD}
        longer = grown.with_longer_texts(lines, "a (" * (n // 3))
        return _written(files | longer, tmp_path / f"texts-{n}.zip")

    assert _read(_written(files, tmp_path / "as-it-is.zip"))
    assert size_grows_too_fast(_read, more_lines, LINES) is None
    assert size_grows_too_fast(_read, longer_lists, LINES) is None
    assert size_grows_too_fast(_read, longer_texts, CHARACTERS) is None


HOSTILE: dict[Type, Callable[[int], Any]] = {
    Type.TEXT: lambda n: "a" * n,
    Type.WHOLE: lambda n: 2**63 - 1,
    Type.NUMBER: lambda n: 1e308,
    Type.MONEY: lambda n: 99_999_999,
    Type.YES_NO: lambda n: True,
    Type.TIME: lambda n: "9" * n,
    Type.WORDS: lambda n: ["a"] * n,
    Type.JSON: lambda n: [[]] * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA_TABLES)
def test_a_table_is_written_as_parquet_in_linear_time(name: str) -> None:
    columns = DATA_TABLES[name].columns
    assert {column.type for column in columns} <= HOSTILE.keys()

    def write(rows: list[dict[str, Any]]) -> None:
        write_parquet(io.BytesIO(), columns, rows)

    def row(n: int) -> dict[str, Any]:
        return {column.name: HOSTILE[column.type](n) for column in columns}

    assert size_grows_too_fast(write, lambda n: [row(9)] * n, ROWS) is None
    assert size_grows_too_fast(write, lambda n: [row(n)] * 9, CHARACTERS) is None
