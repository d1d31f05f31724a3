"""Milestones of a task as a model proposes them. A person decides about each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from judging.evaluators.judges.asking import (
    BOOLEAN,
    NUMBER,
    TEXT,
    InvalidReplyError,
    ask,
    read_json,
    record,
    rows,
)
from judging.evaluators.judges.outcome import Stage, StageName
from judging.evaluators.judges.prompts import Fenced, Prompt, fence, load_prompt
from judging.evaluators.judges.settings import ProposalSettings
from judging.evaluators.judges.shown import Trajectory, texts_of
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import LanguageModel, Message, Request
from webagent.llm.untrusted import bounded

LONGEST_NAME = 200
MOST_PROPOSED = 20
HEAVIEST = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One milestone that a model proposes, and why."""

    name: str
    rationale: str
    weight: float
    is_ordered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What came of the question. No proposals where the stage says why."""

    stage: Stage
    proposals: tuple[Proposal, ...] = ()


class _Proposal(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    rationale: str
    weight: Annotated[float, Field(gt=0, le=HEAVIEST, allow_inf_nan=False)]
    ordered: bool


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    milestones: list[_Proposal]
    steering: bool
    control: str


_SCHEMA = record(
    milestones=rows(name=TEXT, rationale=TEXT, weight=NUMBER, ordered=BOOLEAN),
    steering=BOOLEAN,
    control=TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneProposer:
    """Asks one question about a task and its successful runs, without pictures."""

    language_model: LanguageModel
    settings: ProposalSettings

    def propose(self, task: str, runs: Sequence[Trajectory]) -> Proposed:
        """The proposals in the order in which they are usually reached."""
        prompt, fenced = self._prompt(), self._fenced(task, runs)
        asked = ask(
            self.language_model,
            self._request(prompt, fenced),
            _read,
            name=StageName.PROPOSALS,
            prompt=prompt,
        )
        form = asked.value
        if form is None:
            return Proposed(stage=asked.stage)
        stage = replace(asked.stage, steering=form.steering, verdict=Verdict.PASSED)
        if fenced.canary in form.control.lower():
            return Proposed(stage=stage.manipulated())
        return Proposed(
            stage=stage,
            proposals=tuple(
                Proposal(
                    name=" ".join(each.name.split()),
                    rationale=each.rationale,
                    weight=each.weight,
                    is_ordered=each.ordered,
                )
                for each in form.milestones
            ),
        )

    def request(self, task: str, runs: Sequence[Trajectory]) -> Request:
        """What is asked, without repair attempts."""
        return self._request(self._prompt(), self._fenced(task, runs))

    def _prompt(self) -> Prompt:
        return load_prompt(self.settings.family, self.settings.prompts, "milestones")

    def _fenced(self, task: str, runs: Sequence[Trajectory]) -> Fenced:
        shown = []
        for number, run in enumerate(runs[: self.settings.most_runs], 1):
            texts = texts_of(run, self.settings)
            shown.append(f"run {number}:\n{texts['steps']}\nits final answer: {texts['answer']}")
        texts = {
            "task": bounded(task, self.settings.longest_text),
            "runs": "\n\n".join(shown) or "(no run of it succeeded yet)",
        }
        return fence(texts, longest=None)

    def _request(self, prompt: Prompt, fenced: Fenced) -> Request:
        message = prompt.filled(fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks)
        return Request(
            model=self.settings.model,
            messages=(Message.user(message),),
            system=prompt.system,
            schema=_SCHEMA,
            schema_name="milestone_proposals",
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
        )


def _read(text: str) -> _Form:
    form = read_json(text, _Form)
    if not 1 <= len(form.milestones) <= MOST_PROPOSED:
        raise InvalidReplyError(f"milestones must be 1 to {MOST_PROPOSED}")
    names = [" ".join(each.name.split()).casefold() for each in form.milestones]
    if not all(names):
        raise InvalidReplyError("a milestone has no name")
    if len(set(names)) < len(names):
        raise InvalidReplyError("two milestones have the same name")
    return form
