"""One model of OpenAI or of a server that speaks like it, and OpenAI's batch API."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import httpx2
import openai

from webagent.llm.failures import (
    failure_of_status,
    failure_of_transport,
    failure_of_words,
    scrub,
    unreadable,
)
from webagent.llm.interface import BatchProgress, BatchState, ModelFailure, Outcome, Request
from webagent.llm.openai_messages import (
    chat_body,
    read_chat,
    read_chat_stream,
    read_response,
    read_response_stream,
    response_body,
)
from webagent.llm.registry import Api
from webagent.llm.transport import SdkProvider
from webagent.llm.wire import (
    ErrorShape,
    JsonObject,
    RawReply,
    Shape,
    cancelled,
    events_of,
    out_of_time,
    outcome_of,
    read_shape,
    requests_by_key,
)


def _own_words(error: openai.APIStatusError) -> str:
    """What the server says, without the SDK's words around it."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    return said if isinstance(said, str) else error.message


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


def _unanswered(name: str, error: ErrorShape, key: str | None) -> ModelFailure:
    if error.code == "batch_expired":
        return out_of_time(name)
    if error.code == "batch_cancelled":
        return cancelled(name)
    return failure_of_words(name, error.message, error.code or "", key)


class OpenAIProvider(SdkProvider[openai.OpenAI]):
    """One model of OpenAI or of a server that speaks like it."""

    request_id = "x-request-id"

    def _open(self, client: httpx2.Client) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self._key or "none",
            base_url=str(self._entry.base_url),
            max_retries=0,
            timeout=self._entry.timeout_s,
            http_client=client,
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        name, key = self._entry.name, self._key
        try:
            yield
        except openai.APIStatusError as error:
            raise failure_of_status(
                name,
                error.status_code,
                error.response.headers,
                _own_words(error),
                (error.code, error.type),
                key,
            ) from None
        except openai.APIConnectionError as error:
            raise failure_of_transport(name, error.__cause__) from None
        except openai.APIError as error:
            code = error.code or error.type or ""
            raise failure_of_words(name, error.message, code, key) from None
        except httpx2.HTTPError as error:
            raise failure_of_transport(name, error) from None
        except (openai.OpenAIError, ValueError) as error:
            raise unreadable(name, type(error).__name__) from None

    def _ask(self, request: Request) -> tuple[RawReply, httpx2.Headers]:
        ask = self._ask_responses if self._entry.api is Api.RESPONSES else self._ask_chat
        return ask(request)

    def _ask_responses(self, request: Request) -> tuple[RawReply, httpx2.Headers]:
        body = response_body(request, self._entry)
        create = self._sdk.responses.with_raw_response.create
        if self._entry.streaming:
            streamed = create(model=self._entry.model, stream=True, extra_body=body)
            with streamed.parse() as stream:
                events = self._events(stream, streamed.headers)
                said = read_response_stream(events, self._entry.name, self._key)
            return said, streamed.headers
        whole = create(model=self._entry.model, extra_body=body)
        return read_response(whole.content, self._entry.name, self._key), whole.headers

    def _ask_chat(self, request: Request) -> tuple[RawReply, httpx2.Headers]:
        body = chat_body(request, self._entry)
        create = self._sdk.chat.completions.with_raw_response.create
        model = self._entry.model
        if self._entry.streaming:
            streamed = create(model=model, messages=[], stream=True, extra_body=body)
            with streamed.parse() as stream:
                chunks = self._events(stream, streamed.headers)
                return read_chat_stream(chunks, self._entry.name), streamed.headers
        whole = create(model=model, messages=[], extra_body=body)
        return read_chat(whole.content, self._entry.name), whole.headers

    def _events(self, stream: Iterable[object], headers: httpx2.Headers) -> Iterator[JsonObject]:
        return events_of(stream, headers.get("content-type", ""), self._entry.name)

    def submit(self, requests: Sequence[Request]) -> str:
        is_chat = self._entry.api is Api.CHAT
        write = chat_body if is_chat else response_body
        url = "/v1/chat/completions" if is_chat else "/v1/responses"
        lines = [
            json.dumps(
                {"custom_id": key, "method": "POST", "url": url, "body": write(one, self._entry)}
            )
            for key, one in requests_by_key(requests, self._entry).items()
        ]
        with self._failures():
            content = "\n".join(lines).encode()
            file = self._sdk.files.create(file=("requests.jsonl", content), purpose="batch")
            created = self._sdk.batches.with_raw_response.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions" if is_chat else "/v1/responses",
                completion_window="24h",
            )
        return read_shape(_OpenAIBatch, created.content, self._entry.name).id

    def _retrieve(self, batch_id: str) -> _OpenAIBatch:
        with self._failures():
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
        with self._failures():
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

        def read() -> RawReply:
            if self._entry.api is Api.CHAT:
                return read_chat(answer.body, name)
            return read_response(answer.body, name, self._key)

        return line.custom_id, outcome_of(self._entry, read, answer.request_id or "")

    def _failed(self, answer: _Answer) -> ModelFailure:
        name, given = self._entry.name, answer.body.get("error")
        try:
            error = read_shape(ErrorShape, given if isinstance(given, dict) else {}, name)
        except ModelFailure as failure:
            return failure
        codes = (error.code, error.type)
        return failure_of_status(name, answer.status_code, {}, error.message, codes, self._key)
