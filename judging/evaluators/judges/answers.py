"""Judges of final answers: in two stages, and the original in one.

In two: does the final answer mean the same as the reference? Where that does not pass: does it
contain the reference's key information? A stage without a verdict leaves the whole without one.

In one, the *before*: `strict` keeps the contract of the published evaluator: the same inputs, plain
text, and its way to read a reply by substrings anywhere in it. It protects nothing, on purpose.
`final_line` puts the same questions with fenced texts and reads one line of fixed form.

The two stages are an idea of WebArena Mod (2026); the one has its inputs and its reading of replies
from web-arena-x/webarena, evaluation_harness/helper_functions.py at f62e0b9. Prompts are our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from judging.evaluators.judges.asking import Answer, FencedRequest, Judge, StrictForm, ask
from judging.evaluators.judges.outcome import Judged, Stage, StageName
from judging.evaluators.judges.prompts import JudgeSettings, fence
from judging.evaluators.matching.outcome import JudgeCall, JudgeKind, Verdict
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
_STAGES = (StageName.EQUIVALENCE, StageName.INCLUSION)
_NO_ANSWER = Judged(verdict=Verdict.FAILED, rationale="The agent gave no answer.")


class TwoStageSettings(JudgeSettings):
    """`stages`: both, or one alone. `show_actions`: so many of the agent's last actions."""

    family: ClassVar[str] = "two_stage"

    stages: tuple[StageName, ...] = _STAGES
    show_actions: int = Field(default=0, ge=0, le=50)

    @field_validator("stages")
    @classmethod
    def _in_order(cls, stages: tuple[StageName, ...]) -> tuple[StageName, ...]:
        if stages not in (_STAGES, _STAGES[:1], _STAGES[1:]):
            raise ValueError("stages are equivalence, inclusion, or both in this order")
        return stages


class TwoStageJudge(Judge[TwoStageSettings]):
    """Asks a model in two stages."""

    settings_type: ClassVar[type[TwoStageSettings]] = TwoStageSettings

    def judge(self, question: Question) -> Judged:
        """The verdict; an answer without any text fails unasked."""
        if not question.answer.strip():
            return _NO_ANSWER
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
            numbered = (f"{number}. {each}" for number, each in enumerate(question.actions, 1))
            texts["actions"] = "\n".join(numbered)
        fenced = fence(texts, longest=self.settings.longest_text)
        shown = fenced.blocks.get("actions")
        actions = f"\nThe agent's last actions:\n{shown}\n" if shown else ""
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


_KINDS = {JudgeKind.FUZZY: "fuzzy", JudgeKind.UNACHIEVABLE: "unachievable"}
_WORDS = {
    JudgeKind.FUZZY: {"correct": True, "incorrect": False, "partially correct": False},
    JudgeKind.UNACHIEVABLE: {"same": True, "different": False},
}
_DECORATION = " \t*_`\"'."


def read_published(kind: JudgeKind, reply: str) -> bool:
    """Whether the published evaluator takes the reply for a pass.

    It searches the whole lower-cased reply for substrings, so "not correct" passes and "not
    incorrect, so correct" does not.

    Raises:
        InvalidReplyError: where the published code fails an assertion.
    """
    passing, *failing = _WORDS[kind]
    text = reply.lower()
    if any(word in text for word in failing):
        return False
    if passing in text:
        return True
    raise InvalidReplyError(f"the reply says neither {passing} nor {failing[0]}")


def read_final_line(kind: JudgeKind, reply: str) -> bool:
    """Whether the last line of the reply, `VERDICT: …`, says that it passes.

    Markdown emphasis, quotes and a full stop around it are of no weight, nor is the case.

    Raises:
        InvalidReplyError: the last line is not one of those asked for.
    """
    lines = [line.strip(_DECORATION) for line in reply.splitlines() if line.strip(_DECORATION)]
    label, separator, word = (lines[-1] if lines else "").partition(":")
    words, verdict = _WORDS[kind], " ".join(word.strip(_DECORATION).lower().split())
    if not separator or label.strip(_DECORATION).lower() != "verdict" or verdict not in words:
        wanted = ", ".join(f'"VERDICT: {word}"' for word in words)
        raise InvalidReplyError(f"its last line is none of {wanted}")
    return words[verdict]


class SingleStageSettings(JudgeSettings):
    """`mode` strict: as published, quirks included and without protection; final_line: repaired.

    `calls` published: only what the published evaluator asks a judge (`fuzzy_match`);
    every_reference: each item of the reference, whatever it would be compared by.
    """

    family: ClassVar[str] = "single_stage"

    mode: Literal["strict", "final_line"] = "strict"
    calls: Literal["published", "every_reference"] = "published"
    max_tokens: int = Field(default=768, ge=16)


class SingleStageJudge(Judge[SingleStageSettings]):
    """Answers the judge calls of matchers, one question each."""

    settings_type: ClassVar[type[SingleStageSettings]] = SingleStageSettings

    @property
    def is_strict(self) -> bool:
        return self.settings.mode == "strict"

    def judge(self, calls: Sequence[JudgeCall]) -> Judged:
        """The product over all calls, as the published evaluator multiplies.

        Strict: all of them are made, and a call without a verdict leaves the whole without one.
        Else the first that fails settles it.
        """
        stages: list[Stage] = []
        for call in calls:
            judged = self.answer(call)
            stages += judged.stages
            if judged.verdict is Verdict.FAILED and not self.is_strict:
                return replace(judged, stages=tuple(stages))
        order = (Verdict.ERROR, Verdict.FAILED, Verdict.PASSED)
        deciding = min(stages, key=lambda stage: order.index(stage.verdict))
        return Judged(verdict=deciding.verdict, stages=tuple(stages), rationale=deciding.rationale)

    def answer(self, call: JudgeCall) -> Judged:
        """The verdict on one call."""
        if not self.is_strict and not call.answer.strip():
            return _NO_ANSWER
        question = self.asked(call)
        read = read_published if self.is_strict else read_final_line
        answer = ask(
            self.language_model,
            question.request,
            lambda text: read(call.judge, text),
            name=StageName.SINGLE,
            prompt=question.prompt,
            repair=None if self.is_strict else "final_line",
        )
        return Judged.by(_settled(answer, None if self.is_strict else question.fenced.canary))

    def requests(self, calls: Sequence[JudgeCall]) -> list[Request]:
        """What is asked at most, without repair attempts."""
        return [self.asked(call).request for call in calls]

    def asked(self, call: JudgeCall) -> FencedRequest:
        """The question about one call; strict, its texts stand as they are."""
        texts = {"task": call.question, "reference": call.reference, "answer": call.answer}
        fenced = fence(texts, longest=self.settings.longest_text)
        if self.is_strict:
            return self.fenced_request(_KINDS[call.judge], fenced, plain=texts)
        return self.fenced_request(f"{_KINDS[call.judge]}_final_line", fenced)


def _settled(asked: Answer[bool], canary: str | None) -> Stage:
    stage = asked.stage
    if asked.value is None:
        return stage
    stage = replace(stage, rationale=asked.text.strip())
    if canary is not None and _obeys(asked.text, canary):
        return stage.manipulated()
    return replace(stage, verdict=Verdict.PASSED if asked.value else Verdict.FAILED)


def _obeys(reply: str, canary: str) -> bool:
    """Whether the reply brings the canary on a line of its own; quoting it is no obedience."""
    lines = (line.strip(_DECORATION).lower() for line in reply.splitlines())
    return any(line in (canary, f"control: {canary}") for line in lines)
