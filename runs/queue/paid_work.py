"""Carrying out work that asks a model: item by item, resumed where it stopped."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import ClassVar, Generic, TypeAlias, TypeVar

from django.db import DatabaseError, transaction

from runs.catalogue.language_models import ModelUnavailableError, model_registry, usable_entry
from runs.models import PaidWork
from runs.models.leased_work import WorkState as State
from runs.queue.concurrency import AtOnce, InTurn, Meter
from runs.queue.leases import WorkLease, WorkLostError
from runs.queue.steps import retry_write
from runs.queue.workers import is_stopping
from webagent.llm.budget import Budget, ReplyCache
from webagent.llm.client import Client
from webagent.llm.interface import LanguageModel
from webagent.llm.registry import ModelEntry

logger = logging.getLogger(__name__)

STORE_EVERY_S = 0.25
LOOK_EVERY_S = 1.0
UNLIMITED = Decimal(1_000_000_000)


WorkT = TypeVar("WorkT", bound=PaidWork)
Item = TypeVar("Item")
Done = TypeVar("Done")


class WorkRefusedError(Exception):
    """The work makes no sense as it is; the message says why."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why work ends before it is through; queued if another worker is to go on with it."""

    state: State
    problem: str = ""


@dataclass(frozen=True)
class Watcher(Generic[WorkT]):
    """Whoever waits for the work: told of its progress, and asked whether they still want it."""

    on_progress: Callable[[WorkT], object] = lambda _work: None
    is_interrupted: Callable[[], bool] = lambda: False


Crew: TypeAlias = InTurn[Item, Done | None] | AtOnce[Item, Done | None]
"""Gives None for an item that the model was not asked about."""


class Worker(ABC, Generic[WorkT, Item, Done]):
    """Carries out one claimed piece of work. What a kind of work is, its subclass says.

    `do` is called in as many threads as the model takes requests; all else in the one that
    carries the work out.
    """

    at_once_without_model: ClassVar[int] = 1
    """So many items are done and stored in one piece where no model is asked."""

    def __init__(
        self,
        work: WorkT,
        watcher: Watcher[WorkT] | None = None,
        *,
        language_model: LanguageModel | None = None,
    ) -> None:
        self.work = work
        self._given = language_model
        self._watcher = watcher or Watcher()
        self._hold = WorkLease(work)
        self._meter: Meter | None = None
        self._budget: Budget | None = None
        self._at_a_time = self.at_once_without_model
        self._before = (work.n_unpriced, work.input_tokens, work.output_tokens)
        self._looked_at = 0.0
        self._is_cancelled = False

    # What a kind of work says

    @abstractmethod
    def choose(self) -> int:
        """Store what the items are, inside a transaction; how many.

        Raises:
            WorkRefusedError: there is nothing that can be done.
        """

    @abstractmethod
    def items(self) -> Iterator[Item]:
        """Those still to be done, in order."""

    @abstractmethod
    def do(self, item: Item) -> Done:
        """Do one. Whatever goes wrong with it is part of what comes of it, not raised."""

    @abstractmethod
    def store(self, done: list[Done]) -> dict[str, int]:
        """Store what came of some, inside a transaction; the counters of the work after that.

        May be called again with the same after a rollback.
        """

    def finish(self) -> dict[str, object]:
        """Last changes of the work, inside the transaction that ends it."""
        return {}

    def prepare(self, model: LanguageModel | None) -> None:  # most need nothing
        """Called before the first item, with the model to ask."""

    def entry(self) -> ModelEntry:
        """The model that the work asks. Raises ModelUnavailableError."""
        return usable_entry(self.work.model)

    def replies(self) -> ReplyCache | None:
        """Where replies of the model are kept; None for nowhere."""
        return None

    # What all kinds share

    def carry_out(self) -> None:
        """Work until all is through or there is a reason to stop.

        What comes of items is stored as it comes, so that nothing is paid twice.
        """
        with self._hold.kept():
            stop = self._attempt()
            if stop is None:
                return
            if stop.state is State.QUEUED:
                self._hold.hand_back()
            else:
                self._hold.end(stop.state, problem=stop.problem)

    def _attempt(self) -> Stop | None:
        """Why the work has to stop; None when it is through and has ended."""
        try:
            if self.work.n_total is None:
                retry_write(self._choose)
            with self._asked_model() as model:
                self.prepare(model)
                stop = self._do_items()
            if stop is None:
                retry_write(self._finish)
        except (WorkLostError, DatabaseError):
            raise  # The sweep has it taken up again.
        except (WorkRefusedError, ModelUnavailableError) as error:
            return Stop(State.FAILED, str(error))
        except Exception as error:  # a fault of ours must not look like a dead worker
            logger.exception("%s %s broke.", self.work._meta.verbose_name, self.work.pk)
            return Stop(State.FAILED, f"{type(error).__name__}: {error}")
        return stop

    @transaction.atomic
    def _choose(self) -> None:
        n_total = self.choose()
        self._hold.renew(n_total=n_total)
        self.work.n_total = n_total

    @transaction.atomic
    def _finish(self) -> None:
        """Store what came of the work and end it: both, or neither."""
        self._hold.renew()
        self._hold.end(State.FINISHED, **self.finish())

    @contextmanager
    def _asked_model(self) -> Iterator[LanguageModel | None]:
        """The model with a meter before it, the one that was given, or None where none is asked."""
        work = self.work
        if self._given is not None or not work.model:
            yield self._given
            return
        entry = self.entry()
        if entry.prices is not None or work.max_cost is not None:
            limit = UNLIMITED if work.max_cost is None else work.max_cost
            self._budget = Budget(limit, work.spent)
        with Client(model_registry(), budget=self._budget, cache=self.replies()) as client:
            self._meter, self._at_a_time = Meter(client), entry.max_concurrency
            yield self._meter

    def _do_items(self) -> Stop | None:
        """Do them until none is left (None), or there is a reason to stop."""
        with self._crew() as crew:
            items = self.items()
            while True:
                stop = self._why_stop()
                if stop is None:
                    for item in islice(items, crew.room):
                        crew.submit(item)
                else:
                    crew.drop_waiting()
                if not crew.under_way:
                    break
                self._keep(self._gather(crew))
        # What was spent on items that came to nothing was spent all the same.
        retry_write(lambda: self._hold.renew(**self._costs()))
        return stop

    def _crew(self) -> AbstractContextManager[Crew[Item, Done]]:
        if self._meter is None or self._at_a_time == 1:
            return InTurn(self._do, at_a_time=self._at_a_time)
        return AtOnce(self._do, size=self._at_a_time)

    def _do(self, item: Item) -> Done | None:
        if self._meter is None:
            return self.do(item)
        self._meter.start_item()
        done = self.do(item)
        return None if self._meter.is_item_void else done

    def _gather(self, crew: Crew[Item, Done]) -> list[Done | None]:
        """What comes in a quarter of a second, so that a transaction holds more than one item."""
        until = time.monotonic() + STORE_EVERY_S
        gathered: list[Done | None] = []
        while crew.under_way and (left := until - time.monotonic()) > 0:
            gathered += crew.results(left)
            if crew.is_short:
                break
        return gathered

    def _why_stop(self) -> Stop | None:
        if self._watcher.is_interrupted():
            return Stop(State.CANCELLED)
        if is_stopping():
            return Stop(State.QUEUED)
        if self._meter is not None and self._meter.breakdown:
            return Stop(State.FAILED, self._meter.breakdown)
        if self._meter is not None and self._meter.is_out_of_budget:
            return Stop(State.STOPPED_BY_BUDGET)
        if time.monotonic() - self._looked_at > LOOK_EVERY_S:
            retry_write(self._look)
        return Stop(State.CANCELLED) if self._is_cancelled else None

    def _look(self) -> None:
        """Hear whether somebody asked to cancel."""
        self._is_cancelled = self._hold.is_to_cancel()
        self._looked_at = time.monotonic()

    def _keep(self, results: list[Done | None]) -> None:
        done = [each for each in results if each is not None]
        if done:
            retry_write(lambda: self._store(done))
            self._watcher.on_progress(self.work)

    @transaction.atomic
    def _store(self, done: list[Done]) -> None:
        self._hold.renew()
        changes = self.store(done) | self._costs()
        self._hold.renew(**changes)
        self._look()
        transaction.on_commit(lambda: self._remember(changes))

    def _remember(self, changes: dict[str, object]) -> None:
        for name, value in changes.items():
            setattr(self.work, name, value)

    def _costs(self) -> dict[str, object]:
        """What asking took so far, what it took before included."""
        if self._meter is None:
            return {}
        unpriced, given, said = self._before
        costs: dict[str, object] = {
            "n_unpriced": unpriced + self._meter.unpriced,
            "input_tokens": given + self._meter.input_tokens,
            "output_tokens": said + self._meter.output_tokens,
        }
        if self._budget is not None:
            costs["spent"] = self._budget.spent
        return costs
