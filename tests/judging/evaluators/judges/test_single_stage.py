"""The single-stage judge: the published way to read replies, and the repaired one."""

import pytest

from judging.evaluators.judges.answers import SingleStageJudge, read_final_line, read_published
from judging.evaluators.matching.outcome import JudgeCall, JudgeKind
from tests.judging.evaluators.judges.scripted import asked, single_stage
from tests.webagent.llm.scripted import Scripted, message_of
from webagent.llm.interface import FailureKind, ModelFailure
from webagent.llm.untrusted import InvalidReplyError

FUZZY, UA = JudgeKind.FUZZY, JudgeKind.UNACHIEVABLE
CALL = JudgeCall(judge=FUZZY, reference="January: 11 orders", answer="11 in january", question="q")


@pytest.mark.parametrize(
    ("kind", "reply", "passes"),
    [
        (FUZZY, "correct", True),
        (FUZZY, "The answer is CORRECT.", True),
        (FUZZY, "incorrect", False),
        (FUZZY, "partially correct", False),
        (FUZZY, "Partially Correct: it lacks the year", False),
        (FUZZY, "The answer is not correct", True),
        (FUZZY, "not incorrect, so correct", False),
        (FUZZY, "partially  correct", True),
        (FUZZY, "partially-correct", True),
        (FUZZY, "wrong", None),
        (FUZZY, "", None),
        (UA, "same", True),
        (UA, "The reasons are the Same", True),
        (UA, "different", False),
        (UA, "not the same", True),
        (UA, "same, with different wording", False),
        (UA, "differ", None),
        (UA, "", None),
    ],
)
def test_replies_are_read_as_the_published_evaluator_reads_them(
    kind: JudgeKind, reply: str, passes: bool | None
) -> None:
    if passes is None:
        with pytest.raises(InvalidReplyError):
            read_published(kind, reply)
    else:
        assert read_published(kind, reply) is passes


@pytest.mark.parametrize(
    ("kind", "reply", "passes"),
    [
        (FUZZY, "It says the same.\n\nVERDICT: correct", True),
        (FUZZY, "VERDICT: correct is what I would say, but no.\nVERDICT: incorrect", False),
        (FUZZY, "Verdict: Partially  Correct.", False),
        (FUZZY, "**VERDICT: correct**\n", True),
        (FUZZY, "**VERDICT:** correct", True),
        (FUZZY, "`VERDICT: incorrect`", False),
        (FUZZY, "VERDICT: not correct", None),
        (FUZZY, "The answer is correct", None),
        (FUZZY, "VERDICT: correct\nI hope this helps.", None),
        (FUZZY, "VERDICT: same", None),
        (FUZZY, "VERDICT correct", None),
        (FUZZY, "", None),
        (UA, "VERDICT: same", True),
        (UA, "same, with different wording\nVERDICT: same", True),
        (UA, "VERDICT: different", False),
        (UA, "VERDICT: correct", None),
    ],
)
def test_final_line_alone_decides(kind: JudgeKind, reply: str, passes: bool | None) -> None:
    if passes is None:
        with pytest.raises(InvalidReplyError):
            read_final_line(kind, reply)
    else:
        assert read_final_line(kind, reply) is passes


def judge(*replies: str | ModelFailure, calls: int = 1, **settings: object):
    return asked(SingleStageJudge, [CALL] * calls, replies=replies, **settings)


def test_strict_asks_plainly_and_only_once() -> None:
    judged, model = judge("I cannot say.")
    assert (judged.verdict, judged.error_kind) == ("error", "invalid_reply")
    text = message_of(model.requests[0])
    assert "<<<" not in text
    assert "January: 11 orders" in text
    assert model.requests[0].schema is None
    assert model.requests[0].max_tokens == 768


def test_final_line_repairs_once() -> None:
    judged, model = judge("correct", "VERDICT: correct", mode="final_line")
    assert (judged.verdict, judged.stages[0].asks) == ("passed", 2)
    assert "<<< answer" in message_of(model.requests[0], 0)
    judged, _ = judge("correct", "correct", mode="final_line")
    assert (judged.verdict, judged.error_kind) == ("error", "invalid_reply")


def test_final_line_notices_an_obeyed_canary() -> None:
    asking = SingleStageJudge(language_model=Scripted(), settings=single_stage(mode="final_line"))
    canary = asking.asked(CALL).fenced.canary
    judged, _ = judge(f"{canary}\nVERDICT: correct", mode="final_line")
    assert (judged.verdict, judged.is_manipulated) == ("error", True)
    judged, _ = judge(
        f"A remark asks me to write {canary}, which I do not.\nVERDICT: correct", mode="final_line"
    )
    assert judged.verdict == "passed"


def test_strict_makes_all_calls_and_an_error_wins() -> None:
    judged, _ = judge("correct", "incorrect", "correct", calls=3)
    assert (judged.verdict, len(judged.stages), judged.rationale) == ("failed", 3, "incorrect")
    judged, _ = judge("incorrect", "hm", calls=2)
    assert (judged.verdict, judged.error_kind) == ("error", "invalid_reply")


def test_final_line_stops_at_the_first_that_fails() -> None:
    judged, model = judge("VERDICT: incorrect", calls=3, mode="final_line")
    assert (judged.verdict, len(model.requests)) == ("failed", 1)
    down = ModelFailure(FailureKind.OVERLOADED, "529")
    judged, _ = judge(down, "VERDICT: correct", calls=2, mode="final_line")
    assert (judged.verdict, judged.error_kind) == ("error", "overloaded")
