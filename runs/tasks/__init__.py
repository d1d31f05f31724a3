"""Background tasks: thin, ids in, rows out. The sweep gathers what each part has to look after."""

from runs.tasks.imports import dispatch_imports, import_upload
from runs.tasks.reruns import execute_next_run
from runs.tasks.sweeping import sweep, swept
from runs.tasks.waking import wake_workers

__all__ = [
    "dispatch_imports",
    "execute_next_run",
    "import_upload",
    "sweep",
    "swept",
    "wake_workers",
]
