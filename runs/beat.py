"""The scheduler of what is done again and again, which goes on after its machine's clock was set
back. Celery's own would be silent till that clock has caught up, and no dead worker be noticed.
"""

from __future__ import annotations

from typing import Any

from celery.beat import PersistentScheduler


class SteadyScheduler(PersistentScheduler):
    """Celery's, but for a last time that lies ahead: it is taken for now."""

    def tick(self, *positional: Any, **named: Any) -> float:
        """Send what is due; the seconds till it wants to be asked again."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # the next times follow from the last ones
        return super().tick(*positional, **named)
