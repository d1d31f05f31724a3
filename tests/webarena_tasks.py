"""WebArena's own task file, as the package that requirements-webarena.txt pins brings it."""

import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

TASK_FILE = Path(str(distribution("libwebarena").locate_file("webarena/test.raw.json")))


def webarena_tasks() -> dict[str, dict[str, Any]]:
    """All 812 by their number."""
    return {str(task["task_id"]): task for task in json.loads(TASK_FILE.read_bytes())}
