"""What many tests of runs use."""

from __future__ import annotations

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
