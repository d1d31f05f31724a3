"""What models replied, kept in the database so that the same question is paid once."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.utils import timezone

from judging.models import JudgeReply
from runs.queue.steps import patiently
from webagent.llm.interface import Reply, Usage


class StoredReplies:
    """Replies by key, shared by all threads and workers.

    Of two that come for the same key at the same time the later one stays; both were paid.

    Args:
        since: replies from before that are not used, so that models are asked anew.
    """

    def __init__(self, since: datetime | None = None) -> None:
        self._since = since

    def get(self, key: str) -> Reply | None:
        """The reply as it was put, or None."""
        found = JudgeReply.objects.filter(pk=key)
        if self._since is not None:
            found = found.filter(created_at__gte=self._since)
        stored = patiently(found.values_list("reply", flat=True).first)
        return None if stored is None else _reply(stored)

    def put(self, key: str, reply: Reply) -> None:
        """Keep it. It was paid, so this waits for a database that is away."""
        stored = asdict(reply) | {"cost": None if reply.cost is None else str(reply.cost)}
        row = JudgeReply(key=key, reply=stored, created_at=timezone.now())
        patiently(
            partial(
                JudgeReply.objects.bulk_create,
                [row],
                update_conflicts=True,
                unique_fields=["key"],
                update_fields=["reply", "created_at"],
            )
        )


def _reply(stored: dict[str, Any]) -> Reply:
    cost = stored["cost"]
    return Reply(
        **stored
        | {"usage": Usage(**stored["usage"]), "cost": None if cost is None else Decimal(cost)}
    )
