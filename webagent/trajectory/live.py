"""What passes between environment, agent and recorder while a run goes on.

These hold bytes and are kept nowhere; `records` are what remains of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import isfinite

from webagent.trajectory.axtree import (
    Node,
    page_fingerprint,
    parse_axtree,
    places_of,
    role_and_text,
)
from webagent.trajectory.records import Box, ChatMessage, Json, LlmCall, Point, TabRecord, Target


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What could be seen at one moment.

    `goal` and `goal_images` (data URLs) are the instruction. `screenshot` is a PNG; `boxes`
    are element boxes in its pixels, by bid, `multiline` the bids of text areas, which the tree
    does not tell from text boxes; `axtree` is the flattened accessibility tree, or whatever text a
    world without pages shows; there the screenshot and the address are empty. `last_error` is what
    went wrong with the action that led here. `scored` is False at the start of a task that gives no
    reward at all.
    """

    at: datetime
    goal: str
    goal_images: tuple[str, ...] = ()
    url: str
    title: str
    tabs: tuple[TabRecord, ...] = ()
    screenshot: bytes
    width: int
    height: int
    axtree: str
    boxes: Mapping[str, Box] = field(default_factory=dict)
    multiline: frozenset[str] = frozenset()
    focused: str | None = None
    messages: tuple[ChatMessage, ...] = ()
    last_action: str | None = None
    last_error: str | None = None
    scored: bool = True

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The accessibility tree, parsed once."""
        return parse_axtree(self.axtree)

    @cached_property
    def _places(self) -> dict[str, int]:
        return places_of(self.nodes)

    def target(self, bid: str) -> Target:
        """The element of this id, as far as the tree knows it."""
        role, text = role_and_text(self.nodes, self._places.get(bid))
        return Target(bid=bid, role=role, text=text)

    def target_at(self, point: Point) -> Target | None:
        """The innermost element at a point."""
        hit = [(box.width * box.height, bid) for bid, box in self.boxes.items() if box.holds(point)]
        # Others are mere layout.
        named = (bid for _, bid in sorted(hit) if bid in self._places)
        bid = next(named, None)
        return None if bid is None else self.target(bid)

    def centre_in_sight(self, box: Box) -> Point | None:
        """Where the pointer goes for a box; None if the page had to scroll there first."""
        at = box.centre
        return at if 0 <= at.x <= self.width and 0 <= at.y <= self.height else None

    @cached_property
    def fingerprint(self) -> str:
        """Equal for looks at the same page in the same state; see `page_fingerprint`."""
        others = (tab.url for tab in self.tabs if not tab.active)
        return page_fingerprint(self.url, self.axtree, others)


@dataclass(frozen=True, slots=True)
class ReadScreen:
    """A screenshot as text: the very lines that an agent read, and the same piece by piece."""

    lines: str
    elements: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an agent does next.

    `finished`: the agent regards the task as done, so the run ends after `action` (or at once
    if there is none). `gave_up`: it regards the task as not to be done. `problem` says why there
    is no better decision (replies without a usable action, say). `blobs` are the bytes that its
    model calls name; `marked_screenshot` is the PNG that it looked at instead of the plain one.
    `screen` is what it read from the picture, where it sees by that alone.
    """

    action: str | None
    thought: str | None = None
    finished: bool = False
    gave_up: bool = False
    llm_calls: tuple[LlmCall, ...] = ()
    problem: str | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    marked_screenshot: bytes | None = None
    screen: ReadScreen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """How one of the calls in an action went; `executed` is False if it was never tried."""

    executed: bool
    error: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What an action led to.

    `reward` is the benchmark's verdict, `raw_reward` the page's own figure where it has one.
    `outcomes` has one entry per call in the action. `error` is the agent's (a bad action);
    what the environment did wrong is raised instead. `seconds` is time by phase, `milestones`
    says which of the task's milestones hold now. `scored` is False for a task that gives no
    reward at all, where 0 says nothing.
    """

    observation: Observation
    reward: float
    raw_reward: float | None = None
    scored: bool = True
    terminated: bool = False
    truncated: bool = False
    gave_up: bool = False
    error: str | None = None
    outcomes: tuple[ActionOutcome, ...] = ()
    events: tuple[Json, ...] = ()
    task_info: Json = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    milestones: Mapping[str, bool] = field(default_factory=dict)

    @property
    def recorded_reward(self) -> float | None:
        """What to keep: the page's own figure if it has one, nothing for unscored tasks.

        Nothing either where a figure is not finite: it says nothing of what the agent reached.
        """
        figure = self.reward if self.raw_reward is None else self.raw_reward
        return figure if self.scored and isfinite(figure) and isfinite(self.reward) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A step that was taken, as an agent remembers it: what was seen, what was decided.

    `error` is what went wrong with the action. `by` names the agent that took it.
    """

    before: Observation
    decision: Decision
    error: str | None = None
    by: str = ""
