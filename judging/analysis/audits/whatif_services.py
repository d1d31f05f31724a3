"""Keeping what a what-if page shows: a new version of the evaluator, and its evaluations."""

from __future__ import annotations

from decimal import Decimal

from judging.analysis.audits.whatif_settings import Setting
from judging.evaluating.services import start_batch
from judging.models import EvaluationBatch, Study
from runs.models import User


def save_and_evaluate(
    *, user: User, study: Study, setting: Setting, max_cost: Decimal
) -> EvaluationBatch:
    """Store the evaluator so switched as a version of its name, and have the study evaluated.

    Args:
        max_cost: in US dollars, where it asks a model; replies that are kept cost nothing.

    Raises:
        UnknownEvaluatorError: the program has moved on from the evaluator.
        WorkRefusedError: its model cannot be asked, so nothing is kept.
    """
    return start_batch(evaluator=setting.evaluator(), study=study, user=user, max_cost=max_cost)
