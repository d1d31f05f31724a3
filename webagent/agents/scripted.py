"""Agents without a model that fail in known ways, for demos, tests and controls."""

import random
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from pydantic import validate_call

from webagent.agents.plans import PLANS, Plan
from webagent.agents.reading import NotSeen, bids, reacting
from webagent.trajectory.axtree import Node
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord, Json

# What a person could click on, most likely first.
TEMPTING_ROLES = ("button", "link", "tab", "checkbox", "radio", "option", "menuitem", "image")


class Scripted:
    """An agent without a model. `max_steps` is part of its configuration where it was set."""

    _max_steps: int | None = None

    def limit_steps(self, max_steps: int) -> None:
        """From now on its description names this limit, which whoever runs it keeps."""
        self._max_steps = max_steps

    def record(self, name: str, config: Json, version: str = "1") -> AgentRecord:
        limit: Json = {} if self._max_steps is None else {"max_steps": self._max_steps}
        return AgentRecord(name=name, version=version, config=config | limit)


class Looping(Scripted):
    """Does one ineffective thing again and again.

    Args:
        action: what it does; by default it scrolls where there is nothing to scroll.
    """

    @validate_call
    def __init__(self, action: str = "scroll(0, 200)") -> None:
        self._action = action

    def act(self, observation: Observation) -> Decision:
        thought = "What I look for must be further down." if not observation.last_error else None
        return Decision(action=self._action, thought=thought or "That did not work; once more.")

    def describe(self) -> AgentRecord:
        return self.record("looping", {"action": self._action})


class Stuck(Scripted):
    """Sets out, then goes round and round without noticing.

    Args:
        first: what it does once.
        block: what it does after that, again and again.
    """

    @validate_call
    def __init__(self, first: tuple[str, ...] = (), block: tuple[str, ...] = ("noop(1)",)) -> None:
        if not block:
            raise ValueError("block must hold an action")
        self._first = first
        self._block = block
        self._done = 0

    def act(self, observation: Observation) -> Decision:
        number, self._done = self._done, self._done + 1
        if number < len(self._first):
            return Decision(action=self._first[number], thought="So far all goes well.")
        again = (number - len(self._first)) % len(self._block)
        return Decision(action=self._block[again], thought="This should bring me further.")

    def resume_from(self, history: Sequence[Taken]) -> None:
        self._done = len(history)

    def describe(self) -> AgentRecord:
        config: Json = {"first": list(self._first), "block": list(self._block)}
        return self.record("stuck", config)


class EarlyFinisher(Scripted):
    """Declares the task done before doing anything.

    Args:
        message: what it tells the user.
        insists: go on saying so until the run is ended, instead of stopping.
    """

    @validate_call
    def __init__(self, message: str = "The task is complete.", insists: bool = False) -> None:
        self._message = message
        self._insists = insists

    def act(self, observation: Observation) -> Decision:
        return Decision(
            action=f"send_msg_to_user({self._message!r})",
            thought="Everything that was asked for has been done.",
            finished=not self._insists,
        )

    def describe(self) -> AgentRecord:
        config: Json = {"message": self._message, "insists": self._insists}
        return self.record("early_finisher", config)


class Wrong(Scripted):
    """Clicks on something plausible that nobody asked for, then says that it is done.

    Args:
        clicks: how many things it clicks on.
        seed: of its choices; the same page and seed make the same choice.
    """

    @validate_call
    def __init__(self, clicks: int = 2, seed: int = 0) -> None:
        self._clicks = clicks
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 (no secret is made of it)
        self._done = 0

    def act(self, observation: Observation) -> Decision:
        choices = _unasked(observation)
        if self._done >= self._clicks or not choices:
            return Decision(
                action="send_msg_to_user('Done.')", thought="That was all.", finished=True
            )
        self._done += 1
        bid, text = self._random.choice(choices)
        return Decision(action=f"click({bid!r})", thought=f"{text or 'This'} looks right.")

    def resume_from(self, history: Sequence[Taken]) -> None:
        self._done = taken_by("wrong", history)

    def describe(self) -> AgentRecord:
        config: Json = {"clicks": self._clicks, "seed": self._seed}
        return self.record("wrong", config)


class DoNothing(Scripted):
    """Only waits: what passes with it passes with nothing done."""

    def act(self, observation: Observation) -> Decision:
        return Decision(action="noop(100)", thought=None)

    def describe(self) -> AgentRecord:
        return self.record("do_nothing", {})


class AlwaysNotAvailable(Scripted):
    """Answers "N/A" to everything: what passes with it passes for giving up."""

    def act(self, observation: Observation) -> Decision:
        return Decision(action="send_msg_to_user('N/A')", thought=None, finished=True)

    def describe(self) -> AgentRecord:
        return self.record("always_na", {})


class ListEverything(Scripted):
    """Answers with all the text on the page: what passes with it passes for guessing.

    Args:
        limit: longest answer, in characters.
    """

    @validate_call
    def __init__(self, limit: int = 4000) -> None:
        self._limit = limit

    def act(self, observation: Observation) -> Decision:
        texts = dict.fromkeys(node.name for node in observation.nodes[1:] if node.name.strip())
        answer = ", ".join(texts)[: self._limit]
        return Decision(action=f"send_msg_to_user({answer!r})", thought=None, finished=True)

    def describe(self) -> AgentRecord:
        return self.record("list_everything", {"limit": self._limit})


class Replayer(Scripted):
    """Repeats recorded actions, whatever the page shows, and then stops."""

    @validate_call
    def __init__(self, actions: Sequence[str]) -> None:
        self._actions = tuple(actions)
        self._next = 0

    def act(self, observation: Observation) -> Decision:
        if self._next >= len(self._actions):
            return Decision(action=None, thought=None, finished=True)
        action = self._actions[self._next]
        self._next += 1
        return Decision(action=action, thought=None)

    def resume_from(self, history: Sequence[Taken]) -> None:
        self._next = taken_by("replayer", history)

    def describe(self) -> AgentRecord:
        return self.record("replayer", {"actions": list(self._actions)})


def action_on(node: Node, text: str | None = None) -> str:
    """A click on the element; with a text, what fills or chooses it there."""
    if text is None:
        return f"click({node.bid!r})"
    verb = "select_option" if node.role == "combobox" else "fill"
    return f"{verb}({node.bid!r}, {text!r})"


def taken_by(name: str, history: Sequence[Taken]) -> int:
    """How many of these steps the agent of that name took."""
    return sum(taken.by == name for taken in history)


def _unasked(observation: Observation) -> list[tuple[str, str]]:
    """What can be clicked on and is not named in the goal; anything at all if all is named."""
    names = {node.bid: node.name for node in observation.nodes if node.bid}
    found = [(bid, names[bid]) for bid in bids(observation, *TEMPTING_ROLES)]
    found += reacting(observation)
    goal = observation.goal.lower()
    return [(bid, text) for bid, text in found if text and text.lower() not in goal] or found


class Oracle(Scripted):
    """Follows its plan for the page that it is on; gives up where it has none.

    BrowserGym gives an action half a second, which a busy machine may need: one that failed is
    tried again, `MOST_TRIES` times in all.
    """

    MOST_TRIES = 3

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._last: Decision | None = None
        self._tries = 0

    def act(self, observation: Observation) -> Decision:
        if self._last and observation.last_error and self._tries < self.MOST_TRIES:
            self._tries += 1
            return self._last
        self._last, self._tries = self._next(observation), 1
        return self._last

    def _next(self, observation: Observation) -> Decision:
        try:
            if self._plan is not None:
                return self._plan.send(observation)
            page = PurePosixPath(urlsplit(observation.url).path).stem
            if page not in PLANS:
                return _give_up(f"I have no plan for a page called {page!r}.")
            self._plan = PLANS[page](observation)
            return next(self._plan)
        except StopIteration:
            return Decision(action=None, thought="My plan is carried out.", finished=True)
        except (NotSeen, ValueError, IndexError, KeyError, RuntimeError) as lost:
            return _give_up(f"The page is not as I expected: {lost}.")

    def resume_from(self, history: Sequence[Taken]) -> None:
        """Plan anew from the page as it is: no plan minds what is filled in already."""
        self._plan = self._last = None

    def describe(self) -> AgentRecord:
        return self.record("oracle", {})


def _give_up(thought: str) -> Decision:
    return Decision(action=None, thought=thought, gave_up=True)
