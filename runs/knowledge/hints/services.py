"""Having hints written."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _

from runs.knowledge.hints.writing import HintParams
from runs.knowledge.learning.services import start_learning
from runs.models import LearningJob, User
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.levels import Level


def start_hint_writing(
    *,
    model: str,
    run_ids: Sequence[UUID],
    levels: Sequence[Level],
    verdict: str,
    verdict_name: str,
    verdict_rule: str,
    max_cost: Decimal | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue the writing of a hint for each run and level.

    Args:
        verdict: who says that the runs succeeded, by its key; its name and rule are in words.

    Raises:
        WorkRefusedError: no run or level is named, or the model cannot be asked.
    """
    if not run_ids or not levels:
        raise WorkRefusedError(_("Choose at least one run that succeeded, and one level."))
    params = HintParams(
        runs=list(run_ids),
        levels=list(levels),
        verdict=verdict,
        verdict_name=verdict_name,
        verdict_rule=verdict_rule,
    )
    return start_learning(
        kind=LearningJob.Kind.HINTS,
        model=model,
        params=params.model_dump(mode="json"),
        max_cost=max_cost,
        user=user,
        is_told=is_told,
    )
