"""Telling whoever wants to know what became of each try at a request to a language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from webagent.llm.interface import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One try. `result` is "ok" or the kind of failure; `cost` None where nobody knows it."""

    model: str
    result: str
    is_retry: bool
    seconds: float
    usage: Usage
    cost: Decimal | None


_watchers: list[Callable[[Tried], None]] = []


def watch(watcher: Callable[[Tried], None]) -> None:
    """From now on tell this watcher, in the thread that asked; it must not raise."""
    if watcher not in _watchers:
        _watchers.append(watcher)


def tell(tried: Tried) -> None:
    """Tell every watcher."""
    for watcher in _watchers:
        watcher(tried)
