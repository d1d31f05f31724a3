"""What to do about an agent that is stuck: every number of it, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


class RepeatedWrites(StrEnum):
    """What to do where a replay would repeat an action that looks like a write."""

    REFUSE = "refuse"
    CONTINUE = "continue"


class Fallback(StrEnum):
    """What follows where a recovery is wanted and cannot be had."""

    STOP = "stop"
    GO_ON = "go_on"


class ClauseKey(StrEnum):
    """The sentences that a policy is made of. A page has words for each, with its values.

    `loop_*` have `shortest` and `longest`, `false_completion_*` have `at_least`, `back` has
    `steps`, `other_agent` has `steps`, `at_most` has `recoveries`, `settle` has `tries` and
    `milliseconds`.
    """

    LOOP_RECOVER = "loop_recover"
    LOOP_STOP = "loop_stop"
    LOOP_IGNORE = "loop_ignore"
    FALSE_COMPLETION_RECOVER = "false_completion_recover"
    FALSE_COMPLETION_STOP = "false_completion_stop"
    FALSE_COMPLETION_IGNORE = "false_completion_ignore"
    WAITING_COUNTS = "waiting_counts"
    WAITING_EXEMPT = "waiting_exempt"
    BACK = "back"
    OTHER_AGENT = "other_agent"
    SAME_AGENT = "same_agent"
    AT_MOST = "at_most"
    NEVER_RECOVER = "never_recover"
    OTHERWISE_STOP = "otherwise_stop"
    OTHERWISE_GO_ON = "otherwise_go_on"
    WRITES_REFUSE = "writes_refuse"
    WRITES_CONTINUE = "writes_continue"
    SETTLE = "settle"
    DIVERGED = "diverged"
    NOTE_ONLY_WAITING = "note_only_waiting"
    """The environment ends at the first message, so that only waiting can be noticed."""
    NOTE_NEVER = "note_never"
    """The environment ends at the first message, so that false completion is never noticed."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence of a policy: which, and the numbers in it."""

    key: ClauseKey
    values: Mapping[str, int] = field(default_factory=dict)


class RecoveryPolicy(BaseModel):
    """When an agent counts as stuck, and what is done about it. The numbers are the source's.

    Attributes:
        loop_shortest: smallest window, in steps, that counts as a loop if it repeats one block.
        loop_longest: largest such window.
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

    def in_words(self, *, ends_at_first_message: bool = False) -> tuple[Clause, ...]:
        """The policy as sentences in reading order.

        Args:
            ends_at_first_message: of the environment: then no agent can send a second one.
        """
        window = {"shortest": self.loop_shortest, "longest": self.loop_longest}
        clauses = [
            Clause(ClauseKey(f"loop_{self.on_loop}"), window),
            Clause(
                ClauseKey(f"false_completion_{self.on_false_completion}"),
                {"at_least": self.false_completions},
            ),
        ]
        if ends_at_first_message and self.on_false_completion is not AnomalyResponse.IGNORE:
            exempt = self.waiting is WaitingSteps.EXEMPT
            clauses.append(Clause(ClauseKey.NOTE_NEVER if exempt else ClauseKey.NOTE_ONLY_WAITING))
        clauses.append(Clause(ClauseKey(f"waiting_{self.waiting}")))
        return (*clauses, *self._recovering())

    def _recovering(self) -> tuple[Clause, ...]:
        if AnomalyResponse.RECOVER not in (self.on_loop, self.on_false_completion):
            return ()
        otherwise = Clause(ClauseKey(f"otherwise_{self.otherwise}"))
        if not self.recoveries:
            return (Clause(ClauseKey.NEVER_RECOVER), otherwise)
        other = Clause(ClauseKey.OTHER_AGENT, {"steps": self.other_steps})
        return (
            Clause(ClauseKey.BACK, {"steps": self.steps_before}),
            other if self.other_steps else Clause(ClauseKey.SAME_AGENT),
            Clause(ClauseKey.AT_MOST, {"recoveries": self.recoveries}),
            otherwise,
            Clause(ClauseKey(f"writes_{self.writes}")),
            Clause(ClauseKey.SETTLE, {"tries": self.settle_tries, "milliseconds": self.settle_ms}),
            Clause(ClauseKey.DIVERGED),
        )
