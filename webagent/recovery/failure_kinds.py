"""The words: failure modes, and whether carrying out or thinking went wrong."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """What a failure looks like. A run may show several, or none of these."""

    REPETITIVE = "repetitive"
    EARLY_STOP = "early_stop"
    INVALID_ACTION = "invalid_action"
    PLAN_ERROR = "plan_error"
    MISREAD_OBSERVATION = "misread_observation"
    MAX_STEPS = "max_steps"
    ENVIRONMENT = "environment"
    """Not the agent's doing: a run that shows it counts for none of the others."""


class Side(StrEnum):
    """Where it went wrong: in carrying out what was rightly intended, or in what was intended."""

    OPERATION = "operation"
    REASONING = "reasoning"
    BOTH = "both"


OF_THE_AGENT = tuple(mode for mode in Mode if mode is not Mode.ENVIRONMENT)
