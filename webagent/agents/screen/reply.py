"""What a model said about a screen: its thoughts and commands, or why it cannot be used."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from webagent.agents.generic.reply import UnusableReply, bare
from webagent.agents.screen.commands import MOST_COMMANDS, Command, Pointer
from webagent.field_errors import field_errors
from webagent.knowledge.asking import strict_schema

LONGEST_REPLY = 100_000
MOST_PROBLEMS = 5


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
    if len(text) > LONGEST_REPLY:
        raise UnusableReply(f"it is longer than {LONGEST_REPLY} characters.")
    try:
        reply = ScreenReply.model_validate_json(bare(text))
    except ValidationError as error:
        told = "; ".join(map(str, field_errors(error)[:MOST_PROBLEMS]))
        raise UnusableReply(f"it is not the JSON object that is wanted ({told}).") from None
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
