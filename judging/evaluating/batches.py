"""Carrying out a batch of evaluations: resumed where it stopped, whoever dies over it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from judging.evaluating.evaluating import (
    BATCH,
    Again,
    evaluation_of,
    in_order,
    runs_of,
    runs_to_evaluate,
    store_evaluations,
)
from judging.evaluators.registry import UnknownEvaluatorError, evaluator_of, usable_entry
from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem, JudgeReply
from runs.models import Run
from runs.queue.paid_work import Watcher, Worker, WorkRefusedError
from runs.queue.steps import retry_write
from webagent.llm.budget import ReplyCache
from webagent.llm.interface import LanguageModel, Reply, Usage
from webagent.llm.registry import ModelEntry


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


def carry_out(batch_id: UUID, watcher: Watcher[EvaluationBatch] | None = None) -> bool:
    """Work on a batch until it is through or has to stop; False if it was not there to be had."""
    batch = EvaluationBatch.objects.claim(batch_id, lease_s=settings.ENV.LEASE_S)
    if batch is None:
        return False
    _BatchWorker(batch, watcher).carry_out()
    return True


def add_items(batch: EvaluationBatch, run_ids: Sequence[UUID]) -> int:
    """Make these the runs of the batch; how many. Doing so twice changes nothing."""
    EvaluationBatchItem.objects.bulk_create(
        [
            EvaluationBatchItem(batch=batch, run_id=run_id, position=position)
            for position, run_id in enumerate(run_ids)
        ],
        batch_size=1000,
        ignore_conflicts=True,
    )
    return len(run_ids)


class _BatchWorker(Worker[EvaluationBatch, Run, Evaluation]):
    """One batch under way."""

    at_once_without_model = BATCH

    def choose(self) -> int:
        batch = self.work
        if batch.study is None:
            return batch.items.count()
        runs = runs_to_evaluate(batch.evaluator, runs_of(batch.study), Again(batch.again))
        return add_items(batch, list(runs.values_list("pk", flat=True)[: batch.limit]))

    def prepare(self, model: LanguageModel | None) -> None:
        try:
            self._evaluator = evaluator_of(self.work.evaluator, language_model=model)
        except UnknownEvaluatorError as error:
            raise WorkRefusedError(str(error)) from error

    def entry(self) -> ModelEntry:
        return usable_entry(self.work.model)

    def replies(self) -> ReplyCache:
        # Whoever asks for another evaluation does not want the old reply once more.
        again = self.work.again != Again.NEVER
        return StoredReplies(self.work.created_at if again else None)

    def items(self) -> Iterator[Run]:
        waiting = self.work.items.filter(is_done=False)
        ids = list(waiting.order_by("position").values_list("run_id", flat=True))
        return in_order(ids)

    def do(self, item: Run) -> Evaluation:
        return evaluation_of(item, self._evaluator, self.work.evaluator)

    def store(self, done: list[Evaluation]) -> dict[str, int]:
        batch = self.work
        for row in done:
            row.batch = batch
        made = store_evaluations(done, batch.evaluator, again=Again(batch.again))
        batch.items.filter(run__in=[row.run_id for row in done]).update(is_done=True)
        counts = {
            f"n_{verdict}": getattr(batch, f"n_{verdict}") + made[verdict]
            for verdict in Evaluation.Verdict.values
        }
        counts["n_already"] = batch.n_already + len(done) - made.total()
        return counts | {"n_done": sum(counts.values())}
