"""Background tasks: thin, ids in, rows out. The sweep gathers what each part has to look after."""

from runs.tasks.dispatching import dispatch, dispatch_due
from runs.tasks.reruns import execute_run
from runs.tasks.sweeping import sweep, swept

__all__ = ["dispatch", "dispatch_due", "execute_run", "sweep", "swept"]
