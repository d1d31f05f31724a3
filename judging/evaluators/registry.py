"""Which evaluators there are, and how one is made again from its stored configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from judging.evaluators.contract import Evaluator
from judging.evaluators.matchers import MatcherEvaluator
from judging.evaluators.reward import RewardEvaluator
from judging.matching.registry import NAMES, build_matcher
from judging.models import EvaluatorVersion


class UnknownEvaluatorError(LookupError):
    """No evaluator has this name, or not any more in this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """How an evaluator is made, and whether it is cheap enough to run at once when a run ends."""

    make: Callable[..., Evaluator]
    immediate: bool = False


def _matcher(name: str, /, **config: object) -> Evaluator:
    return MatcherEvaluator(build_matcher(name, config))


REGISTRY: Mapping[str, Registered] = {
    RewardEvaluator.name: Registered(make=RewardEvaluator, immediate=True),
    **{name: Registered(make=partial(_matcher, name)) for name in NAMES},
}


def evaluator_named(name: str) -> Evaluator:
    """The evaluator in its predefined configuration.

    Raises:
        UnknownEvaluatorError: naming those that there are.
    """
    if name not in REGISTRY:
        raise UnknownEvaluatorError(f"no evaluator is named {name}; there are {_names()}")
    return REGISTRY[name].make()


def predefined_evaluators(*, immediate: bool | None = None) -> list[Evaluator]:
    """All evaluators in their predefined configurations, or those that are immediate or not."""
    return [
        entry.make()
        for entry in REGISTRY.values()
        if immediate is None or entry.immediate is immediate
    ]


def evaluator_of(version: EvaluatorVersion) -> Evaluator:
    """The very evaluator that a stored version names.

    Raises:
        UnknownEvaluatorError: it was imported, or the program has moved on from that version,
            so that what ran now would be another evaluator under the same name.
    """
    if version.name in REGISTRY:
        try:
            evaluator = REGISTRY[version.name].make(**version.config)
        except (TypeError, ValueError):
            evaluator = None
        if evaluator is not None and evaluator.identity.config_hash == version.config_hash:
            return evaluator
    raise UnknownEvaluatorError(f"{version} cannot be run here; there are {_names()}")


def _names() -> str:
    return ", ".join(REGISTRY)
