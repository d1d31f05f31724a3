"""A language model with a meter before it: what a batch has spent, and why it should stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure, Reply, Request

HOPELESS = frozenset({FailureKind.NOT_AUTHORISED, FailureKind.NOT_CONFIGURED})
"""Failures that every other request would meet as well, until somebody changes something."""
LONGEST_STREAK = 20
"""So many failures without a reply between them: the provider is away, not this one request."""


@dataclass(slots=True)
class Asking:
    """What became of the requests for one run."""

    out_of_budget: bool = False
    hopeless: str = ""
    """The words of a failure that no other request would escape."""

    @property
    def is_void(self) -> bool:
        """Whether the run was not judged at all, so that its finding means nothing."""
        return self.out_of_budget or bool(self.hopeless)


class Meter:
    """Passes requests on, and counts what the replies cost.

    A request is refused once it might take the costs above `max_cost`: what is under way counts
    with the most that it may cost. Safe under threads.

    Args:
        most: the most that a request may cost; None where its price is unknown.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        spent: Decimal = Decimal(0),
        max_cost: Decimal | None = None,
        most: Callable[[Request], Decimal | None] = lambda _request: None,
    ) -> None:
        self._model = model
        self._max_cost = max_cost
        self._most = most
        self._lock = threading.Lock()
        self._here = threading.local()
        self._spent = spent
        self._reserved = Decimal(0)
        self._unpriced = 0
        self._streak = 0
        self._last_failure = ""
        self._is_out_of_budget = False
        self._hopeless = ""

    @property
    def spent(self) -> Decimal:
        """US dollars, as far as prices are known."""
        return self._spent

    @property
    def unpriced(self) -> int:
        """Replies whose price is unknown."""
        return self._unpriced

    @property
    def is_out_of_budget(self) -> bool:
        """Whether a request was refused for its costs."""
        return self._is_out_of_budget

    @property
    def breakdown(self) -> str:
        """Why it makes no sense to go on, in words; empty while it does."""
        if self._hopeless:
            return self._hopeless
        return self._last_failure if self._streak >= LONGEST_STREAK else ""

    @contextmanager
    def asking(self) -> Iterator[Asking]:
        """What happens in this thread meanwhile."""
        self._here.asking = asking = Asking()
        try:
            yield asking
        finally:
            self._here.asking = None

    def complete(self, request: Request) -> Reply:
        """The reply of the model.

        Raises:
            ModelFailure: there is none, or it might cost too much.
        """
        most = self._reserve(request)
        try:
            reply = self._model.complete(request)
        except ModelFailure as failure:
            self._note_failure(failure)
            raise
        else:
            self._note(reply)
            return reply
        finally:
            with self._lock:
                self._reserved -= most

    def _reserve(self, request: Request) -> Decimal:
        most = self._most(request) or Decimal(0)
        with self._lock:
            wanted = self._spent + self._reserved + most
            if self._max_cost is None or wanted <= self._max_cost:
                self._reserved += most
                return most
            self._is_out_of_budget = True
        failure = ModelFailure(
            FailureKind.OUT_OF_BUDGET, f"the cost limit of ${self._max_cost:f} is reached"
        )
        self._note_failure(failure)
        raise failure

    def _note(self, reply: Reply) -> None:
        with self._lock:
            self._streak = 0
            if reply.cost is None:
                self._unpriced += 1
            else:
                self._spent += reply.cost

    def _note_failure(self, failure: ModelFailure) -> None:
        asking: Asking | None = getattr(self._here, "asking", None)
        with self._lock:
            if failure.kind is FailureKind.OUT_OF_BUDGET:
                self._is_out_of_budget = True
                if asking is not None:
                    asking.out_of_budget = True
                return
            self._last_failure = str(failure)
            if failure.kind in HOPELESS:
                self._hopeless = str(failure)
                if asking is not None:
                    asking.hopeless = str(failure)
            elif failure.kind.is_temporary:
                self._streak += 1
