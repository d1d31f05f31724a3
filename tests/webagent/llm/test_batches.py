"""Batches of both providers: handed in, watched, collected, cancelled."""

from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal

import pytest

from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import Answer, LLMStub, cut_off, fail, refuse, say
from tests.webagent.llm.stub_models import ENVIRONMENT, NAMES, stub_entry
from webagent.llm.budget import cache_key, most_cost
from webagent.llm.client import batch_desk
from webagent.llm.interface import (
    BatchDesk,
    BatchProgress,
    BatchState,
    FailureKind,
    Message,
    ModelFailure,
    Reply,
    Request,
)
from webagent.llm.registry import ModelEntry
from webagent.llm.wire import most_cost_of_batch

PRICES = {"input": 2, "output": 10, "cache_write": 2.5, "batch_factor": 0.5}


@pytest.fixture(params=NAMES)
def entry(llm_stub: LLMStub, request: pytest.FixtureRequest) -> ModelEntry:
    return stub_entry(llm_stub, request.param, prices=PRICES)


@pytest.fixture
def desk(entry: ModelEntry) -> Iterator[BatchDesk]:
    with closing(batch_desk(entry, ENVIRONMENT)) as desk:
        yield desk


def question(text: str) -> Request:
    return Request(model="any", messages=(Message.user(text),), system="Judge.", max_tokens=50)


def answering(**answers: Answer | str) -> Callable[[Asked], Answer | str]:
    return lambda asked: answers[asked.text]


def test_batch_from_end_to_end(llm_stub: LLMStub, entry: ModelEntry, desk: BatchDesk) -> None:
    llm_stub.reply = answering(
        good=say("yes", input_tokens=100, output_tokens=10, model="as-served"),
        wrong=fail(400, "no such field"),
        limited=fail(429, "slow down"),
        declined=refuse("no"),
        cut=cut_off("half"),
    )
    texts = ("good", "wrong", "limited", "declined", "cut", "expire")
    requests = [question(text) for text in texts]
    batch_id = desk.submit([*requests, question("good")])
    assert desk.poll(batch_id) == BatchProgress(state=BatchState.RUNNING, total=6, done=0)
    assert desk.poll(batch_id) == BatchProgress(state=BatchState.ENDED, total=6, done=6)

    outcomes = dict(desk.collect(batch_id))
    by_text = {
        text: outcomes.pop(cache_key(request, entry))
        for text, request in zip(texts, requests, strict=True)
    }
    assert outcomes == {}
    good = by_text.pop("good")
    assert isinstance(good, Reply)
    assert good.model == "as-served"
    assert "yes" in good.text
    assert good.cost == Decimal(100 * 2 + 10 * 10) / 1_000_000 / 2
    kinds = {
        text: outcome.kind for text, outcome in by_text.items() if isinstance(outcome, ModelFailure)
    }
    assert kinds == {
        "wrong": FailureKind.REJECTED,
        "limited": FailureKind.RATE_LIMITED,
        "declined": FailureKind.REFUSED,
        "cut": FailureKind.TRUNCATED,
        "expire": FailureKind.TIMED_OUT,
    }
    asked = llm_stub.asked[0]
    assert (asked.system, asked.model, asked.is_stream) == ("Judge.", f"{entry.name}-id", False)
    assert "stream_options" not in asked.body


def test_cancelled_batch_says_so_for_each(
    llm_stub: LLMStub, entry: ModelEntry, desk: BatchDesk
) -> None:
    batch_id = desk.submit([question("one"), question("two")])
    llm_stub.batches.cancel(batch_id)
    desk.poll(batch_id)
    assert desk.poll(batch_id).state is BatchState.ENDED
    outcomes = [outcome for _, outcome in desk.collect(batch_id)]
    assert [str(outcome) for outcome in outcomes] == [f"{entry.name}: the batch was cancelled"] * 2
    assert llm_stub.asked == []


def test_unknown_batch_is_a_failure_in_words(desk: BatchDesk) -> None:
    with pytest.raises(ModelFailure) as caught:
        desk.poll("no-such-batch")
    assert caught.value.kind is FailureKind.REJECTED


def test_batch_is_priced_before_it_is_made(entry: ModelEntry) -> None:
    single = most_cost(question("one"), entry)
    assert single is not None
    requests = [question("one"), question("two"), question("one")]
    assert most_cost_of_batch(requests, entry) == single
    unpriced = entry.model_copy(update={"prices": None})
    assert most_cost_of_batch(requests, unpriced) is None


def test_missing_key_is_told(entry: ModelEntry) -> None:
    with pytest.raises(ModelFailure, match="STUB_KEY is not set"):
        batch_desk(entry, {})
