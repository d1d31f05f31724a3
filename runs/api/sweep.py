"""What the API leaves to the sweep."""

from runs.api.answers import forget_old_answers
from runs.queue.sweep_tasks import swept

swept(forget_old_answers)
