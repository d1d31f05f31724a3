"""A successful run as those who write hints from it see it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webagent.llm.untrusted import bounded, visible
from webagent.trajectory.actions import parse_browsergym_actions

LONGEST_THOUGHT = 600
LONGEST_ACTION = 500
LONGEST_LOG = 60_000
"""Characters; beyond it the middle is left out, and said to be."""
_WRITING = frozenset(
    {"fill", "keyboard_type", "keyboard_insert_text", "select_option", "send_msg_to_user", "type"}
)
_QUOTED = re.compile(r"""["“”«»「」'‘’`]([^"“”«»「」'‘’`\n]{2,80})["“”«»「」'‘’`]""")
_PROPER = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w-]+(?:\s+[A-Z][\w-]+)*")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_SLOT = re.compile(r"\\\{\\\{.*?\\\}\\\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """One step that counted. `target` is the acted-on element in words: role and text."""

    index: int
    action: str
    target: str = ""
    url: str = ""
    thought: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """A run that succeeded. `template` is the task's with `{{slots}}`, where it has one."""

    goal: str
    steps: tuple[LoggedStep, ...]
    sites: tuple[str, ...] = ()
    template: str = ""
    answer: str = ""

    @property
    def log(self) -> str:
        """Everything that happened, line by line."""
        lines = [line for step in self.steps for line in _lines(step)]
        if self.answer:
            lines.append(f"Answer to the user: {self.answer}")
        return bounded(visible("\n".join(lines)), LONGEST_LOG)

    @property
    def labels(self) -> str:
        """The words on the elements that were acted on."""
        return "\n".join(step.target for step in self.steps)

    def values(self) -> tuple[str, ...]:
        """What belongs to this task alone: what was typed and chosen, and names in its goal.

        Words that the template of the task has itself belong to all of its tasks.
        """
        found = dict.fromkeys(
            value for value in map(str.strip, self._all_values()) if len(value) > 1
        )
        template = _without_slots(self.template).casefold()
        return tuple(value for value in found if value.casefold() not in template)

    def _all_values(self) -> Iterator[str]:
        yield from _slot_values(self.template, self.goal)
        yield from _QUOTED.findall(self.goal)
        yield from _NUMBER.findall(self.goal)
        known = {word.casefold() for word in re.findall(r"\w+", f"{self.labels} {self.sites}")}
        for name in _PROPER.findall(self.goal):
            if not all(word.casefold() in known for word in re.findall(r"\w+", name)):
                yield name
        for step in self.steps:
            yield from _written(step.action)
        if len(self.answer) <= LONGEST_ACTION:
            yield self.answer


def _lines(step: LoggedStep) -> Iterator[str]:
    where = f" at {step.url}" if step.url else ""
    yield f"Step {step.index}{where}"
    if step.thought:
        yield f"  thought: {bounded(' '.join(step.thought.split()), LONGEST_THOUGHT)}"
    on = f" — on {step.target}" if step.target else ""
    yield f"  action: {bounded(step.action, LONGEST_ACTION)}{on}"
    if step.error:
        yield f"  the browser refused it: {bounded(' '.join(step.error.split()), LONGEST_THOUGHT)}"


def _slot_values(template: str, goal: str) -> Sequence[str]:
    """What stands in the goal where its template has slots; nothing if they do not fit."""
    if "{{" not in template:
        return ()
    pattern = _SLOT.sub("(.+?)", re.escape(template.strip()))
    found = re.fullmatch(pattern, goal.strip(), re.DOTALL)
    return found.groups() if found else ()


def _without_slots(template: str) -> str:
    return re.sub(r"\{\{.*?\}\}", "\n", template)


def _written(action: str) -> Iterator[str]:
    """What an action puts into the page or says: all its texts but the element's name."""
    for call in parse_browsergym_actions(action):
        if call.name not in _WRITING:
            continue
        given = list(call.args) + list((call.named_args or {}).values())
        names_element = call.name in ("fill", "select_option")
        for value in given[1 if names_element else 0 :]:
            texts = value if isinstance(value, list) else [value]
            yield from (text for text in texts if isinstance(text, str))
