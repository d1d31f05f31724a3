"""From instructions and a screen to commands."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from webagent.agents.screen.agent import Read, ScreenReading, look, reader_of
from webagent.agents.screen.finding import (
    FIELDS,
    assigned,
    field_of,
    labelled,
    named,
    of_kinds,
    value_beside,
)
from webagent.agents.screen.instructions import (
    PLAIN_BUTTON,
    Choose,
    Click,
    Copy,
    Enter,
    Instruction,
    Paste,
    instructions_of,
)
from webagent.agents.screen.reply import Pointer, PressKey, TypeText, browser_action, click
from webagent.agents.scripted import Scripted
from webagent.agents.settings import VisionSettings
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord
from webagent.vision.screen import ScreenItem, ScreenText

Commands = list[Pointer | PressKey | TypeText]

_DATE_FIELD = re.compile(r"\bmm\s*/\s*dd\b|\bdd\s*/\s*mm\b|\byyyy\b", re.IGNORECASE)
_DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")
LEFT_END = 8
"""How far within a date field its first part begins, in pixels."""


class Unclear(LookupError):
    """No rule knows what to do; says what is missing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Commands to be carried out in a row, and why. They fulfil the goal's first `instructions`."""

    commands: tuple[Pointer | PressKey | TypeText, ...]
    thought: str
    instructions: int


def commands_for(goal: str, screen: ScreenText, done: int = 0) -> Plan:
    """All that the goal asks for and that this screen shows.

    Args:
        done: so many instructions of the goal were fulfilled on earlier screens.

    Raises:
        Unclear: the goal has no words that a rule knows, or what comes next is not on the screen.
    """
    instructions = instructions_of(goal)
    if not instructions:
        raise Unclear("no words of the goal are among those that I know")
    carrying = _Carrying(screen)
    thoughts: list[str] = []
    for instruction in instructions[done:]:
        try:
            thoughts.append(carrying.out(instruction))
        except Unclear:
            if not carrying.commands:
                raise
            break
    return Plan(tuple(carrying.commands), " ".join(thoughts), done + len(thoughts))


def something_to_open(screen: ScreenText, opened: Collection[str]) -> tuple[str, Plan] | None:
    """A part of the screen that may hold more, by its name, and the commands that open it."""
    for item in of_kinds(screen, ("tab", "section header")):
        if item.text and item.text not in opened:
            why = f"What I look for may be behind {item.text!r}."
            return item.text, Plan((click(*item.box.centre),), why, 0)
    return None


class _Carrying:
    """One plan while it grows: fields that are filled already are not filled again."""

    def __init__(self, screen: ScreenText) -> None:
        self._screen = screen
        self._filled: set[ScreenItem] = set()
        self.commands: Commands = []

    def out(self, instruction: Instruction) -> str:
        """Add what the instruction takes, and say why."""
        match instruction:
            case Click():
                return self._click(instruction)
            case Choose(texts=texts):
                return self._choose(texts)
            case Enter():
                return self._enter(instruction)
            case Copy(number=number):
                return self._copy(number)
            case Paste():
                return self._paste()

    def _click(self, instruction: Click) -> str:
        if instruction.text:
            point = named(self._screen, instruction.text, instruction.kinds) or self._the_only(
                instruction.kinds
            )
            what = f"what reads {instruction.text!r}"
        else:
            things = of_kinds(self._screen, instruction.kinds)
            number = instruction.number or 1
            point = things[number - 1].box.centre if number <= len(things) else None
            what = f"number {number} of what is a {' or a '.join(instruction.kinds)}"
        if point is None:
            raise Unclear(f"I do not see {what}")
        self.commands.append(click(*point))
        return f"I click on {what}."

    def _the_only(self, kinds: Sequence[str]) -> tuple[int, int] | None:
        """The only button, where the goal says what it does rather than what is on it."""
        buttons = of_kinds(self._screen, kinds) if tuple(kinds) == PLAIN_BUTTON else ()
        return buttons[0].box.centre if len(buttons) == 1 else None

    def _choose(self, texts: Sequence[str]) -> str:
        found = assigned(texts, labelled(self._screen))
        if missing := [text for text in texts if text not in found]:
            raise Unclear(f"I do not see {missing[0]!r}")
        self.commands += [click(*found[text].point) for text in texts if not found[text].is_on]
        return f"I turn on {', '.join(texts)}."

    def _enter(self, instruction: Enter) -> str:
        text = instruction.text
        if instruction.looked_up:
            value = value_beside(instruction.looked_up, self._screen)
            if value is None:
                raise Unclear(f"I see no value of {instruction.looked_up!r}")
            text = value
        for field in self._fields(instruction):
            self._fill(field, text)
        return f"I enter {text!r}."

    def _fields(self, instruction: Enter) -> Sequence[ScreenItem]:
        fields = [field for field in of_kinds(self._screen, FIELDS) if field not in self._filled]
        if not fields:
            raise Unclear("I see no field that is left to fill")
        if instruction.every:
            return fields
        own = field_of(instruction.label, fields, self._screen) if instruction.label else None
        # What holds something already may be no field at all.
        return [own or next((field for field in fields if not field.text), fields[0])]

    def _fill(self, field: ScreenItem, text: str) -> None:
        self._filled.add(field)
        if _DATE.fullmatch(text) and (_DATE_FIELD.search(field.text) or not field.text):
            # Such a field takes one part after the other, from where it was clicked.
            self.commands.append(click(field.box.x1 + LEFT_END, field.box.centre[1]))
            text = re.sub(r"\b(\d)\b", r"0\1", text).replace("/", "")
        else:
            self.commands.append(click(*field.box.centre))
            if field.text:
                self.commands.append(PressKey(key="C-a"))
        self.commands.append(TypeText(text=text))

    def _copy(self, number: int) -> str:
        areas = of_kinds(self._screen, ("text area",)) or of_kinds(self._screen, FIELDS)
        if number > len(areas):
            raise Unclear(f"I do not see text area number {number}")
        area = areas[number - 1]
        self._filled.add(area)
        self.commands += [click(*area.box.centre), PressKey(key="C-a"), PressKey(key="C-c")]
        return f"I copy all of text area number {number}."

    def _paste(self) -> str:
        boxes = of_kinds(self._screen, ("text box",)) or of_kinds(self._screen, FIELDS)
        free = [box for box in boxes if box not in self._filled]
        if not free:
            raise Unclear("I see no text box to paste into")
        # Text boxes stand below what is copied.
        self.commands += [click(*free[-1].box.centre), PressKey(key="C-v")]
        return "I paste it into the text box."


NAME = "screen-scripted"
VERSION = "rules 1"


class ScreenScripted(Scripted):
    """Does what the goal says in words that it knows. Make a new one for the next run.

    Args:
        read: how an observation is read; the settings' way by default.
    """

    def __init__(self, settings: VisionSettings, read: Read | None = None) -> None:
        self._settings = settings
        self._read = read or reader_of(settings)
        self._n_done = 0
        self._opened: list[str] = []

    def resume_from(self, history: Sequence[Taken]) -> None:
        """Plan anew, from the screen as it is."""
        self._n_done = 0
        self._opened = []

    def describe(self) -> AgentRecord:
        """How it reads, and by which rules it goes."""
        return self.record(NAME, self._settings.model_dump(mode="json"), VERSION)

    def act(self, observation: Observation) -> Decision:
        """All that the goal asks for, as far as the screen shows it."""
        seen = look(observation, self._read)
        try:
            plan = commands_for(observation.goal, seen.screen, self._n_done)
        except Unclear as unclear:
            opening = something_to_open(seen.screen, self._opened)
            if opening is None:
                return _decided(seen, None, f"I do not know what to do: {unclear}.")
            name, plan = opening
            self._opened.append(name)
        else:
            self._n_done = plan.instructions
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
