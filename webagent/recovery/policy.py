"""What to do about an agent that is stuck: every number of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class AnomalyResponse(StrEnum):
    """What follows when an anomaly is noticed."""

    RECOVER = "recover"
    STOP = "stop"
    IGNORE = "ignore"


class WaitingSteps(StrEnum):
    """Whether steps that only wait count for the detectors, or are passed over."""

    COUNTS = "counts"
    EXEMPT = "exempt"


class Comparison(StrEnum):
    """What must be equal for two steps to count as the same in a loop."""

    ACTIONS = "actions"
    ACTIONS_AND_PAGE = "actions_and_page"


class RepeatedWrites(StrEnum):
    """What to do where a replay would repeat an action that looks like a write."""

    REFUSE = "refuse"
    CONTINUE = "continue"


class Fallback(StrEnum):
    """What follows where a recovery is wanted and cannot be had."""

    STOP = "stop"
    GO_ON = "go_on"


class RecoveryPolicy(BaseModel):
    """When an agent counts as stuck, and what is done about it. The numbers are the source's.

    Attributes:
        loop_shortest: smallest window, in steps, that counts as a loop if it repeats one block.
        loop_longest: largest such window.
        compare: what makes two steps of a loop the same; the source compares actions alone.
        false_completions: so many messages or waits in a row count as false completion.
        waiting: whether steps that only wait count, for both.
        steps_before: replay ends so many steps before the anomaly's first one.
        other_steps: so many steps the other agent takes before the first one goes on; 0 for
            none.
        recoveries: at most so many in a run.
        writes: whether to repeat steps that look like writes.
        otherwise: what follows when recoveries are used up or refused.
        settle_tries: so often a page that differs in the replay is looked at again,
        settle_ms: each time after so many milliseconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    on_loop: AnomalyResponse = AnomalyResponse.RECOVER
    loop_shortest: int = Field(15, ge=2, le=1000)
    loop_longest: int = Field(25, ge=2, le=1000)
    compare: Comparison = Comparison.ACTIONS
    on_false_completion: AnomalyResponse = AnomalyResponse.RECOVER
    false_completions: int = Field(11, ge=2, le=1000)
    waiting: WaitingSteps = WaitingSteps.COUNTS
    steps_before: int = Field(5, ge=0, le=1000)
    other_steps: int = Field(10, ge=0, le=1000)
    recoveries: int = Field(2, ge=0, le=100)
    writes: RepeatedWrites = RepeatedWrites.REFUSE
    otherwise: Fallback = Fallback.STOP
    settle_tries: int = Field(3, ge=0, le=100)
    settle_ms: int = Field(1000, ge=1, le=60_000)

    @model_validator(mode="after")
    def _window_is_one(self) -> Self:
        if self.loop_shortest > self.loop_longest:
            raise ValueError("loop_shortest must not be above loop_longest")
        return self

    @property
    def may_recover(self) -> bool:
        """Whether anything can lead to a recovery."""
        return self.recoveries > 0 and AnomalyResponse.RECOVER in (
            self.on_loop,
            self.on_false_completion,
        )
