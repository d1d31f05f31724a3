"""Everything that can be set on agents that ask a model. All of it is kept with each run.

The generic agent reads a page's tree; the others see by the screenshot alone.
"""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webagent.agents.generic.action_space import Action, chosen_actions
from webagent.agents.generic.knowledge import KnowledgeSettings
from webagent.agents.generic.request import HistoryWords, Wording, Words, load_wording, read_wording
from webagent.agents.screen.reply import Examples, WorkedExample, load_examples, task_of
from webagent.trajectory.records import Json
from webagent.trajectory.values import Money

MAX_STEPS = {"short": 30, "standard": 50, "long": 100}
"""Ready lengths of a run, in steps."""
MOST_STEPS = 1000
_WEBARENA_ACTIONS = (
    "scroll",
    "keyboard_press",
    "click",
    "fill",
    "hover",
    "select_option",
    "nav",
    "tab",
    "chat",
    "infeas",
)
BENCHMARK_ACTIONS: dict[str, tuple[str, ...]] = {
    # Leaving the page ends a task with 0, and nobody reads messages.
    "miniwob": ("bid", "coord"),
    "webarena": _WEBARENA_ACTIONS,
    "visualwebarena": _WEBARENA_ACTIONS,
    "workarena": ("bid", "tab", "nav", "chat", "infeas"),
}
"""Names and groups of actions."""
DEFAULT_ACTIONS = ("bid", "nav", "tab", "chat", "infeas")
"""For tasks of no known benchmark."""
KNOWLEDGE_TOKENS = 6_000
"""The budget of web knowledge that nobody has set."""
ADDED_LATER = ("hints", "knowledge", "knowledge_tokens")


class AgentSettings(BaseModel):
    """How the agent looks, asks and acts. `model` is a name of the file of models.

    `benchmark` chooses the actions of a known benchmark; `actions`, if given, are taken
    instead: names and groups (chat, infeas, bid, coord, nav, tab). `marks` draws bids into the
    picture. `examples` of good replies are shown, `tips` stand at the head of the prompt. `hints`
    names a set of hints from which each task's tips are taken; whoever makes the agent gives it
    those (`GenericAgent.advise`). `knowledge` is web knowledge that stands behind them; without
    `knowledge_tokens` (null) all of it that leaves a quarter of the prompt.

    Of `max_prompt_tokens`, or what the model's context leaves beside a reply, each part gets no
    more than its own `…_tokens`. An unusable reply is sent back `max_parse_retries` times; what
    follows then is `after_parse_failure`: the run ends, or the agent waits and goes on.
    `max_cost` is in US dollars a run. `ends_with_message`: a message to the user ends the run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    observation: Literal["axtree", "screenshot", "both"] = "axtree"
    marks: bool = False
    benchmark: str | None = None
    actions: tuple[str, ...] | None = Field(default=None, min_length=1)
    reply: Literal["tags", "json"] = "tags"
    examples: Literal[0, 1, 3, 5] = 1
    tips: str = Field(default="", max_length=200_000)
    hints: str = Field(default="", max_length=100)
    knowledge: KnowledgeSettings | None = None
    prompts: str = "1"
    max_steps: int = Field(default=MAX_STEPS["standard"], ge=1, le=MOST_STEPS)
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_reply_tokens: int = Field(default=4096, ge=64)
    max_parse_retries: int = Field(default=3, ge=0, le=10)
    after_parse_failure: Literal["stop", "wait"] = "stop"
    ends_with_message: bool = False
    max_cost: Money | None = Field(default=None, gt=0, allow_inf_nan=False)

    max_prompt_tokens: int = Field(default=40_000, ge=500)
    page_tokens: int = Field(default=30_000, ge=0)
    history_tokens: int = Field(default=8_000, ge=0)
    tips_tokens: int = Field(default=6_000, ge=0)
    knowledge_tokens: int | None = Field(default=KNOWLEDGE_TOKENS, ge=0)
    tabs_tokens: int = Field(default=1_000, ge=0)
    error_tokens: int = Field(default=600, ge=0)

    def as_json(self) -> Json:
        """All settings. Those that came later are left out where they are not used.

        So a configuration keeps the hash by which its runs are found.
        """
        fields = type(self).model_fields
        unused = {name for name in ADDED_LATER if getattr(self, name) == fields[name].default}
        return self.model_dump(mode="json", exclude=unused)

    @property
    def allowed(self) -> tuple[Action, ...]:
        """The actions that the model may choose from."""
        usual = BENCHMARK_ACTIONS[self.benchmark] if self.benchmark else DEFAULT_ACTIONS
        return chosen_actions(self.actions or usual)

    @property
    def longest_reply_tokens(self) -> int:
        return self.max_reply_tokens

    @property
    def wording(self) -> Wording[Words]:
        return load_wording(self.prompts)

    @property
    def sees_picture(self) -> bool:
        return self.observation != "axtree"

    @property
    def sees_tree(self) -> bool:
        return self.observation != "screenshot"

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        load_wording(self.prompts)
        if self.benchmark is not None and self.benchmark not in BENCHMARK_ACTIONS:
            raise ValueError(
                f"benchmark: there is no {self.benchmark!r}; there are:"
                f" {', '.join(BENCHMARK_ACTIONS)}"
            )
        if self.hints and self.tips:
            raise ValueError("tips: they come from the hints; give one of the two")
        groups = {action.group for action in self.allowed}
        if self.marks and not self.sees_picture:
            raise ValueError("marks: there is no picture to draw them into")
        if not self.sees_tree and not self.marks and "coord" not in groups:
            raise ValueError(
                "actions: by a picture without marks only actions by coordinates can be chosen:"
                " add the group coord, or marks"
            )
        return self


SCREEN_PROMPTS = Path(__file__).parent / "screen" / "prompts"


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
    """The words of that version; see `read_wording`."""
    return read_wording(version, ScreenWords, SCREEN_PROMPTS)


MAX_COMPLETIONS = 10

ReplyTokens = Annotated[int, Field(ge=64)]


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
    `max_parse_retries` times at a step. A reply has at most `max_reply_tokens`, at tasks that
    `task_reply_tokens` names at most those; a task is the last part of its page's address. Of
    `max_prompt_tokens`, or what the model's context leaves beside the longest reply, each part gets
    no more than its own `…_tokens`. `max_cost` is in US dollars a run.
    """

    model: str = Field(min_length=1)
    observation: Literal["screenshot text"] = "screenshot text"
    captioner: str = ""
    examples: str | tuple[WorkedExample, ...] = ""
    tips: str = Field(default="", max_length=200_000)
    hints: str = Field(default="", max_length=100)
    prompts: str = "1"
    max_steps: int = Field(default=MAX_COMPLETIONS, ge=1, le=MOST_STEPS)
    max_completions: int = Field(default=MAX_COMPLETIONS, ge=1, le=MOST_STEPS)
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_reply_tokens: int = Field(default=1500, ge=64)
    task_reply_tokens: dict[str, ReplyTokens] = Field(default={}, max_length=1000)
    max_parse_retries: int = Field(default=2, ge=0, le=10)
    max_cost: Money | None = Field(default=None, gt=0, allow_inf_nan=False)

    max_prompt_tokens: int = Field(default=16_000, ge=500)
    screen_tokens: int = Field(default=10_000, ge=0)
    example_tokens: int = Field(default=4_000, ge=0)
    history_tokens: int = Field(default=4_000, ge=0)
    tips_tokens: int = Field(default=4_000, ge=0)
    error_tokens: int = Field(default=600, ge=0)

    def as_json(self) -> Json:
        """All settings. Without hints there is no word of them: it can act on any task then.

        Nor of tasks' own limits, which came later: so a configuration keeps its hash.
        """
        unused = {name for name in ("hints", "task_reply_tokens") if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=unused)

    @property
    def longest_reply_tokens(self) -> int:
        """What a reply may take at the task that may take most."""
        return max(self.max_reply_tokens, *self.task_reply_tokens.values(), 0)

    def reply_tokens(self, url: str) -> int:
        """What a reply may take at the task whose page has this address."""
        return self.task_reply_tokens.get(task_of(url), self.max_reply_tokens)

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
