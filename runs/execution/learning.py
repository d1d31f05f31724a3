"""Carrying out a learning job: item by item, resumed where it stopped, whoever dies over it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from pydantic import JsonValue

from runs.execution.crews import Alone, Threads
from runs.execution.metering import Meter
from runs.execution.pulse import Pulse
from runs.execution.steps import patiently
from runs.language_models import ModelUnavailableError, model_registry, usable_entry
from runs.models import LearningItem, LearningJob
from runs.workers import is_stopping
from webagent.llm.budget import Budget
from webagent.llm.client import Client
from webagent.llm.interface import LanguageModel, ModelFailure

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
UNLIMITED = Decimal(1_000_000_000)
DIED = "The worker died again and again in this job; nothing more will be tried by itself."

State = LearningJob.State


class JobLostError(Exception):
    """The lease ran out and another worker has the job now."""


class JobRefusedError(Exception):
    """The job makes no sense as it is; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one item; `problem` says why nothing did."""

    result: Mapping[str, JsonValue] = field(default_factory=dict)
    problem: str = ""


class Learning(Protocol):
    """One kind of job. Its methods are called in several threads and workers."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        """What the items of the job are about, each once, in order.

        Raises:
            JobRefusedError: there is nothing that can be done.
        """
        ...

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        """Do one item.

        Raises:
            ModelFailure: the model gave no reply; the job notes that, or stops if it is no use.
        """
        ...

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        """Store what the items came to, inside the transaction that ends the job; its report."""
        ...


_kinds: dict[str, Learning] = {}


def learns(kind: LearningJob.Kind, learning: Learning) -> None:
    """From now on jobs of this kind are carried out so."""
    _kinds[kind] = learning


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """One item with what came of it. `is_void`: it was not worked on at all."""

    item: LearningItem
    learned: Learned
    is_void: bool


Crew: TypeAlias = Alone[LearningItem, _Done] | Threads[LearningItem, _Done]


def carry_out(job_id: UUID) -> bool:
    """Work on a job until it is through or has to stop; False if it was not there to be had.

    What was learned is stored as it comes, so that nothing is asked twice.
    """
    job = LearningJob.objects.claim(job_id, lease_s=settings.ENV.LEASE_S)
    if job is None:
        return False
    try:
        with Pulse(partial(_renew, job), lost=JobLostError):
            state, changes = _carry_out(job)
        if state is State.QUEUED:
            LearningJob.objects.hand_back(job.pk, job.lease_token)
        elif state is not State.FINISHED:
            _end(job, state, **changes)
    except JobLostError:
        logger.warning("Learning job %s was taken over by another worker.", job.pk)
    return True


def sweep_learning() -> None:
    """End what was to be cancelled or cannot be done, where no worker is left to do so."""
    LearningJob.objects.cancel_abandoned()
    LearningJob.objects.give_up(max_barren=settings.ENV.MAX_ATTEMPTS, problem=DIED)


def _renew(job: LearningJob, **changes: Any) -> None:
    held = LearningJob.objects.renew(
        job.pk, job.lease_token, lease_s=settings.ENV.LEASE_S, **changes
    )
    if not held:
        raise JobLostError


def _end(job: LearningJob, state: State, **changes: Any) -> None:
    if not LearningJob.objects.end(job.pk, job.lease_token, state=state, **changes):
        raise JobLostError


def _carry_out(job: LearningJob) -> tuple[State, dict[str, object]]:
    """State and last changes of the job; a finished one has ended already.

    Raises:
        JobLostError: another worker has it.
    """
    try:
        learning = _kinds[job.kind]
        if job.n_total is None:
            patiently(partial(_choose, job, learning))
        with _asked_model(job) as asked:
            stop = _Work(job, learning, asked).do()
        if stop is not None:
            return stop
        patiently(partial(_finish, job, learning))
    except (JobLostError, DatabaseError):
        raise  # The sweep has it taken up again.
    except (JobRefusedError, ModelUnavailableError) as error:
        return State.FAILED, {"problem": str(error)}
    except Exception as error:  # a fault of ours must not look like a dead worker
        logger.exception("Learning job %s broke.", job.pk)
        return State.FAILED, {"problem": f"{type(error).__name__}: {error}"}
    return State.FINISHED, {}


@transaction.atomic
def _choose(job: LearningJob, learning: Learning) -> None:
    """Fix what the items of the job are."""
    keys = learning.keys(job)
    _renew(job, n_total=len(keys))
    LearningItem.objects.bulk_create(
        [LearningItem(job=job, position=place, key=key) for place, key in enumerate(keys)],
        batch_size=1000,
        ignore_conflicts=True,
    )
    job.n_total = len(keys)


@transaction.atomic
def _finish(job: LearningJob, learning: Learning) -> None:
    """Store what came of the job and end it: both, or neither."""
    _renew(job)
    _end(job, State.FINISHED, report=dict(learning.finish(job)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedModel:
    """The model of a job, with its meter, and how many requests it takes at a time."""

    meter: Meter
    at_a_time: int


@contextmanager
def _asked_model(job: LearningJob) -> Iterator[_AskedModel]:
    """The model that the job asks. Raises ModelUnavailableError."""
    entry = usable_entry(job.model)
    budget = None
    if entry.prices is not None or job.max_cost is not None:
        budget = Budget(UNLIMITED if job.max_cost is None else job.max_cost, job.spent)
    with Client(model_registry(), budget=budget) as client:
        yield _AskedModel(meter=Meter(client, budget), at_a_time=entry.max_concurrency)


class _Work:
    """The job under way: items to a crew, what comes of them into the database."""

    def __init__(self, job: LearningJob, learning: Learning, asked: _AskedModel) -> None:
        self._job = job
        self._learning = learning
        self._meter = asked.meter
        self._at_a_time = asked.at_a_time
        self._before = (job.n_unpriced, job.input_tokens, job.output_tokens)
        self._looked_at = 0.0
        self._is_cancelled = False

    def do(self) -> tuple[State, dict[str, object]] | None:
        """Learn until nothing is left (None), or there is a reason to stop."""
        with self._crew() as crew:
            items = iter(self._job.items.filter(is_done=False).order_by("position"))
            while True:
                stop = self._why_stop()
                if stop is None:
                    for item in islice(items, crew.room):
                        crew.submit(item)
                else:
                    crew.drop_waiting()
                if not crew.under_way:
                    break
                self._store(crew.results(LOOK_EVERY_S))
        # What was spent on items that came to nothing was spent all the same.
        patiently(lambda: _renew(self._job, **self._costs()))
        return stop

    def _crew(self) -> AbstractContextManager[Crew]:
        if self._at_a_time == 1:
            return Alone(self._learn, at_a_time=1)
        return Threads(self._learn, size=self._at_a_time)

    def _learn(self, item: LearningItem) -> _Done:
        with self._meter.asking() as asking:
            try:
                learned = self._learning.learn(self._job, item.key, self._meter)
            except ModelFailure as failure:
                learned = Learned(problem=str(failure))
            except DatabaseError:
                raise
            except Exception as error:
                logger.exception("Item %s of learning job %s broke.", item.key, self._job.pk)
                learned = Learned(problem=f"{type(error).__name__}: {error}"[:500])
        return _Done(item=item, learned=learned, is_void=asking.is_void)

    def _why_stop(self) -> tuple[State, dict[str, object]] | None:
        if is_stopping():
            return State.QUEUED, {}
        if self._meter.breakdown:
            return State.FAILED, {"problem": self._meter.breakdown}
        if self._meter.is_out_of_budget:
            return State.STOPPED_BY_BUDGET, {}
        if time.monotonic() - self._looked_at > LOOK_EVERY_S:
            patiently(self._look)
        return (State.CANCELLED, {}) if self._is_cancelled else None

    def _look(self) -> None:
        """Hear whether somebody asked to cancel."""
        asked = LearningJob.objects.filter(pk=self._job.pk, cancel_requested_at__isnull=False)
        self._is_cancelled = asked.exists()
        self._looked_at = time.monotonic()

    def _store(self, done: list[_Done]) -> None:
        kept = [one for one in done if not one.is_void]
        if kept:
            patiently(partial(self._store_items, kept))

    @transaction.atomic
    def _store_items(self, done: list[_Done]) -> None:
        _renew(self._job)
        for one in done:
            self._job.items.filter(pk=one.item.pk).update(
                is_done=True, result=dict(one.learned.result), problem=one.learned.problem
            )
        through = self._job.items.filter(is_done=True)
        counts = {"n_done": through.count(), "n_problems": through.exclude(problem="").count()}
        _renew(self._job, **counts, **self._costs())

    def _costs(self) -> dict[str, object]:
        unpriced, given, said = self._before
        costs: dict[str, object] = {
            "n_unpriced": unpriced + self._meter.unpriced,
            "input_tokens": given + self._meter.tokens.input,
            "output_tokens": said + self._meter.tokens.output,
        }
        if self._meter.spent is not None:
            costs["spent"] = self._meter.spent
        return costs
