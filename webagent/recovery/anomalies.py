"""Mechanical detectors of loops and false completions, over ended runs and step by step."""

import hashlib
import io
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from PIL import Image, ImageChops

from webagent.recovery.retry_policy import AnomalyResponse, Comparison, RecoveryPolicy, WaitingSteps
from webagent.trajectory.actions import ActionKind, action_kind
from webagent.trajectory.blobs import FORMATS, look_at_image
from webagent.trajectory.intake import Bounds
from webagent.trajectory.live import Observation
from webagent.trajectory.records import ActionRecord


@dataclass(frozen=True, slots=True)
class Span:
    """Steps `first`..`last`, counted from 0, both included. `period` is the block's length."""

    first: int
    last: int
    period: int


SHORTEST_LOOP, LONGEST_LOOP = 15, 25
"""Defaults of the source study."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Windows of `shortest`..`longest` actions count as a loop if they repeat one block.

    A block must stand in a window twice, so none is found of more than `longest` // 2 actions.
    """

    shortest: int = SHORTEST_LOOP
    longest: int = LONGEST_LOOP

    def __post_init__(self) -> None:
        if not 2 <= self.shortest <= self.longest:
            raise ValueError(
                "a loop's window needs 2 <= shortest <= longest; blocks of up to longest // 2"
                " actions are found in it"
            )


def repeating_period(actions: Sequence[Hashable]) -> int | None:
    """Length of the shortest block whose repetition, at least twice, gives exactly the actions."""
    n = len(actions)
    for period in range(1, n // 2 + 1):
        if n % period == 0 and all(actions[i] == actions[i - period] for i in range(period, n)):
            return period
    return None


def loop_at_end(
    actions: Sequence[Hashable], settings: LoopSettings, end: int | None = None
) -> Span | None:
    """The longest window at the end of the history that is a loop; None if there is none.

    This is the live detector: ask it after every step.

    Args:
        end: how many of the actions the history has; all where None.
    """
    end = len(actions) if end is None else end
    for length in range(min(settings.longest, end), settings.shortest - 1, -1):
        period = repeating_period(actions[end - length : end])
        if period is not None:
            return Span(end - length, end - 1, period)
    return None


def find_loops(
    actions: Sequence[Hashable], settings: LoopSettings | None = None
) -> tuple[Span, ...]:
    """All loops of a finished history, windows that touch being one loop."""
    settings = settings or LoopSettings()
    found: list[Span] = []
    for end in range(settings.shortest, len(actions) + 1):
        span = loop_at_end(actions, settings, end)
        if span is None:
            continue
        if found and span.first <= found[-1].last + 1:
            found[-1] = Span(found[-1].first, span.last, min(span.period, found[-1].period))
        else:
            found.append(span)
    return tuple(found)


def find_false_completions(idle: Sequence[bool], at_least: int = 11) -> tuple[Span, ...]:
    """Stretches of `at_least` or more completion messages or no-ops without anything between.

    Args:
        idle: for each step, whether it was one of those.
    """
    found: list[Span] = []
    start = 0
    for is_idle, stretch in groupby(idle):
        end = start + len(list(stretch))
        if is_idle and end - start >= at_least:
            found.append(Span(start, end - 1, 1))
        start = end
    return tuple(found)


CARET_WIDTH = 3
CARET_HEIGHT = 64
"""Screenshot pixels, both: the tallest text cursor, at twice a usual screen's density."""
KEPT = 25
"""As many as the longest loop may have that is usually looked for."""
KEPT_PIXELS = 50_000_000


class Screens:
    """Numbers pictures, the same number for those that differ by one text cursor at most.

    The last `kept` that differ are remembered, or fewer large ones.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._numbers: dict[bytes, int] = {}
        self._shown: deque[tuple[int, Image.Image]] = deque(maxlen=kept)

    def number(self, content: bytes) -> int:
        """Which screen the picture shows; what is no picture is known again by its bytes alone."""
        digest = hashlib.sha256(content).digest()
        if (known := self._numbers.get(digest)) is None:
            known = self._numbers[digest] = self._look(content)
        return known

    def _look(self, content: bytes) -> int:
        new = len(self._numbers)
        if (shown := _in_greys(content)) is None:
            return new
        for number, other in reversed(self._shown):
            if _differ_by_a_caret(shown, other):
                return number
        self._shown.append((new, shown))
        while sum(image.width * image.height for _, image in self._shown) > KEPT_PIXELS:
            self._shown.popleft()
        return new


def _in_greys(content: bytes) -> Image.Image | None:
    try:
        look_at_image(content, Bounds())
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return image.convert("L")
    except Exception:  # noqa: BLE001 (Pillow raises what damaged bytes lead it to)
        return None


def _differ_by_a_caret(one: Image.Image, other: Image.Image) -> bool:
    if one.size != other.size:
        return False
    box = ImageChops.difference(one, other).getbbox()
    if box is None:
        return True
    left, top, right, bottom = box
    return right - left <= CARET_WIDTH and bottom - top <= CARET_HEIGHT


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Steps `first`..`last`, by the numbers they were seen with. `period` is the block's length."""

    kind: Literal["loop", "false_completion"]
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
            did: equal for steps that count as the same, see `what_was_done`.
            kinds: of the calls in its action.
        """
        if self._policy.waiting is WaitingSteps.EXEMPT and _all_in(kinds, ActionKind.WAIT):
            return None
        self._seen.append((number, did))
        if not _all_in(kinds, ActionKind.WAIT, ActionKind.MESSAGE):
            self._idle.clear()
        elif len(self._idle) < self._policy.false_completions:
            self._idle.append(number)
        return self._false_completion() or self._loop()

    def start_anew(self) -> None:
        """Forget all steps: they were undone, or already reported."""
        self._seen.clear()
        self._idle.clear()

    def _false_completion(self) -> Anomaly | None:
        if self._policy.on_false_completion is AnomalyResponse.IGNORE:
            return None
        if len(self._idle) < self._policy.false_completions:
            return None
        return Anomaly("false_completion", self._idle[0], self._seen[-1][0], 1)

    def _loop(self) -> Anomaly | None:
        if self._policy.on_loop is AnomalyResponse.IGNORE:
            return None
        span = loop_at_end([did for _, did in self._seen], self._settings)
        if span is None:
            return None
        return Anomaly("loop", self._seen[span.first][0], self._seen[span.last][0], span.period)


def what_was_done(
    calls: Sequence[ActionRecord],
    before: Observation,
    screens: Screens,
    compare: Comparison = Comparison.ACTIONS_AND_PAGE,
) -> Hashable:
    """Equal for steps whose calls were the same, and on the same page where that counts.

    Scrolling changes what is seen and nothing else, so there the picture counts with the page:
    reading a long page is no loop, scrolling at its end is one.

    Args:
        screens: the run's, one for all its steps.
    """
    done = tuple(
        (call.name, repr(call.args), repr(call.named_args)) if call.name else call.raw
        for call in calls
    )
    if compare is Comparison.ACTIONS:
        return done
    if any(action_kind(call) is ActionKind.SCROLL for call in calls):
        return (done, before.fingerprint, screens.number(before.screenshot))
    return (done, before.fingerprint)


def _all_in(kinds: Sequence[ActionKind], *wanted: ActionKind) -> bool:
    return bool(kinds) and all(kind in wanted for kind in kinds)
