"""What a process pays for that asks no model."""

import subprocess
import sys


def test_sdks_are_imported_only_when_a_model_is_asked() -> None:
    code = (
        "import sys, webagent.llm.client\nprint(sorted({'anthropic', 'openai'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert ended.stdout.strip() == "[]"
