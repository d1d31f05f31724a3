"""The demo's stand-in for a model: answers our judges' questions by rule, and says that it does."""

import pytest

from judging.demo.stub_judge import MODEL, OWN_WORDS, StubJudge
from judging.evaluators.judges.answers import (
    Question,
    SingleStageJudge,
    SingleStageSettings,
    TwoStageJudge,
    TwoStageSettings,
)
from judging.evaluators.judges.outcome import Judged, StageName
from judging.evaluators.matching.outcome import JudgeCall, JudgeKind, Verdict
from judging.evaluators.matching.specification import Reference
from webagent.llm.interface import FailureKind, Message, ModelFailure, Request
from webagent.llm.registry import is_stub

SAME, HELD = StageName.EQUIVALENCE, StageName.INCLUSION
NO_BOOK = "The catalogue has no book about space flight."
CATALOGUE = "The Salt Road, Tidewater, Harbour Lights, River Law, Moss, Bread and Stone"


def two_stages(question: Question) -> Judged:
    settings = TwoStageSettings(model=MODEL)
    return TwoStageJudge(language_model=StubJudge(), settings=settings).judge(question)


def one_stage(kind: JudgeKind, reference: str, answer: str, mode: str) -> Judged:
    settings = SingleStageSettings.model_validate({"model": MODEL, "mode": mode})
    judge = SingleStageJudge(language_model=StubJudge(), settings=settings)
    return judge.answer(
        JudgeCall(judge=kind, reference=reference, answer=answer, question="What is asked?")
    )


@pytest.mark.parametrize(
    ("task", "reference", "answer", "verdict", "stage"),
    [
        ("How much?", "$0.50", "It is $0.5.", Verdict.PASSED, SAME),
        ("How much?", "1200.00", "$1,200.00", Verdict.PASSED, SAME),
        ("What is the number?", "5550142213", "555-014-2213", Verdict.PASSED, SAME),
        ("What is the number?", "5550142213", "555-014-2200", Verdict.FAILED, HELD),
        ("How many copies?", "2", "2. The others are on loan.", Verdict.PASSED, HELD),
        ("How many copies?", "2", "2 or 3", Verdict.FAILED, HELD),
        ("When?", "1 December", "12 December", Verdict.FAILED, HELD),
        ("Is it open?", "no", "I do not know.", Verdict.FAILED, HELD),
        ("Is it open?", "no", "No, it is being painted.", Verdict.PASSED, HELD),
        ("Who wrote it?", "Ines Calder", "Not Ines Calder.", Verdict.FAILED, HELD),
    ],
)
def test_it_compares_words_and_numbers(
    task: str, reference: str, answer: str, verdict: Verdict, stage: StageName
) -> None:
    judged = two_stages(
        Question(task=task, reference=Reference(items=((reference,),)), answer=answer)
    )
    assert (judged.verdict, judged.stages[-1].name) == (verdict, stage)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Tidewater and The Salt Road.", Verdict.PASSED),
        ("Tidewater", Verdict.FAILED),
        (CATALOGUE, Verdict.FAILED),
    ],
)
def test_every_item_of_a_list_must_be_there_and_not_everything_else(
    answer: str, verdict: Verdict
) -> None:
    reference = Reference(items=(("The Salt Road",), ("Tidewater",)))
    judged = two_stages(Question(task="Which books?", reference=reference, answer=answer))
    assert judged.verdict is verdict


@pytest.mark.parametrize(
    ("answer", "verdict", "stage"),
    [
        (NO_BOOK, Verdict.PASSED, SAME),
        ("N/A", Verdict.PASSED, HELD),
        ("Winter Birds of the Coast", Verdict.FAILED, HELD),
    ],
)
def test_reasons_are_compared_too(answer: str, verdict: Verdict, stage: StageName) -> None:
    judged = two_stages(
        Question(task="Which books?", reference=Reference(reason=NO_BOOK), answer=answer)
    )
    assert (judged.verdict, judged.stages[-1].name) == (verdict, stage)


@pytest.mark.parametrize("mode", ["strict", "final_line"])
@pytest.mark.parametrize(
    ("kind", "reference", "answer", "verdict"),
    [
        (JudgeKind.FUZZY, "Ines Calder", "ines calder", Verdict.PASSED),
        (JudgeKind.FUZZY, "Ines Calder", "fiction", Verdict.FAILED),
        (JudgeKind.UNACHIEVABLE, NO_BOOK, NO_BOOK.lower(), Verdict.PASSED),
        (JudgeKind.UNACHIEVABLE, NO_BOOK, "i had no access", Verdict.FAILED),
    ],
)
def test_the_judge_of_one_stage_can_read_it(
    mode: str, kind: JudgeKind, reference: str, answer: str, verdict: Verdict
) -> None:
    assert one_stage(kind, reference, answer, mode).verdict is verdict


def test_it_says_what_it_is_and_costs_nothing() -> None:
    question = Question(
        task="How many?", reference=Reference(items=(("2",),)), answer="2. More are on loan."
    )
    judged = two_stages(question)
    assert is_stub(MODEL)
    assert [stage.model for stage in judged.stages] == [MODEL, MODEL]
    assert all(stage.rationale.startswith(OWN_WORDS) for stage in judged.stages)
    assert all(stage.asks == 1 for stage in judged.stages), "no reply needed to be repaired"
    assert judged.cost == 0
    assert two_stages(question) == judged


@pytest.mark.parametrize(
    "request_of_others",
    [
        Request(model=MODEL, messages=(Message.user("What is the capital of France?"),)),
        Request(model=MODEL, messages=(Message.user("Was it done?"),), schema={}),
    ],
)
def test_it_rejects_what_it_has_no_rule_for(request_of_others: Request) -> None:
    with pytest.raises(ModelFailure) as failure:
        StubJudge().complete(request_of_others)
    assert failure.value.kind is FailureKind.REJECTED
