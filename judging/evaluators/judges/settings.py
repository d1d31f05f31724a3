"""What can be set on each judge. Every setting is part of its identity."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from judging.evaluators.judges.outcome import StageName
from judging.evaluators.judges.prompts import LONGEST, prompt_versions


class JudgeSettings(BaseModel):
    """How a model is asked. `model` is a name of the model registry.

    `max_tokens` has room for models that think before they reply. `longest_text`: characters of
    one text that the judge is shown; longer ones are cut with a note. `temperature` None leaves
    it to the provider.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: ClassVar[str]
    """The folder of its prompts."""

    model: str = Field(min_length=1)
    prompts: str = "1"
    max_tokens: int = Field(default=2048, ge=16)
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    longest_text: int = Field(default=LONGEST, ge=200)

    @field_validator("prompts")
    @classmethod
    def _known(cls, version: str) -> str:
        if version not in (known := prompt_versions(cls.family)):
            raise ValueError(f"{cls.family} has no prompts {version}; there are {known}")
        return version


class TwoStageSettings(JudgeSettings):
    """`stages`: both, or one alone. `show_actions`: so many of the agent's last actions."""

    family: ClassVar[str] = "two_stage"

    stages: tuple[StageName, ...] = (StageName.EQUIVALENCE, StageName.INCLUSION)
    show_actions: int = Field(default=0, ge=0, le=50)

    @field_validator("stages")
    @classmethod
    def _in_order(cls, stages: tuple[StageName, ...]) -> tuple[StageName, ...]:
        allowed = [
            (StageName.EQUIVALENCE, StageName.INCLUSION),
            (StageName.EQUIVALENCE,),
            (StageName.INCLUSION,),
        ]
        if stages not in allowed:
            raise ValueError("stages are equivalence, inclusion, or both in this order")
        return stages


class SingleStageSettings(JudgeSettings):
    """`mode` strict: as published, quirks included and without protection; final_line: repaired.

    `calls` published: only what the published evaluator asks a judge (`fuzzy_match`);
    every_reference: each item of the reference, whatever it would be compared by.
    """

    family: ClassVar[str] = "single_stage"

    mode: Literal["strict", "final_line"] = "strict"
    calls: Literal["published", "every_reference"] = "published"
    max_tokens: int = Field(default=768, ge=16)


class ShownSettings(JudgeSettings):
    """What of a whole run is shown.

    `selection`: pictures where the page changed most, or evenly spread; first and last always.
    `longest_side` of a picture in pixels, `longest_action` of an action in characters.
    """

    max_tokens: int = Field(default=4096, ge=16)
    pictures: int = Field(default=6, ge=0, le=20)
    selection: Literal["changes", "even"] = "changes"
    longest_side: int = Field(default=1280, ge=64, le=4096)
    most_steps: int = Field(default=80, ge=2, le=1000)
    longest_action: int = Field(default=400, ge=40)
    show_thoughts: bool = False
    show_answer: bool = True


class TrajectorySettings(ShownSettings):
    """What counts besides the task: side effects too, unless switched off."""

    family: ClassVar[str] = "trajectory"

    side_effects_fail: bool = True


class MilestoneSettings(ShownSettings):
    """Nothing but what is shown. The agent's own word on its success is not, by default."""

    family: ClassVar[str] = "milestones"


class FailureSettings(ShownSettings):
    """Thoughts are shown: what was planned and how a page was read stands nowhere else."""

    family: ClassVar[str] = "failures"

    show_thoughts: bool = True


class ProposalSettings(ShownSettings):
    """`most_runs`: so many successful runs are shown, without pictures."""

    family: ClassVar[str] = "proposals"

    pictures: int = Field(default=0, ge=0, le=0)
    most_steps: int = Field(default=40, ge=2, le=1000)
    most_runs: int = Field(default=3, ge=0, le=10)
