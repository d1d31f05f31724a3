"""Answering the judge calls that matchers leave open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from judging.judges.outcome import Judged
from judging.judges.settings import SingleStageSettings, TwoStageSettings
from judging.judges.single_stage import SingleStageJudge
from judging.judges.two_stage import TwoStageJudge
from judging.matching.outcome import JudgeCall, MatchEvaluation, Verdict
from webagent.llm.interface import LanguageModel

SINGLE_STAGE = "single-stage-judge"
TWO_STAGE = "two-stage-judge"


class AnswersCalls(Protocol):
    """A judge that matchers can hand over to."""

    def answer(self, call: JudgeCall) -> Judged: ...


def calls_judge(name: str, language_model: LanguageModel, **config: object) -> AnswersCalls:
    """The judge of that name, for judge calls.

    Raises:
        ValueError: no such judge answers calls, or it has no such setting.
    """
    if name == SINGLE_STAGE:
        single = SingleStageSettings.model_validate(config)
        return SingleStageJudge(language_model=language_model, settings=single)
    if name == TWO_STAGE:
        two = TwoStageSettings.model_validate(config)
        return TwoStageJudge(language_model=language_model, settings=two)
    raise ValueError(f"{name} answers no calls; {SINGLE_STAGE} and {TWO_STAGE} do")


def answer_calls(
    calls: Iterable[JudgeCall],
    language_model: LanguageModel,
    *,
    judge: str = SINGLE_STAGE,
    **config: object,
) -> list[Judged]:
    """What the judge says to each of the calls, in order.

    Args:
        config: the judge's settings, `model` among them.

    Raises:
        ValueError: as `calls_judge`.
    """
    answering = calls_judge(judge, language_model, **config)
    return [answering.answer(call) for call in calls]


def settle_calls(
    evaluation: MatchEvaluation, judged: Sequence[Judged], *, errors_win: bool = False
) -> Verdict:
    """The verdict of a matcher's evaluation once its judge calls are answered, one by one.

    One call that fails settles it; else one without a verdict leaves it open. With `errors_win`
    it is the other way round, as in the published evaluator, which raises.
    """
    if evaluation.verdict is not Verdict.NEEDS_JUDGE:
        return evaluation.verdict
    found = {each.verdict for each in judged}
    order = (Verdict.ERROR, Verdict.FAILED) if errors_win else (Verdict.FAILED, Verdict.ERROR)
    for verdict in order:
        if verdict in found:
            return verdict
    return Verdict.PASSED
