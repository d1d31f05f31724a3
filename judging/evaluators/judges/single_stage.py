"""The original single-stage judge, the *before*: is the answer correct?

`strict` keeps the contract of the published evaluator: the same inputs, plain text, and its way
to read a reply by substrings anywhere in it. It protects nothing, on purpose. `final_line` puts
the same questions with fenced texts and reads one line of fixed form.

Source: web-arena-x/webarena, evaluation_harness/helper_functions.py at f62e0b9, for what goes in
and how replies are read; the prompts are our own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from judging.evaluators.judges.asking import Answer, FencedRequest, Judge, ask
from judging.evaluators.judges.outcome import Judged, Stage, StageName
from judging.evaluators.judges.prompts import JudgeSettings, fence
from judging.evaluators.matching.outcome import JudgeCall, JudgeKind, Verdict
from webagent.llm.interface import Request
from webagent.llm.untrusted import InvalidReplyError

_FILES = {JudgeKind.FUZZY: "fuzzy", JudgeKind.UNACHIEVABLE: "unachievable"}
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
    text = reply.lower()
    failing, passing = (
        (("partially correct", "incorrect"), "correct")
        if kind is JudgeKind.FUZZY
        else (("different",), "same")
    )
    if any(word in text for word in failing):
        return False
    if passing not in text:
        raise InvalidReplyError(f"the reply says neither {passing} nor {failing[-1]}")
    return True


def read_final_line(kind: JudgeKind, reply: str) -> bool:
    """Whether the last line of the reply, `VERDICT: …`, says that it passes.

    Markdown emphasis, quotes and a full stop around it are of no weight, nor is the case.

    Raises:
        InvalidReplyError: the last line is not one of those asked for.
    """
    lines = [line.strip(_DECORATION) for line in reply.splitlines() if line.strip(_DECORATION)]
    label, separator, word = (lines[-1] if lines else "").partition(":")
    verdict = " ".join(word.strip(_DECORATION).lower().split())
    words = _WORDS[kind]
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
            return Judged(verdict=Verdict.FAILED, rationale="The agent gave no answer.")
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
            return self.fenced_request(_FILES[call.judge], fenced, plain=texts)
        return self.fenced_request(f"{_FILES[call.judge]}_final_line", fenced)


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
