"""Failures detected without judging: repetition, early stop, invalid actions, limits.

Pure, over what was recorded. The definitions are those of the constants and functions here; they
prefer silence to a guess, and what they leave open is for a judge or a person. Steps that were
undone by a recovery and replayed ones do not count.
"""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from webagent.trajectory.actions import ActionKind
from webagent.trajectory.records import EndReason, ErrorOrigin, Outcome
from webagent.trajectory.verdict_records import Mode

VERSION = "1"


class Rule(StrEnum):
    """Why a mode was found."""

    NOT_THE_AGENTS_ERROR = "not_the_agents_error"
    """environment: the run ended in an error whose origin is not the agent."""
    ANOMALY = "anomaly"
    """repetitive: a loop or repeated completion was marked on steps that count."""
    STUCK_AT_THE_END = "stuck_at_the_end"
    """repetitive: the run was stopped for being stuck."""
    REPEATED_BLOCK = "repeated_block"
    """repetitive: the same few actions on the same page, again and again."""
    GAVE_UP = "gave_up"
    """early_stop: the agent gave up."""
    DID_NOTHING = "did_nothing"
    """early_stop: the agent ended the run without having acted on a page."""
    SHORTER_THAN_POSSIBLE = "shorter_than_possible"
    """early_stop: the agent ended the run in fewer actions than the task takes."""
    LAST_ACTION_FAILED = "last_action_failed"
    """invalid_action: the last action could not be carried out."""
    MANY_ACTIONS_FAILED = "many_actions_failed"
    """invalid_action: a third of the actions, two at least, could not be carried out."""
    STEP_LIMIT = "step_limit"
    """max_steps: the run used up its steps."""
    OTHER_LIMIT = "other_limit"
    """max_steps: the run used up its time, tokens, money or messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """Numbers of the definitions; part of the detector's identity.

    `longest_block` actions at most make a block; it comes `least_repeats` times in a row at least
    and `least_length` actions long altogether. `failed_share` of the actions must have failed.
    """

    longest_block: int = 3
    least_repeats: int = 3
    least_length: int = 4
    failed_share: float = 1 / 3

    def __post_init__(self) -> None:
        if self.longest_block < 1 or self.least_repeats < 2 or self.least_length < 2:
            raise ValueError("a repetition needs a block of 1 and 2 repeats at least")
        if not 0 < self.failed_share <= 1:
            raise ValueError("failed_share lies above 0 and not above 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeen:
    """One step as the detectors see it. `page` is equal for looks at the same page and state.

    `action` is empty where the agent chose none; `error` says what went wrong with the action.
    `counts`: neither undone later nor a replay.
    """

    index: int
    action: str = ""
    kind: str = ""
    page: str = ""
    error: str = ""
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """One run that has ended. `anomalies` are spans of steps, both ends included."""

    steps: Sequence[StepSeen] = ()
    outcome: str = Outcome.FAILURE
    end_reason: str = EndReason.UNKNOWN
    error_origin: str = ""
    max_steps: int | None = None
    reference_length: int | None = None
    anomalies: Sequence[tuple[int, int]] = ()

    @property
    def done(self) -> list[StepSeen]:
        """The steps that count and in which the agent did something."""
        return [step for step in self.steps if step.counts and step.action]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A mode with the rule that found it, and the steps that show it."""

    mode: Mode
    rule: Rule
    steps: tuple[int, ...] = ()


STUCK = frozenset(
    {EndReason.HARNESS_LOOP_STOP, EndReason.RECOVERY_EXHAUSTED, EndReason.RECOVERY_REFUSED}
)
OTHER_LIMITS = frozenset(
    {EndReason.TIME_LIMIT, EndReason.TOKEN_LIMIT, EndReason.COST_LIMIT, EndReason.MESSAGE_LIMIT}
)
IDLE = frozenset({ActionKind.MESSAGE, ActionKind.WAIT})
NOT_THE_ACTIONS_FAULT = re.compile(
    r"net::ERR_(?!NAME_NOT_RESOLVED|INVALID_URL|UNKNOWN_URL_SCHEME|ABORTED)"
    r"|\b(?:browser|context|page) has been closed|\btarget closed\b|\bcrash",
    re.IGNORECASE,
)
"""Errors of an action that speak of the site or the browser. They make no action invalid."""
MOST_STEPS_NAMED = 20


def detect(run: RunSeen, settings: DetectorSettings | None = None) -> list[Found]:
    """The modes of a run, each once, in the order of `Mode`. Successes are looked at alike.

    A run that the environment ended shows that mode alone: nothing else of it is the agent's.
    """
    settings = settings or DetectorSettings()
    if run.outcome == Outcome.ERROR:
        is_agents = run.error_origin == ErrorOrigin.AGENT
        found = Found(mode=Mode.ENVIRONMENT, rule=Rule.NOT_THE_AGENTS_ERROR)
        return [] if is_agents else [found]
    all_found = [
        *_repetitive(run, settings),
        *_early_stop(run),
        *_invalid_action(run, settings),
        *_limit(run),
    ]
    by_mode = {each.mode: each for each in reversed(all_found)}
    return [by_mode[mode] for mode in Mode if mode in by_mode]


def _repetitive(run: RunSeen, settings: DetectorSettings) -> Iterator[Found]:
    marked = _within(run.anomalies, [step.index for step in run.done])
    if marked:
        yield _found(Mode.REPETITIVE, Rule.ANOMALY, marked)
    if run.end_reason in STUCK:
        yield _found(Mode.REPETITIVE, Rule.STUCK_AT_THE_END)
    done = [step for step in run.done if step.kind != ActionKind.WAIT]
    if span := longest_repetition([(step.action, step.page) for step in done], settings):
        first, last = span
        repeated = [step.index for step in done[first : last + 1]]
        yield _found(Mode.REPETITIVE, Rule.REPEATED_BLOCK, repeated)


def _within(spans: Sequence[tuple[int, int]], places: Sequence[int]) -> list[int]:
    """The places that lie in one of the spans, both ends included."""
    ordered = sorted(spans)
    firsts = [first for first, _ in ordered]
    reached = [-1, *accumulate((last for _, last in ordered), max)]
    return [place for place in places if reached[bisect_right(firsts, place)] >= place]


def _early_stop(run: RunSeen) -> Iterator[Found]:
    if run.end_reason == EndReason.AGENT_GAVE_UP:
        yield _found(Mode.EARLY_STOP, Rule.GAVE_UP, _last(run))
    if not _ended_by_itself(run):
        return
    acted = [step for step in run.done if step.kind not in IDLE]
    if not acted:
        yield _found(Mode.EARLY_STOP, Rule.DID_NOTHING, _last(run))
    elif run.reference_length is not None and len(acted) < run.reference_length:
        yield _found(Mode.EARLY_STOP, Rule.SHORTER_THAN_POSSIBLE, _last(run))


def _ended_by_itself(run: RunSeen) -> bool:
    """Whether the agent ended it: it declared so, or a message of its own ended the task."""
    if run.end_reason in (EndReason.AGENT_STOPPED, EndReason.AGENT_GAVE_UP):
        return True
    last = run.done[-1:]
    return run.end_reason == EndReason.TASK_ENDED and any(
        step.kind == ActionKind.MESSAGE for step in last
    )


def _invalid_action(run: RunSeen, settings: DetectorSettings) -> Iterator[Found]:
    tried = [step for step in run.steps if step.counts and (step.action or step.error)]
    failed = [step for step in tried if is_invalid(step.error)]
    if failed and failed[-1] is tried[-1]:
        yield _found(Mode.INVALID_ACTION, Rule.LAST_ACTION_FAILED, [failed[-1].index])
    if len(failed) >= max(2.0, settings.failed_share * len(tried)):
        indices = [step.index for step in failed]
        yield _found(Mode.INVALID_ACTION, Rule.MANY_ACTIONS_FAILED, indices)


def is_invalid(error: str) -> bool:
    """Whether an action failed by itself, and not because site or browser did."""
    return bool(error.strip()) and not NOT_THE_ACTIONS_FAULT.search(error)


def _limit(run: RunSeen) -> Iterator[Found]:
    used_up = run.max_steps is not None and len(run.done) >= run.max_steps > 0
    if run.end_reason == EndReason.MAX_STEPS or (run.end_reason == EndReason.UNKNOWN and used_up):
        yield _found(Mode.MAX_STEPS, Rule.STEP_LIMIT)
    elif run.end_reason in OTHER_LIMITS:
        yield _found(Mode.MAX_STEPS, Rule.OTHER_LIMIT)


def longest_repetition(
    done: Sequence[Hashable], settings: DetectorSettings
) -> tuple[int, int] | None:
    """First and last place of the longest stretch that repeats a short block; None for none.

    A stretch of period p is one in which everything equals what stands p places before it.
    """
    best: tuple[int, int] | None = None
    for period in range(1, settings.longest_block + 1):
        least = max(settings.least_repeats * period, settings.least_length)
        first = 0
        for place in range(period, len(done) + 1):
            if place < len(done) and done[place] == done[place - period]:
                continue
            length = place - first
            if length >= least and (best is None or length > best[1] - best[0] + 1):
                best = (first, place - 1)
            first = place - period + 1
    return best


def _last(run: RunSeen) -> list[int]:
    return [step.index for step in run.done[-1:]]


def _found(mode: Mode, rule: Rule, steps: Sequence[int] = ()) -> Found:
    return Found(mode=mode, rule=rule, steps=tuple(steps[:MOST_STEPS_NAMED]))
