"""Notice, step by step, that an agent is stuck."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from webagent.recovery.anomalies import LoopSettings, loop_at_end
from webagent.recovery.policy import Answer, RecoveryPolicy, Waiting
from webagent.recovery.screens import Screens
from webagent.trajectory.actions import ActionKind, action_kind
from webagent.trajectory.live import Observation
from webagent.trajectory.records import ActionRecord

AnomalyKind = Literal["loop", "false_completion"]


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Steps `first`..`last`, by the numbers they were seen with. `period` is the block's length."""

    kind: AnomalyKind
    first: int
    last: int
    period: int


class Watch:
    """The live detectors. Each step costs the same, however long the history."""

    def __init__(self, policy: RecoveryPolicy) -> None:
        self._policy = policy
        self._settings = LoopSettings(policy.loop_shortest, policy.loop_longest)
        self._seen: deque[tuple[int, Hashable]] = deque(maxlen=policy.loop_longest)
        self._idle: list[int] = []

    def see(self, number: int, did: Hashable, kinds: Sequence[ActionKind]) -> Anomaly | None:
        """The anomaly that this step completes, if there is one.

        Args:
            number: of the step, rising; what an anomaly names it by.
            did: equal for steps that did the same on the same page.
            kinds: of the calls in its action.
        """
        if self._policy.waiting is Waiting.EXEMPT and _all_in(kinds, ActionKind.WAIT):
            return None
        self._seen.append((number, did))
        if not _all_in(kinds, ActionKind.WAIT, ActionKind.MESSAGE):
            self._idle.clear()
        elif len(self._idle) < self._policy.false_completions:
            self._idle.append(number)
        return self._false_completion() or self._loop()

    def start_anew(self) -> None:
        """Forget all steps: they were undone, or were spoken of already."""
        self._seen.clear()
        self._idle.clear()

    def _false_completion(self) -> Anomaly | None:
        if self._policy.on_false_completion is Answer.IGNORE:
            return None
        if len(self._idle) < self._policy.false_completions:
            return None
        return Anomaly("false_completion", self._idle[0], self._seen[-1][0], 1)

    def _loop(self) -> Anomaly | None:
        if self._policy.on_loop is Answer.IGNORE:
            return None
        span = loop_at_end([did for _, did in self._seen], self._settings)
        if span is None:
            return None
        return Anomaly("loop", self._seen[span.first][0], self._seen[span.last][0], span.period)


def what_was_done(calls: Sequence[ActionRecord], before: Observation, screens: Screens) -> Hashable:
    """Equal for steps whose calls were the same on the same page.

    Scrolling changes what is seen and nothing else, so there the picture counts too: reading a
    long page is no loop, scrolling at its end is one.

    Args:
        screens: the run's, one for all its steps.
    """
    done = tuple(
        (call.name, repr(call.args), repr(call.named_args)) if call.name else call.raw
        for call in calls
    )
    if any(action_kind(call) is ActionKind.SCROLL for call in calls):
        return (done, before.fingerprint, screens.number(before.screenshot))
    return (done, before.fingerprint)


def _all_in(kinds: Sequence[ActionKind], *wanted: ActionKind) -> bool:
    return bool(kinds) and all(kind in wanted for kind in kinds)
