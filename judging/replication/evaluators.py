"""The evaluators that a study file names, with their settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import REGISTRY, Unasked
from judging.replication.study_fields import StudyFileError
from judging.replication.study_parts import EvaluatorChoice


def evaluator_chosen(chosen: EvaluatorChoice) -> tuple[Evaluator, str]:
    """The evaluator, and the model that it asks; empty where it asks none.

    Raises:
        StudyFileError: there is none of the name, or the settings do not fit it.
    """
    entry = REGISTRY.get(chosen.name)
    if entry is None:
        raise StudyFileError(chosen.name, "", f"no such evaluator; there are {', '.join(REGISTRY)}")
    given: dict[str, Any] = dict(chosen.settings)
    model = ""
    if entry.asks_model:
        model = chosen.model or settings.ENV.JUDGE_MODEL or ""
        if not model:
            raise StudyFileError(chosen.name, "model", "name one, or set JUDGE_MODEL")
        given |= {"model": model, "language_model": Unasked()}
    try:
        return entry.make(**given), model
    except (TypeError, ValueError, KeyError) as error:
        raise StudyFileError(chosen.name, "settings", str(error)) from None
