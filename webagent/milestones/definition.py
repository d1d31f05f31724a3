"""Milestones of a task, as they are written down and exchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from webagent.milestones.checks import Rule
from webagent.trajectory.canonical import hashed_json

MAX_NAME = 200
MAX_WEIGHT = 1_000_000
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]


class Definition(BaseModel):
    """One milestone: what it is called, what it weighs, and how it can be told, if at all.

    Attributes:
        name: a statement that is true once it is reached; people and judges read nothing else.
        is_ordered: counts only once all ordered milestones before it were reached.
        rule: None where the steps alone do not tell; then people or a judge have to say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    is_ordered: bool = False
    rule: Rule | None = None


def weights_of(milestones: Sequence[Definition]) -> dict[str, float]:
    """Weight by name."""
    return {milestone.name: milestone.weight for milestone in milestones}


def digest_of(milestones: Sequence[Definition]) -> str:
    """A hash that changes with every change that could make a difference to a verdict."""
    content = [milestone.model_dump(mode="json") for milestone in milestones]
    return hashlib.sha256(hashed_json({"milestones": content})).hexdigest()
