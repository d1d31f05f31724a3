"""Screens, settings and replies by hand, for the tests of the screenshot-only agents."""

import json
from dataclasses import replace

from tests.webagent.agents.generic.made import Scripted, entry
from tests.webagent.pages import observation, png
from webagent.agents.screen.agent import Read, ScreenAgent
from webagent.agents.settings import ScreenSettings
from webagent.trajectory.live import Observation
from webagent.vision.screen import Box, ScreenItem, ScreenText

SIZE = (240, 160)


def item(kind: str, text: str, x: int, y: int, width: int = 60, height: int = 16) -> ScreenItem:
    return ScreenItem(kind, text, Box(x, y, x + width, y + height))


def screen(*items: ScreenItem) -> ScreenText:
    return ScreenText(items, SIZE, {"ocr": 3.0})


LOGIN = screen(
    item("text", "Username", 4, 20),
    item("text box", "", 4, 40, 120),
    item("text", "Password", 4, 70),
    item("text box", "", 4, 90, 120),
    item("button", "Login", 4, 120),
)
SECRET = "Hidden from every screenshot"


def looked(goal: str = "Click on the Login button.", **more: object) -> Observation:
    """A page whose tree says what no screenshot shows."""
    plain = observation(f"RootWebArea '{SECRET}'\n\t[7] button '{SECRET}'", goal=goal)
    changes: dict[str, object] = {"screenshot": png(*SIZE), "width": SIZE[0], "height": SIZE[1]}
    return replace(plain, **(changes | more))  # type: ignore[arg-type]


def showing(*screens: ScreenText) -> Read:
    """A reader that reads one screen after another, then the last one for ever."""
    left = list(screens)
    return lambda _observation: left.pop(0) if len(left) > 1 else left[0]


def said(*commands: dict[str, object], thought: str = "So it is.") -> str:
    return json.dumps(
        {"thought": thought, "plan": "One step.", "self_critique": "", "commands": list(commands)}
    )


def click(x: int, y: int) -> dict[str, object]:
    return {"name": "click", "x": x, "y": y}


def settings(**more: object) -> ScreenSettings:
    return ScreenSettings.model_validate({"model": "m"} | more)


def agent(model: Scripted, *screens: ScreenText, **more: object) -> ScreenAgent:
    return ScreenAgent(settings(**more), model, entry(), showing(*(screens or (LOGIN,))))
