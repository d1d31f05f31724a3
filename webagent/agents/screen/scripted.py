"""The screenshot-only agent without a model: rules over the goal and the lines of the screen.

It measures how well screens are read: what it does wrong on a screen that was read rightly is a
fault of its rules, and all else one of the reading.
"""

from __future__ import annotations

from collections.abc import Sequence

from webagent.agents.screen.commands import browser_action
from webagent.agents.screen.looking import Read, ScreenReading, look, reader_of
from webagent.agents.screen.reasoning.rules import Unclear, commands_for, something_to_open
from webagent.agents.screen.settings import VisionSettings
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord

NAME = "screen-scripted"
VERSION = "rules 1"


class ScreenScripted:
    """Does what the goal says in words that it knows. Make a new one for the next run.

    Args:
        read: how an observation is read; the settings' way by default.
    """

    def __init__(self, settings: VisionSettings, read: Read | None = None) -> None:
        self._settings = settings
        self._read = read or reader_of(settings)
        self._wishes_done = 0
        self._opened: list[str] = []

    def resume_from(self, history: Sequence[Taken]) -> None:
        """Plan anew, from the screen as it is."""
        self._wishes_done = 0
        self._opened = []

    def describe(self) -> AgentRecord:
        """How it reads, and by which rules it goes."""
        return AgentRecord(
            name=NAME, version=VERSION, config=self._settings.model_dump(mode="json")
        )

    def act(self, observation: Observation) -> Decision:
        """All that the goal asks for, as far as the screen shows it."""
        seen = look(observation, self._read)
        try:
            plan = commands_for(observation.goal, seen.screen, self._wishes_done)
        except Unclear as unclear:
            opening = something_to_open(seen.screen, self._opened)
            if opening is None:
                return _decided(seen, None, f"I do not know what to do: {unclear}.")
            name, plan = opening
            self._opened.append(name)
        else:
            self._wishes_done = plan.wishes
        if not plan.commands:
            return _decided(seen, None, "I have done all that the goal asks for.")
        action = browser_action(plan.commands, self._settings.scroll_pixels)
        return _decided(seen, action, plan.thought)


def _decided(seen: ScreenReading, action: str | None, thought: str) -> Decision:
    return Decision(
        action=action,
        thought=thought,
        gave_up=action is None,
        screen=seen.kept,
        marked_screenshot=seen.drawn,
    )
