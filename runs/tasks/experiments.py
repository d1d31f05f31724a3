"""What the sweep does for experiments."""

from runs.execution.waiting import start_ready_experiments
from runs.tasks.sweeping import swept

swept(start_ready_experiments)
