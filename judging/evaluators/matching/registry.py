"""Matchers by name."""

from __future__ import annotations

from collections.abc import Mapping

from judging.evaluators.matching.outcome import Matcher
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.strict import StrictMatcher

NAMES = (StrictMatcher.name, RepairedMatcher.name)


def build_matcher(name: str, config: Mapping[str, object] | None = None) -> Matcher:
    """The matcher of that name with that configuration; the defaults where it says nothing.

    Raises:
        ValueError: no matcher has that name, or the configuration is not one of its own.
    """
    if name == StrictMatcher.name:
        return StrictMatcher.from_config(config or {})
    if name == RepairedMatcher.name:
        return RepairedMatcher.from_config(config or {})
    raise ValueError(f"no matcher is called {name}; there are {', '.join(NAMES)}")
