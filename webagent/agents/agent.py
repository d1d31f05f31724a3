"""What every agent offers, scripted or not."""

from __future__ import annotations

from typing import Protocol

from webagent.trajectory.live import Decision, Observation
from webagent.trajectory.records import AgentRecord, ErrorOrigin


class AgentFailure(Exception):
    """The agent could not decide, through no choice of its own: the run ends in an error."""

    def __init__(self, message: str, origin: ErrorOrigin = ErrorOrigin.AGENT) -> None:
        super().__init__(message)
        self.origin = origin


class Agent(Protocol):
    """One agent for one run: it may remember what it did. Make a new one for the next run."""

    def act(self, observation: Observation) -> Decision:
        """What to do next. Raises AgentFailure (a model's provider is down, say)."""
        ...

    def describe(self) -> AgentRecord:
        """Name and configuration, to be kept with the run."""
        ...
