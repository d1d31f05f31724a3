"""Patience, slots, budget and cache of the client, over HTTP, with a clock that does not wait."""

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from unittest.mock import Mock

import pytest

from tests.webagent.llm.stub import Fault, LLMStub, cut_off, fail, go_wrong, refuse, say
from tests.webagent.llm.stub_models import ENVIRONMENT, NAMES, stub_entry, stub_registry
from webagent.llm.budget import Budget, most_cost
from webagent.llm.client import Client, RetryLimits
from webagent.llm.interface import FailureKind, Message, ModelFailure, Reply, Request
from webagent.llm.registry import Registry

every_model = pytest.mark.parametrize("name", NAMES)
MODEL = "stub-chat"


class Time:
    """A clock that sleeping moves, and nothing else."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Kept:
    """A cache in memory that counts."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.puts = 0

    def get(self, key: str) -> Reply | None:
        return self.replies.get(key)

    def put(self, key: str, reply: Reply) -> None:
        self.puts += 1
        self.replies[key] = reply


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(llm_stub: LLMStub, time: Time) -> Iterator[Client]:
    with Client(
        stub_registry(llm_stub),
        environment=ENVIRONMENT,
        patience=RetryLimits(max_tries=4, max_seconds=100, first_delay_s=2, longest_delay_s=5),
        clock=lambda: time.now,
        sleep=time.sleep,
        chance=lambda: 0.5,
    ) as client:
        yield client


def question(text: str = "question", model: str = MODEL, max_tokens: int = 100) -> Request:
    return Request(model=model, messages=(Message.user(text),), max_tokens=max_tokens)


def failure_of(client: Client, request: Request) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        client.complete(request)
    return caught.value


# Patience


@every_model
def test_rate_limit_then_success(llm_stub: LLMStub, client: Client, time: Time, name: str) -> None:
    llm_stub.queue(fail(429, retry_after="7"), say("now"))
    reply = client.complete(question(model=name))
    assert (reply.text, reply.tries) == ("now", 2)
    assert time.slept == [7 + 0.5 * 2]


def test_retry_after_as_a_date_is_kept(llm_stub: LLMStub, client: Client, time: Time) -> None:
    llm_stub.queue(
        fail(
            429, retry_after="Wed, 18 Nov 2026 12:00:20 GMT", date="Wed, 18 Nov 2026 12:00:00 GMT"
        ),
        say("now"),
    )
    assert client.complete(question()).tries == 2
    assert time.slept == [20 + 0.5 * 2]


@every_model
@pytest.mark.parametrize(
    "answer",
    [fail(500), fail(529), go_wrong(Fault.DROPPED), go_wrong(Fault.NEVER_ANSWERS)],
    ids=["500", "529", "dropped", "silent"],
)
@pytest.mark.slow
def test_passing_failure_is_tried_again(llm_stub: LLMStub, name: str, answer: object) -> None:
    llm_stub.queue(answer)  # type: ignore[arg-type]
    registry = Registry({name: stub_entry(llm_stub, name, timeout_s=0.5)})
    with Client(registry, environment=ENVIRONMENT, sleep=lambda seconds: None) as client:
        assert client.complete(question(model=name)).tries == 2


def test_delay_doubles_up_to_its_bound(llm_stub: LLMStub, client: Client, time: Time) -> None:
    llm_stub.reply = lambda asked: fail(500)
    failure = failure_of(client, question())
    assert failure.kind is FailureKind.OVERLOADED
    assert "after 4 tries" in str(failure)
    assert len(llm_stub.asked) == 4
    assert time.slept == [0.5 * 2, 0.5 * 4, 0.5 * 5]


def test_jitter_covers_the_whole_delay() -> None:
    patience = RetryLimits(first_delay_s=2.0, longest_delay_s=60.0)
    assert patience.delay(3, None, 0.0) == 0
    assert patience.delay(3, None, 0.75) == 6
    assert patience.delay(3, 10.0, 0.25) == 12
    assert patience.delay(2000, None, 0.5) == 30


def test_total_time_is_bounded(llm_stub: LLMStub, client: Client, time: Time) -> None:
    llm_stub.reply = lambda asked: fail(429, retry_after="60")
    failure = failure_of(client, question())
    assert failure.kind is FailureKind.RATE_LIMITED
    assert failure.retry_after == 60
    assert len(llm_stub.asked) == 2
    assert time.now - 1000 <= 100


def test_wait_beyond_all_patience_is_told_at_once(
    llm_stub: LLMStub, client: Client, time: Time
) -> None:
    """And the next request does not even ask."""
    llm_stub.reply = lambda asked: fail(429, retry_after="3600")
    failure_of(client, question())
    failure = failure_of(client, question("another"))
    assert failure.kind is FailureKind.RATE_LIMITED
    assert "3600 s more" in str(failure)
    assert len(llm_stub.asked) == 1
    assert time.slept == []
    assert failure_of(client, question(model="stub-messages")).retry_after == 3600
    assert len(llm_stub.asked) == 2, "another model is not held up"


def test_others_wait_out_the_pause_too(llm_stub: LLMStub, client: Client, time: Time) -> None:
    llm_stub.queue(*[fail(429, retry_after="30")] * 4, say("now"))
    failure_of(client, question())
    paused = len(time.slept)
    assert client.complete(question("another")).text == "now"
    assert time.slept[paused] >= 30


@every_model
@pytest.mark.parametrize(
    "answer",
    [fail(400), fail(401), refuse(), cut_off("x"), go_wrong(Fault.NOT_JSON)],
    ids=["400", "401", "refusal", "length", "page"],
)
@pytest.mark.slow
def test_lasting_failure_is_told_at_once(
    llm_stub: LLMStub, client: Client, time: Time, name: str, answer: object
) -> None:
    llm_stub.queue(answer)  # type: ignore[arg-type]
    failure = failure_of(client, question(model=name))
    assert not failure.kind.is_temporary
    assert "tries" not in str(failure)
    assert len(llm_stub.asked) == 1
    assert time.slept == []


def test_unknown_model_is_told(llm_stub: LLMStub, client: Client) -> None:
    failure = failure_of(client, question(model="no-such"))
    assert failure.kind is FailureKind.NOT_CONFIGURED
    assert "stub-chat" in str(failure)
    assert llm_stub.asked == []


# Slots


@pytest.mark.parametrize("name", ["stub-responses", "stub-chat-streamed", "stub-messages"])
@pytest.mark.slow
def test_no_more_requests_than_slots(llm_stub: LLMStub, name: str) -> None:
    llm_stub.latency = 0.05
    registry = Registry({name: stub_entry(llm_stub, name, max_concurrency=3)})
    with Client(registry, environment=ENVIRONMENT) as client, ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(client.complete, [question(str(n), name) for n in range(24)]))
    assert len(replies) == 24
    assert llm_stub.most_at_once == 3


def test_clients_of_several_batches_share_the_slots(llm_stub: LLMStub) -> None:
    llm_stub.latency = 0.05
    registry = Registry({MODEL: stub_entry(llm_stub, MODEL, max_concurrency=2)})
    with Client(registry, environment=ENVIRONMENT) as client, ThreadPoolExecutor(12) as pool:
        batches = [client.with_limits(budget=None, cache=Kept()) for _ in range(3)]
        for done in [pool.submit(b.complete, question(str(n))) for b in batches for n in range(4)]:
            done.result()
    assert llm_stub.most_at_once == 2


def test_slot_is_free_while_waiting_for_the_next_try(llm_stub: LLMStub) -> None:
    """One slot: the second request passes while the first waits for its second try."""
    passed = threading.Event()
    answers = {"first": [fail(500), say("first")], "second": [say("second")]}
    llm_stub.reply = lambda asked: answers[asked.text].pop(0)
    registry = Registry({MODEL: stub_entry(llm_stub, MODEL, max_concurrency=1)})

    def sleep(seconds: float) -> None:
        assert asking.complete(question("second")).text == "second"
        passed.set()

    asking = Client(registry, environment=ENVIRONMENT, sleep=sleep)
    with asking:
        assert asking.complete(question("first")).text == "first"
    assert passed.is_set()


def test_closed_client_opens_again(llm_stub: LLMStub, client: Client) -> None:
    client.complete(question())
    client.close()
    assert client.complete(question("again")).text


@pytest.mark.slow
def test_a_client_that_nobody_holds_closes_its_connections(llm_stub: LLMStub) -> None:
    client = Client(stub_registry(llm_stub), environment=ENVIRONMENT)
    assert client.with_limits(budget=None, cache=None).complete(question()).text
    assert client.complete(question()).text  # the one that is gone shared its connections
    [lane] = client._lanes._lanes.values()
    watched = Mock(wraps=lane.provider.close)
    lane.provider.close = watched  # type: ignore[method-assign]  # to be watched
    del client, lane
    gc.collect()
    watched.assert_called_once()


# Budget


def priced(tokens_in: int, tokens_out: int) -> Decimal:
    return Decimal(tokens_in * 2 + tokens_out * 10) / 1_000_000


def test_budget_counts_what_was_spent(llm_stub: LLMStub, client: Client) -> None:
    budget = Budget(Decimal(1))
    batch = client.with_limits(budget=budget, cache=None)
    llm_stub.queue(say("a", input_tokens=100, output_tokens=10), fail(400))
    assert batch.complete(question()).cost == priced(100, 10)
    failure_of(batch, question())
    assert budget.spent == priced(100, 10)


@pytest.mark.parametrize("answer", [refuse, cut_off])
def test_reply_that_is_no_use_costs_all_the_same(
    llm_stub: LLMStub, client: Client, answer: object
) -> None:
    budget = Budget(Decimal(1))
    llm_stub.queue(answer("x", input_tokens=100, output_tokens=10))  # type: ignore[operator]
    failure_of(client.with_limits(budget=budget, cache=None), question())
    assert budget.spent == priced(100, 10)


@pytest.mark.parametrize("fault", [Fault.DROPPED, Fault.TRUNCATED_BODY])
def test_nobody_knows_what_a_lost_reply_cost_so_all_counts(
    llm_stub: LLMStub, client: Client, fault: Fault
) -> None:
    budget = Budget(Decimal(1))
    llm_stub.queue(go_wrong(fault), fail(400))
    failure_of(client.with_limits(budget=budget, cache=None), question())
    assert budget.spent == most_cost(question(), client.registry.entry(MODEL))


def test_call_that_may_not_fit_is_not_made(llm_stub: LLMStub, client: Client) -> None:
    most = most_cost(question(), client.registry.entry(MODEL))
    assert most is not None
    failure = failure_of(
        client.with_limits(budget=Budget(most - Decimal("0.000001")), cache=None), question()
    )
    assert failure.kind is FailureKind.OUT_OF_BUDGET
    assert not failure.kind.is_temporary
    assert llm_stub.asked == []
    exact = client.with_limits(budget=Budget(most), cache=None)
    assert exact.complete(question()).text


def test_cap_holds_when_many_ask_at_once(llm_stub: LLMStub) -> None:
    """Every reply is as dear as it can be, so the cap is reached exactly, not passed."""
    llm_stub.latency = 0.01
    entry = stub_entry(llm_stub, MODEL, max_concurrency=16, prices={"input": 0, "output": 10})
    llm_stub.reply = lambda asked: say("x", input_tokens=5, output_tokens=100)
    most = most_cost(question(), entry)
    assert most == Decimal("0.001")
    budget = Budget(most * 10)
    kinds: list[FailureKind] = []

    def ask(number: int) -> None:
        try:
            asking.complete(question(f"number {number}"))
        except ModelFailure as failure:
            kinds.append(failure.kind)

    asking = Client(Registry({MODEL: entry}), environment=ENVIRONMENT, budget=budget)
    with asking, ThreadPoolExecutor(16) as pool:
        list(pool.map(ask, range(40)))
    assert len(llm_stub.asked) == 10
    assert budget.spent == budget.limit
    assert kinds == [FailureKind.OUT_OF_BUDGET] * 30


def test_what_is_set_aside_is_given_back_to_those_who_wait(llm_stub: LLMStub) -> None:
    """The cap fits one call at its dearest, and all eight at their real price."""
    llm_stub.latency = 0.01
    entry = stub_entry(llm_stub, MODEL, max_concurrency=8)
    llm_stub.reply = lambda asked: say("x", input_tokens=5, output_tokens=1)
    most = most_cost(question("n"), entry)
    assert most is not None
    budget = Budget(most + 8 * priced(5, 1))
    with (
        Client(Registry({MODEL: entry}), environment=ENVIRONMENT, budget=budget) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        assert len(list(pool.map(client.complete, [question("n")] * 8))) == 8
    assert budget.spent == 8 * priced(5, 1)


@pytest.mark.parametrize("name", ["stub-chat", "stub-messages"])
def test_cap_without_prices_is_refused_in_words(llm_stub: LLMStub, name: str) -> None:
    registry = stub_registry(llm_stub, prices=None)
    with Client(registry, environment=ENVIRONMENT, budget=Budget(Decimal(5))) as client:
        failure = failure_of(client, question(model=name))
    assert failure.kind is FailureKind.NOT_CONFIGURED
    assert "prices" in str(failure)
    assert "cap" in str(failure)
    assert llm_stub.asked == []


def test_reply_without_counted_tokens_counts_in_full(llm_stub: LLMStub, client: Client) -> None:
    budget = Budget(Decimal(1))
    llm_stub.queue(say("x", input_tokens=0, output_tokens=0))
    reply = client.with_limits(budget=budget, cache=None).complete(question())
    assert reply.cost is None
    assert budget.spent == most_cost(question(), client.registry.entry(MODEL))


# Cache


@every_model
def test_same_question_is_asked_once(llm_stub: LLMStub, client: Client, name: str) -> None:
    batch = client.with_limits(budget=None, cache=Kept())
    first = batch.complete(question(model=name))
    second = batch.complete(question(model=name))
    assert len(llm_stub.asked) == 1
    assert not first.is_cached
    assert first.cost
    assert second.is_cached
    assert second.cost == 0
    assert (second.text, second.model, second.usage) == (first.text, first.model, first.usage)


def test_cached_reply_needs_neither_budget_nor_key(llm_stub: LLMStub, client: Client) -> None:
    cache = Kept()
    client.with_limits(budget=None, cache=cache).complete(question())
    broke = client.with_limits(budget=Budget(Decimal(0)), cache=cache)
    assert broke.complete(question()).is_cached
    with Client(stub_registry(llm_stub), environment={}, cache=cache) as without_key:
        assert without_key.complete(question()).is_cached


@pytest.mark.parametrize("answer", [fail(400), refuse(), cut_off("x"), go_wrong(Fault.NOT_JSON)])
def test_failures_are_not_kept(llm_stub: LLMStub, client: Client, answer: object) -> None:
    cache = Kept()
    batch = client.with_limits(budget=None, cache=cache)
    llm_stub.queue(answer, say("right"))  # type: ignore[arg-type]
    failure_of(batch, question())
    assert cache.puts == 0
    assert batch.complete(question()).text == "right"
    assert cache.puts == 1


def test_streamed_and_whole_replies_are_the_same_reply(llm_stub: LLMStub) -> None:
    """The names of entries do not matter either."""
    names = ("stub-chat", "stub-chat-streamed")
    entries = {name: stub_entry(llm_stub, name, model="the-same") for name in names}
    with Client(Registry(entries), environment=ENVIRONMENT, cache=Kept()) as client:
        assert not client.complete(question(model=names[0])).is_cached
        assert client.complete(question(model=names[1])).is_cached
