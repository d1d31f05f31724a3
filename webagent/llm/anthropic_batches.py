"""Anthropic's message batches: requests go up in one body, results come down line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from webagent.llm import anthropic_messages
from webagent.llm.anthropic_provider import anthropic_failures, anthropic_sdk
from webagent.llm.batch_parts import (
    MAX_RESULT_BYTES,
    BatchProgress,
    BatchState,
    ErrorShape,
    Outcome,
    cancelled,
    out_of_time,
    outcome_of,
    requests_by_key,
)
from webagent.llm.failures import failure_of_words
from webagent.llm.interface import Request
from webagent.llm.registry import ModelEntry
from webagent.llm.wire import Shape, read_shape, tables_of


class _Counts(Shape):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def done(self) -> int:
        return self.succeeded + self.errored + self.canceled + self.expired


class _AnthropicBatch(Shape):
    id: str
    processing_status: str
    request_counts: _Counts = _Counts()


class _Problem(Shape):
    error: ErrorShape = ErrorShape()


class _Result(Shape):
    type: str
    message: dict[str, object] = {}
    error: _Problem = _Problem()


class _Line(Shape):
    custom_id: str
    result: _Result


class AnthropicBatches:
    """The desk of one model of Anthropic."""

    def __init__(self, entry: ModelEntry, key: str | None, clock: Callable[[], float]) -> None:
        self._entry = entry
        self._key = key
        self._sdk = anthropic_sdk(entry, key, clock, MAX_RESULT_BYTES)

    def close(self) -> None:
        self._sdk.close()

    def submit(self, requests: Sequence[Request]) -> str:
        bodies = [
            {"custom_id": key, "params": anthropic_messages.body(one, self._entry)}
            for key, one in requests_by_key(requests, self._entry).items()
        ]
        with anthropic_failures(self._entry.name, self._key):
            created = self._sdk.messages.batches.with_raw_response.create(
                requests=[], extra_body={"requests": bodies}
            )
            return read_shape(_AnthropicBatch, created.read(), self._entry.name).id

    def poll(self, batch_id: str) -> BatchProgress:
        with anthropic_failures(self._entry.name, self._key):
            found = self._sdk.messages.batches.with_raw_response.retrieve(batch_id)
            batch = read_shape(_AnthropicBatch, found.read(), self._entry.name)
        counts = batch.request_counts
        has_ended = batch.processing_status == "ended"
        return BatchProgress(
            state=BatchState.ENDED if has_ended else BatchState.RUNNING,
            total=counts.done + counts.processing,
            done=counts.done,
        )

    def collect(self, batch_id: str) -> Iterator[tuple[str, Outcome]]:
        name = self._entry.name
        with anthropic_failures(name, self._key):
            for table in tables_of(self._sdk.messages.batches.results(batch_id), name):
                line = read_shape(_Line, table, name)
                yield line.custom_id, self._read(line.result)

    def _read(self, result: _Result) -> Outcome:
        name = self._entry.name
        if result.type == "succeeded":
            return outcome_of(
                self._entry, lambda: anthropic_messages.read(result.message, name), ""
            )
        if result.type == "errored":
            error = result.error.error
            return failure_of_words(name, error.message, error.type or "", self._key)
        return out_of_time(name) if result.type == "expired" else cancelled(name)
