"""News that goes up from this app."""

from django.dispatch import Signal

run_ended = Signal()
"""A run has ended or was imported. Sent after commit with `run_id: UUID`."""
