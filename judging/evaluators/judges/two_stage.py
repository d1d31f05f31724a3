"""The two-stage judge: the same meaning, or else the key information.

Stage 1 asks whether the final answer means the same as the reference. Only where it does not
pass, stage 2 asks whether the answer contains the reference's key information. It passes if
either does. A stage without a verdict leaves the whole without one.

The idea is that of WebArena Mod (2026); the prompts are our own.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from judging.evaluators.judges.asking import FencedRequest, Judge, StrictForm
from judging.evaluators.judges.outcome import Judged, Stage, StageName
from judging.evaluators.judges.prompts import JudgeSettings, fence
from judging.evaluators.matching.outcome import Verdict
from judging.evaluators.matching.specification import Reference
from webagent.llm.interface import Request
from webagent.llm.untrusted import InvalidReplyError, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One answer to be judged. `actions` are shown only where there are any."""

    task: str
    reference: Reference
    answer: str
    actions: tuple[str, ...] = ()


class _Equivalence(StrictForm):
    rationale: str
    steering: bool
    control: str
    verdict: Literal["equivalent", "not_equivalent"]


class _SameReason(StrictForm):
    rationale: str
    steering: bool
    control: str
    verdict: Literal["same", "different"]


class _Item(StrictForm):
    number: int
    included: bool


class _Inclusion(StrictForm):
    rationale: str
    items: list[_Item]
    contradicted: bool
    steering: bool
    control: str
    verdict: Literal["included", "not_included"]


class _Reported(StrictForm):
    rationale: str
    contradicted: bool
    steering: bool
    control: str
    verdict: Literal["included", "not_included"]


_Form = _Equivalence | _SameReason | _Inclusion | _Reported
_FORMS: dict[str, type[_Form]] = {
    "equivalence": _Equivalence,
    "same_reason": _SameReason,
    "inclusion": _Inclusion,
    "reported": _Reported,
}
"""By the file of the prompt."""


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


class TwoStageJudge(Judge[TwoStageSettings]):
    """Asks a model in two stages."""

    settings_type: ClassVar[type[TwoStageSettings]] = TwoStageSettings

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
        return [self.asked(name, question).request for name in self.settings.stages]

    def asked(self, name: StageName, question: Question) -> FencedRequest:
        """The question of a stage."""
        reference = question.reference
        file = _file(name, reference)
        texts = {
            "task": question.task,
            "reference": reference.numbered if file == "inclusion" else reference.text,
            "answer": question.answer,
        }
        if question.actions:
            numbered = enumerate(question.actions, 1)
            texts["actions"] = "\n".join(f"{number}. {action}" for number, action in numbered)
        fenced = fence(texts, longest=self.settings.longest_text)
        actions = ""
        if question.actions:
            actions = f"\nThe agent's last actions:\n{fenced.blocks['actions']}\n"
        return self.fenced_request(file, fenced, _FORMS[file], file, {"actions": actions})

    def _stage(self, name: StageName, question: Question) -> Stage:
        stage, form = self.ask_form(
            self.asked(name, question),
            lambda text: _read(name, text, question.reference),
            name=name,
        )
        if form is None or stage.is_manipulated:
            return stage
        passed = form.verdict in ("equivalent", "same", "included")
        return replace(stage, verdict=Verdict.PASSED if passed else Verdict.FAILED)


def _file(name: StageName, reference: Reference) -> str:
    """The prompt file of a stage: tasks that cannot be done have questions of their own."""
    if reference.is_unachievable:
        return "same_reason" if name is StageName.EQUIVALENCE else "reported"
    return name.value


def _read(name: StageName, text: str, reference: Reference) -> _Form:
    form = read_json(text, _FORMS[_file(name, reference)])
    if isinstance(form, _Reported) and form.verdict == "included" and form.contradicted:
        raise InvalidReplyError('verdict is "included" although contradicted is true')
    if isinstance(form, _Inclusion):
        wanted = list(range(1, len(reference.items) + 1))
        if [item.number for item in form.items] != wanted:
            raise InvalidReplyError(f"items must have the numbers {wanted}, each once and in order")
        holds = all(item.included for item in form.items) and not form.contradicted
        if holds != (form.verdict == "included"):
            raise InvalidReplyError("verdict does not agree with items and contradicted")
    return form
