"""What can be done to a screen, and each as the browser's action of the same meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.records import ActionRecord

MOST_COMMANDS = 50
"""In one reply."""
LONGEST_TEXT = 2000
"""Characters typed by one command."""

Key = Literal["<Enter>", "<Backspace>", "C-a", "C-c", "C-x", "C-v"]
KEYS: tuple[Key, ...] = get_args(Key)

_KEY_NAMES = MappingProxyType(
    {
        "<Enter>": "Enter",
        "<Backspace>": "Backspace",
        "C-a": "ControlOrMeta+a",
        "C-c": "ControlOrMeta+c",
        "C-x": "ControlOrMeta+x",
        "C-v": "ControlOrMeta+v",
    }
)
"""How the browser's driver calls them: what is Control elsewhere is Meta on a Mac."""
_POINTER_ACTIONS = MappingProxyType(
    {
        "move": "mouse_move",
        "click": "mouse_click",
        "double_click": "mouse_dblclick",
        "mouse_down": "mouse_down",
        "mouse_up": "mouse_up",
    }
)
_KEYS_OF_NAMES = {name: key for key, name in _KEY_NAMES.items()}
_COMMANDS_OF_ACTIONS = {action: name for name, action in _POINTER_ACTIONS.items()}
_SCROLL_SIGNS = MappingProxyType({"scroll_up": -1, "scroll_down": 1})


class _Command(BaseModel):
    # Strict: "12" and 12.5 are no pixels.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Pointer(_Command):
    """Something done with the mouse at a pixel of the screenshot, counted from its top left."""

    name: Literal[
        "move", "click", "double_click", "mouse_down", "mouse_up", "scroll_up", "scroll_down"
    ]
    x: int
    y: int


class PressKey(_Command):
    """One key, or one with Control held."""

    name: Literal["press_key"] = "press_key"
    key: Key


class TypeText(_Command):
    """A text typed key by key where the focus is."""

    name: Literal["type_text"] = "type_text"
    text: str = Field(min_length=1, max_length=LONGEST_TEXT)


Command = Annotated[Pointer | PressKey | TypeText, Field(discriminator="name")]


def click(x: int, y: int) -> Pointer:
    """A click on the pixel."""
    return Pointer(name="click", x=x, y=y)


def browser_action(commands: Sequence[Pointer | PressKey | TypeText], scroll_pixels: int) -> str:
    """The commands as one action of BrowserGym's grammar, a call a line, in their order.

    Args:
        scroll_pixels: how far one scroll goes, in pixels of the screenshot.
    """
    return "\n".join(_call(command, scroll_pixels) for command in commands)


def as_commands(action: str) -> str:
    """An action in the words of the commands; a call that is of no command as it was written."""
    return "; ".join(_words(call) for call in parse_browsergym_actions(action))


def _words(call: ActionRecord) -> str:
    match call.name, call.args:
        case "keyboard_press", [key] if key in _KEYS_OF_NAMES:
            return f"press_key {json.dumps(_KEYS_OF_NAMES[key])}"
        case "keyboard_type", [text]:
            return f"type_text {json.dumps(text, ensure_ascii=False)}"
        case "scroll_at", [x, y, 0, int(way)]:
            return f"{'scroll_up' if way < 0 else 'scroll_down'} at ({x}, {y})"
        case name, [x, y] if name in _COMMANDS_OF_ACTIONS:
            return f"{_COMMANDS_OF_ACTIONS[name]} at ({x}, {y})"
    return str(call.raw).strip()


def _call(command: Pointer | PressKey | TypeText, scroll_pixels: int) -> str:
    match command:
        case PressKey(key=key):
            return f"keyboard_press({_KEY_NAMES[key]!r})"
        case TypeText(text=text):
            return f"keyboard_type({text!r})"
        case Pointer(name=name, x=x, y=y) if name in _SCROLL_SIGNS:
            return f"scroll_at({x}, {y}, 0, {_SCROLL_SIGNS[name] * scroll_pixels})"
        case Pointer(name=name, x=x, y=y):
            return f"{_POINTER_ACTIONS[name]}({x}, {y})"
