"""What the sweep does for experiments."""

from runs.launching.experiments.waiting import start_ready_experiments
from runs.queue.sweeping import swept

swept(start_ready_experiments)
