"""What an experiment with hints will take, and what its hints add to every prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runs.launching.experiments.estimates import Estimate, estimate
from runs.launching.hint_experiments.plans import HintPlan
from runs.models import HintLevel, HintRelatedness, User
from webagent.knowledge.levels import Level, Relatedness
from webagent.llm.tokens import count_tokens

MOST_SHOWN = 8
"""Sources of one relatedness that are shown as an example."""


@dataclass(frozen=True)
class SourceShown:
    """A task and the source of its hint."""

    task: str
    source: str
    score: float
    n_tied: int


@dataclass(frozen=True)
class RelatednessShown:
    """One relatedness: the first tasks with their sources, and the tasks without one."""

    words: str
    is_upper_bound: bool
    sources: list[SourceShown]
    n_more: int
    missing: list[str]


@dataclass(frozen=True)
class HintEstimate:
    """`usual` is what the same number of runs without hints takes; `tokens` what hints add."""

    usual: Estimate
    n_runs: int
    tokens: dict[str, float]
    """By level in words: tokens of a hint on the average, at every step."""
    relatednesses: list[RelatednessShown]


def hint_estimate(plan: HintPlan, user: User) -> HintEstimate:
    """Told from what runs of the agent without hints took."""
    arms = len(plan.conditions) + 1
    as_many = replace(plan.plan, agents=(plan.base,), trials=plan.plan.trials * arms)
    return HintEstimate(
        usual=estimate(as_many, user),
        n_runs=plan.n_runs,
        tokens=_tokens(plan),
        relatednesses=[_shown(plan, each) for each in plan.found.sources],
    )


def _tokens(plan: HintPlan) -> dict[str, float]:
    counted: dict[Level, list[int]] = {}
    for picked in plan.conditions:
        level = counted.setdefault(picked.condition.level, [])
        level += [count_tokens(choice.hint.text) for choice in picked.choices]
    return {str(HintLevel(level).label): sum(n) / len(n) for level, n in counted.items() if n}


def _shown(plan: HintPlan, relatedness: Relatedness) -> RelatednessShown:
    found = plan.found
    pairs = list(zip(found.tasks, found.sources[relatedness], strict=True))
    return RelatednessShown(
        words=str(HintRelatedness(relatedness).label),
        is_upper_bound=relatedness is Relatedness.SAME_TASK,
        sources=[
            SourceShown(task.external_id, source.external_id, chosen.score, chosen.n_tied)
            for task, (source, chosen) in pairs[:MOST_SHOWN]
        ],
        n_more=max(0, len(pairs) - MOST_SHOWN),
        missing=[task.external_id for task in found.missing[relatedness]],
    )
