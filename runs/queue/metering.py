"""A language model with a meter before it: what a batch has spent, and why it should stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from webagent.llm.budget import Budget
from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure, Reply, Request, Usage

HOPELESS = frozenset(
    {FailureKind.NOT_AUTHORISED, FailureKind.NOT_CONFIGURED, FailureKind.NO_CREDIT}
)
"""Failures that every other request would meet as well, until somebody changes something."""
LONGEST_STREAK = 20
"""So many failures without a reply between them: the provider is away, not this one request."""


@dataclass(slots=True)
class MeteredModel:
    """What became of the requests for one piece of work, such as one run."""

    is_void: bool = False
    """It was not worked on at all, so that what was found means nothing."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as providers count them."""

    input: int = 0
    output: int = 0

    def plus(self, usage: Usage) -> Tokens:
        return Tokens(self.input + usage.input_tokens, self.output + usage.output_tokens)


class Meter:
    """Passes requests on, and notes what becomes of them. Safe under threads.

    Args:
        budget: the one that the model itself keeps to; None where prices are unknown.
    """

    def __init__(self, model: LanguageModel, budget: Budget | None) -> None:
        self._model = model
        self._budget = budget
        self._lock = threading.Lock()
        self._here = threading.local()
        self._unpriced = 0
        self._tokens = Tokens()
        self._streak = 0
        self._last_failure = ""
        self._is_out_of_budget = False
        self._hopeless = ""

    @property
    def spent(self) -> Decimal | None:
        """US dollars, what the batch spent before included; None where prices are unknown."""
        return None if self._budget is None else self._budget.spent

    @property
    def unpriced(self) -> int:
        """Replies whose price is unknown."""
        return self._unpriced

    @property
    def tokens(self) -> Tokens:
        """What was read and said, in failures too as far as providers tell; not in kept replies."""
        return self._tokens

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
    def asking(self) -> Iterator[MeteredModel]:
        """What becomes of this thread's requests meanwhile."""
        self._here.asking = asking = MeteredModel()
        try:
            yield asking
        finally:
            self._here.asking = None

    def complete(self, request: Request) -> Reply:
        """The reply of the model.

        Raises:
            ModelFailure: there is none.
        """
        try:
            reply = self._model.complete(request)
        except ModelFailure as failure:
            self._note_failure(failure)
            raise
        with self._lock:
            self._streak = 0
            self._unpriced += reply.cost is None
            if not reply.is_cached:
                self._tokens = self._tokens.plus(reply.usage)
        return reply

    def _note_failure(self, failure: ModelFailure) -> None:
        asking: MeteredModel | None = getattr(self._here, "asking", None)
        is_refused = failure.kind is FailureKind.OUT_OF_BUDGET
        is_hopeless = failure.kind in HOPELESS
        if asking is not None and (is_refused or is_hopeless):
            asking.is_void = True
        with self._lock:
            self._tokens = self._tokens.plus(failure.usage)
            self._is_out_of_budget |= is_refused
            if is_hopeless:
                self._hopeless = str(failure)
            elif failure.kind.is_temporary:
                self._streak += 1
                self._last_failure = str(failure)
