"""An archive without its end: it says so, and no run of it claims to be complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.webagent.trajectory.formats import read, zipped
from tests.webagent.trajectory.mutations import samples
from tests.webagent.trajectory.test_completeness import FORMATS
from webagent.trajectory.bundles import Rejection, RunBundle

SHARES = (0.3, 0.6, 0.9, 0.99)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return samples(tmp_path_factory.mktemp("samples"))


@pytest.mark.parametrize("name", FORMATS)
def test_no_run_of_a_cut_archive_claims_to_be_complete(
    originals: dict[str, Path], tmp_path: Path, name: str
) -> None:
    archive = zipped(originals[name], tmp_path / "whole.zip")
    whole = {item.content_hash for item in read(archive) if isinstance(item, RunBundle)}
    content = archive.read_bytes()
    for share in SHARES:
        cut = tmp_path / "cut.zip"
        cut.write_bytes(content[: int(len(content) * share)])
        found = read(cut)
        assert any("cut short" in item.reason for item in found if not isinstance(item, RunBundle))
        runs = [item for item in found if isinstance(item, RunBundle)]
        # Native files tell which runs are whole.
        assert not runs or name == "native"
        assert {run.content_hash for run in runs} <= whole
        assert runs or any(isinstance(item, Rejection) for item in found)
