"""What every agent offers, scripted or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord, ErrorOrigin, Json


class AgentFailure(Exception):
    """The agent could not decide, through no choice of its own: the run ends in an error.

    `decision` holds what it went through until then (its model calls). `kind` names the failure,
    `fault` its class where it is one of the infrastructure; `retriable` says whether another
    attempt may be spared it; None where that is not known.
    """

    def __init__(
        self,
        message: str,
        origin: ErrorOrigin = ErrorOrigin.AGENT,
        *,
        decision: Decision | None = None,
        kind: str | None = None,
        fault: Fault | None = None,
        retriable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.origin = origin
        self.decision = decision or Decision(action=None)
        self.kind = kind
        self.fault = fault
        self.retriable = retriable


class OutOfBudget(AgentFailure):
    """The agent has spent what its run may cost: the run ends as at any other limit."""


class OutOfCompletions(AgentFailure):
    """The agent has asked its model as often as it may in a run: that is a limit, too."""


class Agent(Protocol):
    """One agent for one run: it may remember what it did. Make a new one for the next run."""

    def act(self, observation: Observation) -> Decision:
        """What to do next. Raises AgentFailure (a model's provider is down, say)."""
        ...

    def describe(self) -> AgentRecord:
        """Name and configuration, to be kept with the run."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """An agent whose memory can be set: what recovery needs of agents that have one.

    An agent without this method is taken for one that remembers nothing.
    """

    def resume_from(self, history: Sequence[Taken]) -> None:
        """From now on exactly these steps lie behind: all else that it remembers is gone.

        Called when its own last steps were undone, and when it goes on after another agent,
        whose steps are then among them. The page is as the last step left it.
        """
        ...


@runtime_checkable
class Advisable(Protocol):
    """An agent that can be given tips before it sets out."""

    def advise(self, tips: str) -> None:
        """From now on this text stands in front of it, the same at every step.

        Its description stays what it was: that names where tips come from.
        """
        ...


@runtime_checkable
class Informed(Protocol):
    """An agent that may be given web knowledge, and cut it to a budget."""

    def knowledge_given(self) -> Json | None:
        """How much of it the last prompt held, for the run's record; None without any."""
        ...
