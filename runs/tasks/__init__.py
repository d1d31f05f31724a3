"""Background tasks: thin, ids in, rows out. The sweep gathers what each part has to look after."""

from runs.tasks.dispatching import dispatch, dispatch_due
from runs.tasks.imports import dispatch_imports, import_upload
from runs.tasks.reruns import execute_run
from runs.tasks.sweeping import sweep, swept

__all__ = [
    "dispatch",
    "dispatch_due",
    "dispatch_imports",
    "execute_run",
    "import_upload",
    "sweep",
    "swept",
]
