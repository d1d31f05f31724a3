"""Everything that can be set on the agents that see by the screenshot alone."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webagent.agents.generic.wording import HistoryWords, Wording, read_wording
from webagent.agents.screen.reply import Examples, WorkedExample, load_examples
from webagent.trajectory.records import Json
from webagent.trajectory.values import Money

FOLDER = Path(__file__).parent / "prompts"


class ScreenWords(HistoryWords):
    """What one version says. Its parts are named after the parts of a prompt."""

    system: str
    reply: str
    tips: str
    no_tips: str
    example: str
    example_turn: str
    goal: str
    history: str
    code_word: str
    error: str
    screen: str
    nothing_seen: str
    ending: str
    unusable: str
    screen_left_out: str


def screen_wording(version: str) -> Wording[ScreenWords]:
    """The words of that version.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    return read_wording(version, ScreenWords, FOLDER)


MAX_COMPLETIONS = 10


class VisionSettings(BaseModel):
    """How a screenshot is read, by which OCR engine.

    `cut_top` is the height of the instruction area in pixels of the screenshot: it is cut away,
    since the goal is given as text. None: as it is known of the site. `scroll_pixels`: how far one
    scroll goes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ocr: Literal["rapidocr", "tesseract"] = "rapidocr"
    cut_top: int | None = Field(default=None, ge=0, le=10_000)
    scroll_pixels: int = Field(default=150, ge=1, le=10_000)


class ScreenSettings(VisionSettings):
    """How the agent reads, asks and acts. `model` is a name of the file of models.

    `captioner`, a model that sees, names pictures without text. `examples` names a file of worked
    examples, or holds them: each task is shown its own, if there is one. `tips` stand at the head
    of the prompt, `hints` names a set from which each task's tips are taken.

    At most `max_completions` are asked for in a run; of these an unusable one is sent back
    `max_parse_retries` times at a step. Of `max_prompt_tokens`, or what the model's context leaves
    beside a reply, each part gets no more than its own `…_tokens`. `max_cost` is in US dollars a
    run.
    """

    model: str = Field(min_length=1)
    observation: Literal["screenshot text"] = "screenshot text"
    captioner: str = ""
    examples: str | tuple[WorkedExample, ...] = ""
    tips: str = Field(default="", max_length=200_000)
    hints: str = Field(default="", max_length=100)
    prompts: str = "1"
    max_steps: int = Field(default=MAX_COMPLETIONS, ge=1, le=1000)
    max_completions: int = Field(default=MAX_COMPLETIONS, ge=1, le=1000)
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_reply_tokens: int = Field(default=1500, ge=64)
    max_parse_retries: int = Field(default=2, ge=0, le=10)
    max_cost: Money | None = Field(default=None, gt=0, allow_inf_nan=False)

    max_prompt_tokens: int = Field(default=16_000, ge=500)
    screen_tokens: int = Field(default=10_000, ge=0)
    example_tokens: int = Field(default=4_000, ge=0)
    history_tokens: int = Field(default=4_000, ge=0)
    tips_tokens: int = Field(default=4_000, ge=0)
    error_tokens: int = Field(default=600, ge=0)

    def as_json(self) -> Json:
        """All settings. Without hints there is no word of them: it can act on any task then."""
        return self.model_dump(mode="json", exclude=None if self.hints else {"hints"})

    @property
    def wording(self) -> Wording[ScreenWords]:
        return screen_wording(self.prompts)

    @cached_property
    def worked(self) -> Examples:
        """The worked examples, from their file or as they were given."""
        return load_examples(self.examples)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        screen_wording(self.prompts)
        load_examples(self.examples)
        if self.hints and self.tips:
            raise ValueError("tips: they come from the hints; give one of the two")
        return self
