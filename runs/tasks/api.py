"""What the API leaves to the sweep."""

from runs.execution.api_answers import forget_old_answers
from runs.tasks.sweeping import swept

swept(forget_old_answers)
