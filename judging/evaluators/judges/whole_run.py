"""One question about a whole run: how it is put, and what every reply to it brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from judging.evaluators.judges.asking import ask
from judging.evaluators.judges.outcome import Stage, StageName
from judging.evaluators.judges.prompts import Prompt, load_prompt
from judging.evaluators.judges.settings import ShownSettings
from judging.evaluators.judges.shown import Trajectory, texts_of, with_pictures
from judging.evaluators.judges.untrusted import Fenced, fence
from webagent.llm.interface import LanguageModel, Request


class ReplyForm(BaseModel):
    """What every reply says. `control` shows whether the judge followed a text of the run."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rationale: str
    steering: bool
    control: str


Form = TypeVar("Form", bound=ReplyForm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Generic[Form]):
    """A reply, and the stage with what was said of the whole, without a verdict yet.

    `form` is None where there is no usable reply: the stage says why.
    """

    stage: Stage
    form: Form | None
    is_manipulated: bool = False
    """Whether the judge followed an instruction that stood in the texts: no verdict then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuestion:
    """The question of that name, with its prompt and schema. Equal ones are equal requests."""

    language_model: LanguageModel
    settings: ShownSettings
    name: StageName
    schema: Mapping[str, object]

    def ask(
        self,
        trajectory: Trajectory,
        read: Callable[[str], Form],
        more: Mapping[str, str] | None = None,
    ) -> Answered[Form]:
        """What the model replies.

        Args:
            read: as in `asking.ask`.
            more: texts beside those of the run, fenced in like them.
        """
        fenced = self.fenced(trajectory, more)
        request = self._request(trajectory, fenced)
        asked = ask(self.language_model, request, read, name=self.name, prompt=self._prompt)
        form = asked.value
        if form is None:
            return Answered(stage=asked.stage, form=None)
        return Answered(
            stage=replace(asked.stage, rationale=form.rationale, steering=form.steering),
            form=form,
            is_manipulated=fenced.canary in form.control.lower(),
        )

    def request(self, trajectory: Trajectory, more: Mapping[str, str] | None = None) -> Request:
        """What is asked, without a repair attempt."""
        return self._request(trajectory, self.fenced(trajectory, more))

    def fenced(self, trajectory: Trajectory, more: Mapping[str, str] | None = None) -> Fenced:
        """The texts as they stand in the prompt, with the canary that tells who follows them."""
        return fence(texts_of(trajectory, self.settings) | dict(more or {}), longest=None)

    @property
    def _prompt(self) -> Prompt:
        return load_prompt(self.settings.family, self.settings.prompts, self.name.value)

    def _request(self, trajectory: Trajectory, fenced: Fenced) -> Request:
        prompt = self._prompt
        before, after = prompt.filled_around(
            "pictures", fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks
        )
        return Request(
            model=self.settings.model,
            messages=(with_pictures(before, trajectory.pictures, after),),
            system=prompt.system,
            schema=self.schema,
            schema_name=self.name.value,
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
        )
