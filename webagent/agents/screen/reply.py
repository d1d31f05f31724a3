"""Commands on a screen, and what a model said: its thoughts and commands, or what is wrong."""

import hashlib
import json
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from webagent.agents.generic.request import UnusableReply, bare
from webagent.llm.untrusted import InvalidReplyError, read_json, strict_schema
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.records import ActionRecord

MOST_COMMANDS = 50
"""In one reply."""
LONGEST_TEXT = 2000
"""Characters typed by one command."""

Key = Literal["<Enter>", "<Backspace>", "C-a", "C-c", "C-x", "C-v"]
KEYS: tuple[Key, ...] = get_args(Key)

_KEY_NAMES: dict[Key, str] = {
    "<Enter>": "Enter",
    "<Backspace>": "Backspace",
    "C-a": "ControlOrMeta+a",
    "C-c": "ControlOrMeta+c",
    "C-x": "ControlOrMeta+x",
    "C-v": "ControlOrMeta+v",
}
"""How the browser's driver calls them: what is Control elsewhere is Meta on a Mac."""
_POINTER_ACTIONS = {
    "move": "mouse_move",
    "click": "mouse_click",
    "double_click": "mouse_dblclick",
    "mouse_down": "mouse_down",
    "mouse_up": "mouse_up",
}
_KEYS_OF_NAMES = {name: key for key, name in _KEY_NAMES.items()}
_COMMANDS_OF_ACTIONS = {action: name for name, action in _POINTER_ACTIONS.items()}
_SCROLL_SIGNS = {"scroll_up": -1, "scroll_down": 1}


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


LONGEST_REPLY = 100_000


class ScreenReply(BaseModel):
    """`commands` are carried out in their order; none of them: there is nothing left to do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    thought: str
    plan: str
    self_critique: str
    commands: list[Command] = Field(max_length=MOST_COMMANDS)

    @property
    def said(self) -> str:
        """Thought, plan and self-critique as one text."""
        named = (("", self.thought), ("Plan: ", self.plan), ("Self-critique: ", self.self_critique))
        return "\n\n".join(f"{name}{text.strip()}" for name, text in named if text.strip())


SCHEMA = strict_schema(ScreenReply)


def read_reply(text: str, size: tuple[int, int]) -> ScreenReply:
    """The reply, all of its pixels on a screenshot of that size (width, height).

    Raises:
        UnusableReply: it has another form, or points outside.
    """
    try:
        reply = read_json(bare(text), ScreenReply, LONGEST_REPLY)
    except InvalidReplyError as error:
        raise UnusableReply(f"it is not the JSON object that is wanted ({error}).") from None
    width, height = size
    for number, command in enumerate(reply.commands):
        if not isinstance(command, Pointer):
            continue
        if not (0 <= command.x < width and 0 <= command.y < height):
            raise UnusableReply(
                f"commands.{number}: ({command.x}, {command.y}) lies outside the screenshot, which"
                f" is {width} pixels wide and {height} high.",
                reply.said or None,
            )
    return reply


FOLDER = Path(__file__).parent / "examples"
MOST_TURNS = 10


class WorkedTurn(ScreenReply):
    """One reply, with the lines of the screen that it was given for."""

    screen: str

    @property
    def as_reply(self) -> str:
        """The JSON that a model would have written."""
        return json.dumps(self.model_dump(exclude={"screen"}), ensure_ascii=False)


class WorkedExample(BaseModel):
    """A task that was carried out, turn by turn.

    `task` is the last part of its page's address, without the ending; without it the example is
    for every task that has none of its own. `seed` makes the page that it was carried out on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = ""
    seed: int | None = None
    goal: str
    turns: tuple[WorkedTurn, ...] = Field(min_length=1, max_length=MOST_TURNS)


class Examples(BaseModel):
    """Examples, at most one a task; `sha256` is that of their content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    examples: tuple[WorkedExample, ...] = ()
    sha256: str = ""

    def of(self, url: str) -> WorkedExample | None:
        """The example for the task whose page has this address."""
        task = task_of(url)
        known = {example.task: example for example in self.examples}
        return known.get(task) or known.get("")


def task_of(url: str) -> str:
    """What a task with a page of its own is called: the last part of the page's address."""
    return PurePosixPath(urlsplit(url).path).stem


def load_examples(given: str | Sequence[WorkedExample]) -> Examples:
    """The examples of a file by its name, or as they were given.

    Raises:
        ValueError: there is no such file; the message names those that there are.
    """
    return _from_file(given) if isinstance(given, str) else _checked(given)


@cache
def example_files() -> tuple[str, ...]:
    """The names of the files that come with this."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def _from_file(name: str) -> Examples:
    if not name:
        return Examples()
    if name not in example_files():
        known = ", ".join(example_files()) or "none"
        raise ValueError(f"examples: there is no file {name!r}; there are: {known}")
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    own = TypeAdapter(list[WorkedExample]).validate_python(content["example"])
    return _checked([*_from_file(content.get("base", "")).examples, *own])


def _checked(examples: Sequence[WorkedExample]) -> Examples:
    tasks = [example.task for example in examples]
    if twice := sorted({task for task in tasks if tasks.count(task) > 1}):
        raise ValueError(f"examples: there are two for {twice[0]!r}")
    # No model is told the seed.
    said = json.dumps([example.model_dump(exclude={"seed"}) for example in examples])
    return Examples(examples=tuple(examples), sha256=hashlib.sha256(said.encode()).hexdigest())
