"""Figures reported of AgentBoard, to read one's own beside: never mixed with them.

They stand in an article about the paper (Ma et al. 2024, arXiv 2401.13178), whose own code finds
progress by rules and holds no judge: so they say what to expect, and prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PublishedAgreement(NamedTuple):
    """A judge's progress against people's in one environment; shares, bias in points / 100."""

    environment: str
    r: float
    agreement: float
    bias: float


class PublishedLimit(NamedTuple):
    """GPT-4 under a step limit: mean progress, and steps used."""

    limit: int
    progress: float
    steps: float


ENVIRONMENTS: Sequence[PublishedAgreement] = (
    PublishedAgreement("WebShop", 0.92, 0.89, 0.012),
    PublishedAgreement("ALFWorld", 0.89, 0.86, -0.008),
    PublishedAgreement("ScienceWorld", 0.85, 0.84, 0.021),
)
OVERALL = PublishedAgreement("", 0.88, 0.87, 0.009)
JUDGE_DOLLARS, PEOPLE_DOLLARS, SAMPLES = 50, 2000, 200
"""What judging so many samples cost, by the judge and by people."""
STEP_LIMITS: Sequence[PublishedLimit] = (
    PublishedLimit(10, 0.413, 9.2),
    PublishedLimit(20, 0.497, 16.4),
    PublishedLimit(30, 0.523, 21.8),
    PublishedLimit(50, 0.531, 22.5),
)
