"""An agent that really solves tasks it knows, by reading what the page says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from webagent.agents.plans import PLANS, Plan
from webagent.agents.reading import NotSeen
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord


class Oracle:
    """Follows its plan for the page that it is on; gives up where it has none."""

    def __init__(self) -> None:
        self._plan: Plan | None = None

    def act(self, observation: Observation) -> Decision:
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
        self._plan = None

    def describe(self) -> AgentRecord:
        return AgentRecord(name="oracle", version="1", config={})


def _give_up(thought: str) -> Decision:
    return Decision(action=None, thought=thought, gave_up=True)
