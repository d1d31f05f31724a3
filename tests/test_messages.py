"""The Japanese catalogue is complete."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_no_text_is_missing_fuzzy_or_left_over() -> None:
    ended = subprocess.run(
        [sys.executable, "scripts/messages.py", "check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
