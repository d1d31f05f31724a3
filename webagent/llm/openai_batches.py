"""OpenAI's batch API: a file of requests goes up, files of replies and of errors come down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from webagent.llm import openai_chat, openai_responses
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
from webagent.llm.failures import failure_of_status, failure_of_words, scrub
from webagent.llm.interface import ModelFailure, Request
from webagent.llm.openai_provider import openai_failures, openai_sdk
from webagent.llm.registry import Api, ModelEntry
from webagent.llm.wire import Said, Shape, read_shape


class _Answer(Shape):
    status_code: int
    request_id: str | None = None
    body: dict[str, object] = {}


class _Line(Shape):
    custom_id: str
    response: _Answer | None = None
    error: ErrorShape | None = None


class _OpenAICounts(Shape):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _OpenAIErrors(Shape):
    data: list[ErrorShape] | None = None


class _OpenAIBatch(Shape):
    id: str
    status: str
    request_counts: _OpenAICounts | None = None
    errors: _OpenAIErrors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


_OPENAI_STATES = {
    "failed": BatchState.FAILED,
    "completed": BatchState.ENDED,
    "expired": BatchState.ENDED,
    "cancelled": BatchState.ENDED,
}


class OpenAIBatches:
    """The desk of one model of OpenAI."""

    def __init__(self, entry: ModelEntry, key: str | None, clock: Callable[[], float]) -> None:
        self._entry = entry
        self._key = key
        self._sdk = openai_sdk(entry, key, clock, MAX_RESULT_BYTES)

    def close(self) -> None:
        self._sdk.close()

    def submit(self, requests: Sequence[Request]) -> str:
        is_chat = self._entry.api is Api.CHAT
        write = openai_chat.body if is_chat else openai_responses.body
        url = "/v1/chat/completions" if is_chat else "/v1/responses"
        lines = [
            json.dumps(
                {"custom_id": key, "method": "POST", "url": url, "body": write(one, self._entry)}
            )
            for key, one in requests_by_key(requests, self._entry).items()
        ]
        with openai_failures(self._entry.name, self._key):
            content = "\n".join(lines).encode()
            file = self._sdk.files.create(file=("requests.jsonl", content), purpose="batch")
            created = self._sdk.batches.with_raw_response.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions" if is_chat else "/v1/responses",
                completion_window="24h",
            )
        return read_shape(_OpenAIBatch, created.content, self._entry.name).id

    def _retrieve(self, batch_id: str) -> _OpenAIBatch:
        with openai_failures(self._entry.name, self._key):
            batch = self._sdk.batches.with_raw_response.retrieve(batch_id)
        return read_shape(_OpenAIBatch, batch.content, self._entry.name)

    def poll(self, batch_id: str) -> BatchProgress:
        batch = self._retrieve(batch_id)
        counts = batch.request_counts or _OpenAICounts()
        errors = (batch.errors.data if batch.errors else None) or []
        return BatchProgress(
            state=_OPENAI_STATES.get(batch.status, BatchState.RUNNING),
            total=counts.total,
            done=counts.completed + counts.failed,
            reason=scrub("; ".join(error.message for error in errors), self._key),
        )

    def collect(self, batch_id: str) -> Iterator[tuple[str, Outcome]]:
        batch = self._retrieve(batch_id)
        with openai_failures(self._entry.name, self._key):
            for file_id in (batch.output_file_id, batch.error_file_id):
                if file_id is None:
                    continue
                with self._sdk.files.with_streaming_response.content(file_id) as content:
                    for line in content.iter_lines():
                        if line.strip():
                            yield self._read(line)

    def _read(self, text: str) -> tuple[str, Outcome]:
        name = self._entry.name
        line = read_shape(_Line, text.encode(), name)
        answer = line.response
        if line.error is not None or answer is None:
            return line.custom_id, _unanswered(name, line.error or ErrorShape(), self._key)
        if answer.status_code != 200:
            return line.custom_id, self._failed(answer)

        def read() -> Said:
            if self._entry.api is Api.CHAT:
                return openai_chat.read(answer.body, name)
            return openai_responses.read(answer.body, name, self._key)

        return line.custom_id, outcome_of(self._entry, read, answer.request_id or "")

    def _failed(self, answer: _Answer) -> ModelFailure:
        name, given = self._entry.name, answer.body.get("error")
        try:
            error = read_shape(ErrorShape, given if isinstance(given, dict) else {}, name)
        except ModelFailure as failure:
            return failure
        codes = (error.code, error.type)
        return failure_of_status(name, answer.status_code, {}, error.message, codes, self._key)


def _unanswered(name: str, error: ErrorShape, key: str | None) -> ModelFailure:
    if error.code == "batch_expired":
        return out_of_time(name)
    if error.code == "batch_cancelled":
        return cancelled(name)
    return failure_of_words(name, error.message, error.code or "", key)
