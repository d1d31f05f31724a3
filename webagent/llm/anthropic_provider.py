"""One model of Anthropic, and Anthropic's batch API."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anthropic
import httpx2

from webagent.llm import anthropic_messages
from webagent.llm.failures import (
    failure_of_status,
    failure_of_transport,
    failure_of_words,
    unreadable,
)
from webagent.llm.interface import BatchProgress, BatchState, Outcome, Request
from webagent.llm.transport import SdkProvider
from webagent.llm.wire import (
    ErrorShape,
    RawReply,
    Shape,
    cancelled,
    events_of,
    out_of_time,
    outcome_of,
    read_shape,
    requests_by_key,
    tables_of,
)


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


class AnthropicProvider(SdkProvider[anthropic.Anthropic]):
    """One model of Anthropic."""

    request_id = "request-id"

    def _open(self, client: httpx2.Client) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            api_key=self._key or "none",
            base_url=str(self._entry.base_url),
            max_retries=0,
            timeout=self._entry.timeout_s,
            default_headers=(
                {"anthropic-version": self._entry.api_version} if self._entry.api_version else None
            ),
            open_telemetry=False,
            http_client=client,
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        name, key = self._entry.name, self._key
        try:
            yield
        except anthropic.APIStatusError as error:
            raise failure_of_status(
                name,
                error.status_code,
                error.response.headers,
                error.api_message or error.message,
                (error.error_code, error.type),
                key,
            ) from None
        except anthropic.APIConnectionError as error:
            raise failure_of_transport(name, error.__cause__) from None
        except httpx2.HTTPError as error:
            raise failure_of_transport(name, error) from None
        except (anthropic.AnthropicError, ValueError) as error:
            raise unreadable(name, type(error).__name__) from None

    def _ask(self, request: Request) -> tuple[RawReply, httpx2.Headers]:
        body = anthropic_messages.body(request, self._entry)
        create = self._sdk.messages.with_raw_response.create
        model, most = self._entry.model, request.max_tokens
        if self._entry.streaming:
            streamed = create(
                model=model, max_tokens=most, messages=[], stream=True, extra_body=body
            )
            with streamed.parse() as stream:
                media_type = streamed.headers.get("content-type", "")
                events = events_of(stream, media_type, self._entry.name)
                return anthropic_messages.read_stream(events, self._entry.name), streamed.headers
        whole = create(model=model, max_tokens=most, messages=[], extra_body=body)
        return anthropic_messages.read(whole.read(), self._entry.name), whole.headers

    def submit(self, requests: Sequence[Request]) -> str:
        bodies = [
            {"custom_id": key, "params": anthropic_messages.body(one, self._entry)}
            for key, one in requests_by_key(requests, self._entry).items()
        ]
        with self._failures():
            created = self._sdk.messages.batches.with_raw_response.create(
                requests=[], extra_body={"requests": bodies}
            )
            return read_shape(_AnthropicBatch, created.read(), self._entry.name).id

    def poll(self, batch_id: str) -> BatchProgress:
        with self._failures():
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
        with self._failures():
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
