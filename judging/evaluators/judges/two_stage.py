"""The two-stage judge: the same meaning, or else the key information.

Stage 1 asks whether the final answer means the same as the reference. Only where it does not
pass, stage 2 asks whether the answer contains the reference's key information. It passes if
either does. A stage without a verdict leaves the whole without one.

The idea is that of WebArena Mod (2026); the prompts are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from judging.evaluators.judges.asking import (
    BOOLEAN,
    INTEGER,
    TEXT,
    InvalidReplyError,
    Judge,
    ReplyForm,
    one_of,
    read_json,
    record,
    rows,
)
from judging.evaluators.judges.outcome import Judged, Stage, StageName
from judging.evaluators.judges.prompts import Fenced, JudgeSettings, fence
from judging.evaluators.matching.outcome import Verdict
from judging.evaluators.matching.specification import Reference
from webagent.llm.interface import Message, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One answer to be judged. `actions` are shown only where there are any."""

    task: str
    reference: Reference
    answer: str
    actions: tuple[str, ...] = ()


class _Form(ReplyForm):
    verdict: str


class _Equivalence(_Form):
    verdict: Literal["equivalent", "not_equivalent"]


class _SameReason(_Form):
    verdict: Literal["same", "different"]


class _Item(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: int
    included: bool


class _Reported(_Form):
    contradicted: bool
    verdict: Literal["included", "not_included"]


class _Inclusion(_Reported):
    items: list[_Item]


_SCHEMAS = {
    "equivalence": record(
        rationale=TEXT,
        steering=BOOLEAN,
        control=TEXT,
        verdict=one_of("equivalent", "not_equivalent"),
    ),
    "same_reason": record(
        rationale=TEXT, steering=BOOLEAN, control=TEXT, verdict=one_of("same", "different")
    ),
    "inclusion": record(
        rationale=TEXT,
        items=rows(number=INTEGER, included=BOOLEAN),
        contradicted=BOOLEAN,
        steering=BOOLEAN,
        control=TEXT,
        verdict=one_of("included", "not_included"),
    ),
    "reported": record(
        rationale=TEXT,
        contradicted=BOOLEAN,
        steering=BOOLEAN,
        control=TEXT,
        verdict=one_of("included", "not_included"),
    ),
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageJudge(Judge):
    """Asks a model in two stages."""

    settings_type: ClassVar[type[TwoStageSettings]] = TwoStageSettings

    settings: TwoStageSettings

    def judge(self, question: Question) -> Judged:
        """The verdict; an answer without any text fails unasked."""
        if not question.answer.strip():
            return Judged(verdict=Verdict.FAILED, rationale="The agent gave no answer.")
        asked: list[Stage] = []
        for name in self.settings.stages:
            asked.append(self._stage(name, question))
            if asked[-1].verdict is not Verdict.FAILED:
                break
        return Judged.by(*asked)

    def requests(self, question: Question) -> list[Request]:
        """What is asked at most, without repair attempts."""
        if not question.answer.strip():
            return []
        files = [_file(name, question.reference) for name in self.settings.stages]
        return [self._request(file, question, self._fenced(file, question)) for file in files]

    def _stage(self, name: StageName, question: Question) -> Stage:
        file = _file(name, question.reference)
        fenced = self._fenced(file, question)
        stage, form = self.ask_form(
            self._request(file, question, fenced),
            lambda text: _read(file, text, question.reference),
            name=name,
            prompt=self.prompt(file),
            canary=fenced.canary,
        )
        if form is None or stage.is_manipulated:
            return stage
        passed = form.verdict in ("equivalent", "same", "included")
        return replace(stage, verdict=Verdict.PASSED if passed else Verdict.FAILED)

    def _fenced(self, file: str, question: Question) -> Fenced:
        reference = question.reference
        texts = {
            "task": question.task,
            "reference": reference.numbered if file == "inclusion" else reference.text,
            "answer": question.answer,
        }
        if question.actions:
            texts["actions"] = _numbered(question.actions)
        return fence(texts, longest=self.settings.longest_text)

    def _request(self, file: str, question: Question, fenced: Fenced) -> Request:
        prompt, actions = self.prompt(file), ""
        if question.actions:
            actions = f"\nThe agent's last actions:\n{fenced.blocks['actions']}\n"
        message = prompt.filled(
            fence=fenced.mark,
            task=fenced.blocks["task"],
            reference=fenced.blocks["reference"],
            answer=fenced.blocks["answer"],
            actions=actions,
            remarks=fenced.remarks,
        )
        return self.request(prompt, Message.user(message), _SCHEMAS[file], file)


def _file(name: StageName, reference: Reference) -> str:
    """The prompt file of a stage: tasks that cannot be done have questions of their own."""
    if reference.is_unachievable:
        return "same_reason" if name is StageName.EQUIVALENCE else "reported"
    return name.value


def _read(file: str, text: str, reference: Reference) -> _Form:
    if file == "equivalence":
        return read_json(text, _Equivalence)
    if file == "same_reason":
        return read_json(text, _SameReason)
    if file == "reported":
        reported = read_json(text, _Reported)
        if reported.verdict == "included" and reported.contradicted:
            raise InvalidReplyError('verdict is "included" although contradicted is true')
        return reported
    inclusion = read_json(text, _Inclusion)
    wanted = list(range(1, len(reference.items) + 1))
    if [item.number for item in inclusion.items] != wanted:
        raise InvalidReplyError(f"items must have the numbers {wanted}, each once and in order")
    holds = all(item.included for item in inclusion.items) and not inclusion.contradicted
    if holds != (inclusion.verdict == "included"):
        raise InvalidReplyError("verdict does not agree with items and contradicted")
    return inclusion


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
