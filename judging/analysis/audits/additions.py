"""What each step of an evaluator adds to those before it: recall, and the price of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.analysis.audits.joint import Joint, joint_counts, matrix_against_reference
from judging.analysis.audits.verdict_sources import VerdictSource, Voices
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """One step alone, and what it adds where no step before it passed."""

    step: VerdictSource
    alone: ConfusionMatrix
    """Over the runs on which it was asked; the others are its fifth cell."""
    earlier: Sequence[VerdictSource]
    new_tp: int
    new_fp: int

    @property
    def is_first(self) -> bool:
        return not self.earlier


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """The steps of an evaluator in order, and all of them together."""

    evaluator: VerdictSource
    steps: Sequence[Addition]
    together: ConfusionMatrix


def additions_of(study: Study, voices: Voices, evaluator: VerdictSource) -> Additions | None:
    """The steps of an evaluator, in one query; None for one that takes no steps.

    A run passes as soon as one step passes, so every step after the first can only turn FN into
    TP and TN into FP.
    """
    steps = voices.steps.get(evaluator.evaluator.pk, ()) if evaluator.evaluator else ()
    if not steps:
        return None
    counts = joint_counts(study, [*steps, evaluator])
    return Additions(
        evaluator=evaluator,
        steps=[_addition(counts, steps, place) for place in range(len(steps))],
        together=matrix_against_reference(counts, len(steps)),
    )


def _addition(counts: Sequence[Joint], steps: Sequence[VerdictSource], place: int) -> Addition:
    new = [each for each in counts if each.said[place] is True and True not in each.said[:place]]
    return Addition(
        step=steps[place],
        alone=matrix_against_reference(counts, place),
        earlier=steps[:place],
        new_tp=sum(each.runs for each in new if each.succeeded),
        new_fp=sum(each.runs for each in new if not each.succeeded),
    )
