"""Judges asked by the provider's batch API: round by round, fetched later, at its price."""

import json
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from judging.evaluating import replies
from judging.models import Evaluation, EvaluationBatch, JudgeReply
from tests.judging.evaluating.asked_models import always, models_file
from tests.judging.evaluating.test_batches import JUDGE, asked_study
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import Answer, LLMStub, fail

pytestmark = pytest.mark.django_db(transaction=True)

PRICES = "[models.stub-judge.prices]\ninput = 2\noutput = 8\nbatch_factor = 0.5"


@pytest.fixture
def judge(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    """A model that says no twice, so that both stages are asked."""
    file = models_file(tmp_path, llm_stub.openai_url, prices=PRICES)
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr(settings.ENV, "JUDGE_MODEL", "stub-judge")
    monkeypatch.setattr(replies, "POLL_S", 0.0)
    llm_stub.reply = always(False)
    return llm_stub


@pytest.fixture
def study() -> str:
    return str(asked_study(3).study.pk)


def evaluate(study: str, *arguments: str) -> str:
    out = StringIO()
    call_command(
        "evaluate", "--study", study, "--evaluator", JUDGE, "--as-batch", *arguments, stdout=out
    )
    return out.getvalue()


def alone(stub: LLMStub) -> list[Asked]:
    """What was asked otherwise than in a batch, whose requests have no headers of their own."""
    return [asked for asked in stub.asked if asked.headers]


@pytest.mark.slow
def test_every_stage_goes_up_in_a_batch_of_its_own(judge: LLMStub, study: str) -> None:
    said = evaluate(study)
    assert said.count("3 requests handed in as batch") == 2
    assert "6 replies by batch" in said
    assert "3 evaluated (3 failed)" in said
    assert (len(judge.asked), alone(judge)) == (6, [])
    kept = [Decimal(reply["cost"]) for reply in JudgeReply.objects.values_list("reply", flat=True)]
    usual = sum(
        Decimal(2 * usage["input_tokens"] + 8 * usage["output_tokens"]) / 1_000_000
        for usage in JudgeReply.objects.values_list("reply__usage", flat=True)
    )
    assert len(kept) == 6
    assert EvaluationBatch.objects.get().spent == sum(kept) == usual / 2
    assert "0 evaluated, 3 already" in evaluate(study)
    assert len(judge.asked) == 6


@pytest.mark.slow
def test_what_fails_in_a_batch_is_asked_alone(judge: LLMStub, study: str) -> None:
    usual = always(True)

    def reply(asked: Asked) -> Answer | str:
        is_second = "question 1" in json.dumps(asked.body) and not asked.headers
        return fail(429, "slow down") if is_second else usual(asked)

    judge.reply = reply
    said = evaluate(study)
    assert "2 replies by batch, 1 failed and are asked alone" in said
    assert "3 evaluated (3 passed)" in said
    assert len(alone(judge)) == 1


@pytest.mark.slow
def test_a_batch_is_fetched_later_by_its_id(
    judge: LLMStub, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.reply = always(True)
    monkeypatch.setattr(
        "judging.evaluating.management.commands.evaluate._slept", lambda signals, seconds: False
    )
    with pytest.raises(CommandError, match="--batch-id batch0"):
        evaluate(study)
    assert not Evaluation.objects.exists()
    assert not EvaluationBatch.objects.exists()
    said = evaluate(study, "--batch-id", "batch0")
    assert "handed in" not in said
    assert "3 evaluated (3 passed)" in said
    assert (len(judge.asked), alone(judge)) == (3, [])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--max-cost", "0.000001"], "cannot be stopped at a limit"),
        (["--again", "all"], "--again asks the model anew"),
        (["--evaluator", "imported-reward"], "one evaluator that asks a model"),
    ],
)
def test_what_a_batch_cannot_do_is_refused_before_it(
    judge: LLMStub, study: str, arguments: list[str], why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        evaluate(study, *arguments)
    assert judge.asked == []
    assert not EvaluationBatch.objects.exists()
