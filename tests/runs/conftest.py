"""What many tests of runs use."""

from pathlib import Path
from typing import Any

import pytest

from runs.models import User
from tests.runs.factories import make_user
from tests.runs.storage.stores import use_store


@pytest.fixture
def engineer(db: None) -> User:
    return make_user("engineer")


@pytest.fixture
def store(settings: Any, tmp_path: Path) -> Path:
    return use_store(settings, tmp_path / "blobs")


@pytest.fixture
def place(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Path) -> list[str]:
    """A store and an upload folder of its own, and a list of the messages sent."""
    settings.UPLOAD_DIR = tmp_path / "uploads"
    settings.UPLOAD_DIR.mkdir()
    sent: list[str] = []
    monkeypatch.setattr(
        "runs.queue.workers.current_app.send_task", lambda name, args=(), **_: sent.extend(args)
    )
    return sent
