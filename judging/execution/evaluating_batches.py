"""Carrying out a batch of evaluations: resumed where it stopped, whoever dies over it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction

from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import UnknownEvaluatorError, evaluator_of
from judging.execution.evaluating import (
    BATCH,
    Again,
    evaluation_of,
    runs_of,
    runs_to_evaluate,
    store_evaluations,
)
from judging.execution.replies import StoredReplies
from judging.language_models import ModelUnavailableError, model_registry, usable_entry
from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem
from runs.execution.crews import Alone, Threads
from runs.execution.metering import Asking, Meter
from runs.execution.pulse import Pulse
from runs.execution.steps import patiently
from runs.models import Run
from runs.workers import is_stopping
from webagent.llm.budget import Budget
from webagent.llm.client import Client

logger = logging.getLogger(__name__)

STORE_EVERY_S = 0.25
LOOK_EVERY_S = 1.0
UNLIMITED = Decimal(1_000_000_000)
DIED = "The worker died again and again in this batch; nothing more will be tried by itself."

State = EvaluationBatch.State


class BatchLostError(Exception):
    """The lease ran out and another worker has the batch now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run with what was said of it, and what became of the requests to the model."""

    row: Evaluation
    asking: Asking


Crew: TypeAlias = Alone[Run, Judged] | Threads[Run, Judged]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Whoever waits for a batch: told of its progress, and asked whether they still want it."""

    on_progress: Callable[[EvaluationBatch], object] = lambda _batch: None
    is_interrupted: Callable[[], bool] = lambda: False


NOBODY = Watcher()


def carry_out(batch_id: UUID, watcher: Watcher = NOBODY) -> bool:
    """Work on a batch until it is through or has to stop; False if it was not there to be had.

    What was evaluated is stored as it comes, so that nothing is evaluated twice.
    """
    batch = EvaluationBatch.objects.claim(batch_id, lease_s=settings.ENV.LEASE_S)
    if batch is None:
        return False
    try:
        with Pulse(partial(_renew, batch), lost=BatchLostError):
            state, changes = _carry_out(batch, watcher)
        if state is State.QUEUED:
            EvaluationBatch.objects.hand_back(batch.pk, batch.lease_token)
        elif not EvaluationBatch.objects.end(batch.pk, batch.lease_token, state=state, **changes):
            raise BatchLostError
    except BatchLostError:
        logger.warning("Batch %s was taken over by another worker.", batch.pk)
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


def sweep_batches() -> None:
    """End what was to be cancelled or cannot be done, where no worker is left to do so."""
    EvaluationBatch.objects.cancel_abandoned()
    EvaluationBatch.objects.give_up(max_barren=settings.ENV.MAX_ATTEMPTS, error=DIED)


def _renew(batch: EvaluationBatch, **changes: Any) -> None:
    held = EvaluationBatch.objects.renew(
        batch.pk, batch.lease_token, lease_s=settings.ENV.LEASE_S, **changes
    )
    if not held:
        raise BatchLostError


def _carry_out(batch: EvaluationBatch, watcher: Watcher) -> tuple[State, dict[str, object]]:
    """State and last changes of the batch. Raises BatchLostError."""
    try:
        if batch.n_total is None:
            patiently(partial(_choose, batch))
        with _asked_model(batch) as asked:
            return _Work(batch, asked, watcher).do()
    except (BatchLostError, DatabaseError):
        raise  # The sweep has it taken up again.
    except (UnknownEvaluatorError, ModelUnavailableError) as error:
        return State.FAILED, {"error": str(error)}
    except Exception as error:  # a fault of ours must not look like a dead worker
        logger.exception("Batch %s broke.", batch.pk)
        return State.FAILED, {"error": f"{type(error).__name__}: {error}"}


@transaction.atomic
def _choose(batch: EvaluationBatch) -> None:
    """Fix which runs of the study the batch is about."""
    if batch.study is None:
        return
    runs = runs_to_evaluate(batch.evaluator, runs_of(batch.study), Again(batch.again))
    ids = list(runs.values_list("pk", flat=True)[: batch.limit])
    _renew(batch, n_total=len(ids))
    batch.n_total = add_items(batch, ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedModel:
    """The model of a batch, with its meter, and how many requests it takes at a time."""

    meter: Meter
    at_a_time: int


@contextmanager
def _asked_model(batch: EvaluationBatch) -> Iterator[_AskedModel | None]:
    """The model that the batch asks, None if it asks none. Raises ModelUnavailableError."""
    if not batch.model:
        yield None
        return
    entry = usable_entry(batch.model)
    budget = None
    if entry.prices is not None or batch.max_cost is not None:
        budget = Budget(UNLIMITED if batch.max_cost is None else batch.max_cost, batch.spent)
    # Whoever asks for another evaluation does not want the old reply once more.
    since = None if batch.again == Again.NEVER else batch.created_at
    with Client(model_registry(), budget=budget, cache=StoredReplies(since)) as client:
        yield _AskedModel(meter=Meter(client, budget), at_a_time=entry.max_concurrency)


class _Work:
    """The batch under way: runs to a crew, what it says into the database."""

    def __init__(self, batch: EvaluationBatch, asked: _AskedModel | None, watcher: Watcher) -> None:
        self._batch = batch
        self._asked = asked
        self._meter = asked.meter if asked else None
        self._watcher = watcher
        self._unpriced_before = batch.n_unpriced
        self._evaluator: Evaluator = evaluator_of(batch.evaluator, language_model=self._meter)
        self._looked_at = 0.0
        self._is_cancelled = False

    def do(self) -> tuple[State, dict[str, object]]:
        """Evaluate until nothing is left, or there is a reason to stop."""
        with self._crew() as crew:
            runs = self._runs()
            while True:
                stop = self._why_stop()
                if stop is None:
                    for run in islice(runs, crew.room):
                        crew.submit(run)
                else:
                    crew.drop_waiting()
                if not crew.under_way:
                    break
                self._store(self._gather(crew))
        self._write_costs()
        return stop or (State.FINISHED, {})

    def _crew(self) -> AbstractContextManager[Crew]:
        if self._asked is None:
            return Alone(self._judge, at_a_time=BATCH)
        return Threads(self._judge, size=self._asked.at_a_time)

    def _judge(self, run: Run) -> Judged:
        if self._meter is None:
            row = evaluation_of(run, self._evaluator, self._batch.evaluator)
            return Judged(row=row, asking=Asking())
        with self._meter.asking() as asking:
            row = evaluation_of(run, self._evaluator, self._batch.evaluator)
        return Judged(row=row, asking=asking)

    def _runs(self) -> Iterator[Run]:
        """The runs still to be evaluated, in order."""
        waiting = self._batch.items.filter(is_done=False)
        ids = list(waiting.order_by("position").values_list("run_id", flat=True))
        for start in range(0, len(ids), BATCH):
            part = ids[start : start + BATCH]
            found = Run.objects.select_related("task__task_set").in_bulk(part)
            yield from (found[run_id] for run_id in part if run_id in found)

    def _gather(self, crew: Crew) -> list[Judged]:
        """What comes in a quarter of a second, so that a transaction holds more than one run."""
        until = time.monotonic() + STORE_EVERY_S
        gathered: list[Judged] = []
        while crew.under_way and (left := until - time.monotonic()) > 0:
            gathered += crew.results(left)
            if crew.is_short:
                break
        return gathered

    def _why_stop(self) -> tuple[State, dict[str, object]] | None:
        if self._watcher.is_interrupted():
            return State.CANCELLED, {}
        if is_stopping():
            return State.QUEUED, {}
        if self._meter is not None and self._meter.breakdown:
            return State.FAILED, {"error": self._meter.breakdown}
        if self._meter is not None and self._meter.is_out_of_budget:
            return State.STOPPED_BY_BUDGET, {}
        if time.monotonic() - self._looked_at > LOOK_EVERY_S:
            patiently(self._look)
        return (State.CANCELLED, {}) if self._is_cancelled else None

    def _look(self) -> None:
        """Hear whether somebody asked to cancel."""
        asked = EvaluationBatch.objects.filter(pk=self._batch.pk, cancel_requested_at__isnull=False)
        self._is_cancelled = asked.exists()
        self._looked_at = time.monotonic()

    def _store(self, judged: list[Judged]) -> None:
        rows = [one.row for one in judged if not one.asking.is_void]
        for row in rows:
            row.batch = self._batch
        if rows:
            patiently(partial(self._store_rows, rows))
            self._watcher.on_progress(self._batch)

    @transaction.atomic
    def _store_rows(self, rows: list[Evaluation]) -> None:
        batch = self._batch
        _renew(batch)
        tally = store_evaluations(rows, batch.evaluator, again=Again(batch.again))
        batch.items.filter(run__in=[row.run_id for row in rows]).update(is_done=True)
        counts = self._counts(tally.verdicts, tally.already)
        _renew(batch, **counts, **self._costs())
        self._look()
        transaction.on_commit(lambda: self._remember(counts))

    def _counts(self, verdicts: Counter[str], already: int) -> dict[str, int]:
        """The counters of the batch with these added: absolute, so that writing twice is safe."""
        counts = {
            f"n_{verdict}": getattr(self._batch, f"n_{verdict}") + verdicts[verdict]
            for verdict in Evaluation.Verdict.values
        }
        counts["n_already"] = self._batch.n_already + already
        return counts | {"n_done": sum(counts.values())}

    def _remember(self, counts: dict[str, int]) -> None:
        for name, count in counts.items():
            setattr(self._batch, name, count)

    def _costs(self) -> dict[str, object]:
        if self._meter is None:
            return {}
        if self._meter.spent is not None:
            self._batch.spent = self._meter.spent
        self._batch.n_unpriced = self._unpriced_before + self._meter.unpriced
        return {"spent": self._batch.spent, "n_unpriced": self._batch.n_unpriced}

    def _write_costs(self) -> None:
        """What was spent on runs without a verdict was spent all the same."""
        if self._meter is not None:
            patiently(lambda: _renew(self._batch, **self._costs()))
