import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def which_browser(executable: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "webagent.environment"],
        cwd=ROOT,
        env=os.environ | {"CHROMIUM_EXECUTABLE": str(executable)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_browser_that_would_be_driven_is_printed(tmp_path):
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = which_browser(program)
    assert (found.returncode, found.stdout.strip()) == (0, str(program))


def test_set_up_is_told_when_there_is_none(tmp_path):
    found = which_browser(tmp_path / "nowhere")
    assert found.returncode == 1
    assert "no program" in found.stderr


def test_set_up_asks_this_command():
    assert "-m webagent.environment " in (ROOT / "scripts" / "find_browser.sh").read_text()
    assert "scripts/find_browser.sh" in (ROOT / "scripts" / "install_services.sh").read_text()
