"""News that goes up from this app."""

import logging
from uuid import UUID

from django.dispatch import Signal

logger = logging.getLogger(__name__)

run_ended = Signal()
"""A run has ended or was imported. Sent after commit with `run_id: UUID`."""


def announce_end(sender: type, run_id: UUID) -> None:
    """Send `run_ended`; a receiver that fails is logged and keeps none of the others from it."""
    for receiver, result in run_ended.send_robust(sender=sender, run_id=run_id):
        if isinstance(result, Exception):
            logger.error("%r failed for run %s: %s", receiver, run_id, result, exc_info=result)
