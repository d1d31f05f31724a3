"""Background tasks: thin, ids in, rows out. The sweep gathers what each part has to look after.

Sweepers are called in the order in which they are imported here.
"""

from runs.execution import hint_writing as hint_writing  # registers how hints are written
from runs.execution import knowledge as knowledge  # registers how web knowledge is learned
from runs.tasks import api as api  # registers what it sweeps
from runs.tasks import experiments as experiments  # likewise
from runs.tasks.asking import ask_for
from runs.tasks.dispatching import dispatch
from runs.tasks.imports import dispatch_imports, import_upload
from runs.tasks.learning import dispatch_learning, learn
from runs.tasks.reruns import execute_next_run
from runs.tasks.space import after_measurement, ask_for_measurement, measure_when_due
from runs.tasks.sweeping import ask_for_sweep, sweep, swept
from runs.tasks.waking import wake_workers

__all__ = [
    "after_measurement",
    "ask_for",
    "ask_for_measurement",
    "ask_for_sweep",
    "dispatch",
    "dispatch_imports",
    "dispatch_learning",
    "execute_next_run",
    "import_upload",
    "learn",
    "measure_when_due",
    "sweep",
    "swept",
    "wake_workers",
]
