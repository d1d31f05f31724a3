"""Replies of models: kept for good, and asked for by a provider's batch API.

A batch takes long and is cheaper at some providers. Round by round: what an evaluator asks first
about each run goes up in one batch, and what it asks next is known once those replies are there.
They are kept like any other; evaluating then finds them.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import DatabaseError
from django.utils import timezone

from judging.evaluators.contract import Evaluator
from judging.models import JudgeReply
from runs.models import Run
from runs.queue.paid_work import WorkRefusedError
from runs.queue.steps import retry_write
from webagent.llm.budget import ReplyCache, cache_key
from webagent.llm.client import batch_desk
from webagent.llm.interface import (
    BatchDesk,
    BatchState,
    FailureKind,
    LanguageModel,
    ModelFailure,
    Reply,
    Request,
    Usage,
)
from webagent.llm.registry import ModelEntry
from webagent.llm.wire import most_cost_of_batch

logger = logging.getLogger(__name__)

POLL_S = 30.0
MOST_ROUNDS = 8
"""More rounds than any judge's stages and repairs take."""


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """Replies by key, shared by all threads and workers.

    Of two that come for the same key at the same time the later one stays; both were paid. Those
    from before `since` are not used, so that models are asked again.
    """

    since: datetime | None = None

    def get(self, key: str) -> Reply | None:
        """The reply as it was put, or None."""
        found = JudgeReply.objects.filter(pk=key)
        if self.since is not None:
            found = found.filter(created_at__gte=self.since)
        stored = retry_write(found.values_list("reply", flat=True).first)
        return None if stored is None else _reply(stored)

    def put(self, key: str, reply: Reply) -> None:
        """Keep it. It was paid, so this waits for a database that is away."""
        stored = asdict(reply) | {"cost": None if reply.cost is None else str(reply.cost)}
        row = JudgeReply(key=key, reply=stored, created_at=timezone.now())
        retry_write(
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


class StillWaitingError(Exception):
    """The batch continues at the provider; the message is its id, by which it can be fetched."""


@dataclass(slots=True)
class Collected:
    """What came of the batches: replies kept, their cost in US dollars, requests that failed.

    `n_unpriced`: so many replies have no known price, and are not in `cost`.
    """

    n_replies: int = 0
    n_unpriced: int = 0
    cost: Decimal = Decimal(0)
    failures: dict[str, ModelFailure] = field(default_factory=dict)


@dataclass(slots=True)
class _Recorder:
    """A model that answers from the cache, and records what is not there."""

    entry: ModelEntry
    replies: ReplyCache
    failed: Collection[str]
    missing: dict[str, Request] = field(default_factory=dict)

    def complete(self, request: Request) -> Reply:
        key = cache_key(request, self.entry)
        kept = self.replies.get(key)
        if kept is not None:
            return kept
        if key not in self.failed:
            self.missing[key] = request
        raise ModelFailure(FailureKind.NOT_CONFIGURED, "it is to be asked in a batch")


@dataclass(slots=True)
class BatchAsking:
    """One evaluator's questions about some runs.

    `make`: the evaluator with this model before it. `wait`: between two looks at a batch; it waits
    so many seconds, and is False if nobody wants to wait any longer. `max_cost`: what all batches
    together may cost, in US dollars.
    """

    make: Callable[[LanguageModel], Evaluator]
    entry: ModelEntry
    replies: ReplyCache
    _: KW_ONLY
    wait: Callable[[float], bool]
    max_cost: Decimal | None
    tell: Callable[[str], object]
    collected: Collected = field(default_factory=Collected)

    def ask(self, runs: Callable[[], Iterator[Run]], *, batch_id: str = "") -> Collected:
        """Ask for every reply that is not cached; what failed is left to be asked singly.

        Args:
            batch_id: of a batch that was handed in before and is to be fetched first.

        Raises:
            StillWaitingError: `wait` ran out; what was fetched until then is kept.
            WorkRefusedError: the next batch could cost more than is left.
            ModelFailure: the provider takes no batch, or took it and failed.
        """
        with closing(batch_desk(self.entry)) as desk:
            if batch_id:
                self._fetch(desk, batch_id)
            for _ in range(MOST_ROUNDS):
                missing = self._missing(runs())
                if not missing:
                    break
                self._check_cost(missing)
                batch_id = desk.submit(list(missing.values()))
                self.tell(f"{len(missing)} requests handed in as batch {batch_id}")
                self._fetch(desk, batch_id)
        return self.collected

    def _missing(self, runs: Iterator[Run]) -> dict[str, Request]:
        noting = _Recorder(self.entry, self.replies, self.collected.failures)
        evaluator = self.make(noting)
        for run in runs:
            try:
                evaluator.evaluate(run)
            except DatabaseError:
                raise
            except Exception:
                # Evaluating comes to it too, and says then what broke on which run.
                logger.debug("An evaluator broke on run %s.", run.pk, exc_info=True)
        return noting.missing

    def _check_cost(self, missing: dict[str, Request]) -> None:
        if self.max_cost is None:
            return
        most = most_cost_of_batch(list(missing.values()), self.entry)
        if most is None or self.collected.cost + most > self.max_cost:
            raise WorkRefusedError(
                f"the next {len(missing)} requests may cost up to ${most or 0:.4f}, which does not"
                f" fit into ${self.max_cost}: a batch cannot be stopped at a limit. Ask about"
                " fewer runs, or raise the limit"
            )

    def _fetch(self, desk: BatchDesk, batch_id: str) -> None:
        while True:
            try:
                progress = desk.poll(batch_id)
            except ModelFailure as failure:
                if not failure.kind.is_temporary:
                    raise
            else:
                if progress.state is BatchState.FAILED:
                    raise ModelFailure(
                        FailureKind.REJECTED, f"batch {batch_id} failed: {progress.reason}"
                    )
                if progress.state is BatchState.ENDED:
                    break
            if not self.wait(POLL_S):
                raise StillWaitingError(batch_id)
        for key, outcome in desk.collect(batch_id):
            self._keep(key, outcome)

    def _keep(self, key: str, outcome: Reply | ModelFailure) -> None:
        collected = self.collected
        if isinstance(outcome, ModelFailure):
            collected.failures[key] = outcome
            return
        self.replies.put(key, outcome)
        collected.n_replies += 1
        if outcome.cost is None:
            collected.n_unpriced += 1
        else:
            collected.cost += outcome.cost
