"""A run to change, and what tells that a hostile file was executed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.webagent.trajectory.agentlab_folders import LOGIN, SCRIPTED
from tests.webagent.trajectory.mutations import samples

MARKER = "/tmp/crosscheck_pickle_ran"  # noqa: S108 it must never appear


@pytest.fixture(autouse=True)
def unmarked() -> None:
    """What a broken reader left behind accuses no later run."""
    Path(MARKER).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a sample of each format, to be copied."""
    return samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def copy(tmp_path: Path) -> Callable[..., Path]:
    """A run folder of its own to damage, in a study folder."""

    def make(word: str = LOGIN, name: str | None = None) -> Path:
        original = next(SCRIPTED.glob(f"*{word}*"))
        target = tmp_path / "study" / (name or original.name)
        shutil.copytree(original, target, copy_function=shutil.copyfile)
        return target

    return make
