"""One model of OpenAI or of a server that speaks like it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import httpx2
import openai

from webagent.llm import openai_chat, openai_responses
from webagent.llm.failures import (
    failure_of_status,
    failure_of_transport,
    failure_of_words,
    keep_requests_out_of_logs,
    unreadable,
)
from webagent.llm.interface import Reply, Request
from webagent.llm.registry import Api, ModelEntry
from webagent.llm.transport import http_client
from webagent.llm.wire import JsonObject, Said, events_of, reply_of


class OpenAIProvider:
    """Asks once: no repetition, no cache, no cost. Threads may share it."""

    def __init__(
        self, entry: ModelEntry, key: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._entry = entry
        self._key = key
        self._clock = clock
        self._sdk = openai_sdk(entry, key, clock)

    def close(self) -> None:
        self._sdk.close()

    def complete(self, request: Request) -> Reply:
        """The reply to the request.

        Raises:
            ModelFailure: there is none.
        """
        begun = self._clock()
        with openai_failures(self._entry.name, self._key):
            ask = self._ask_responses if self._entry.api is Api.RESPONSES else self._ask_chat
            said, headers = ask(request)
        return reply_of(
            said,
            self._entry.name,
            request_id=headers.get("x-request-id", ""),
            seconds=self._clock() - begun,
        )

    def _ask_responses(self, request: Request) -> tuple[Said, httpx2.Headers]:
        body = openai_responses.body(request, self._entry)
        create = self._sdk.responses.with_raw_response.create
        if self._entry.streaming:
            streamed = create(model=self._entry.model, stream=True, extra_body=body)
            with streamed.parse() as stream:
                events = self._events(stream, streamed.headers)
                said = openai_responses.read_stream(events, self._entry.name, self._key)
            return said, streamed.headers
        whole = create(model=self._entry.model, extra_body=body)
        return openai_responses.read(whole.content, self._entry.name, self._key), whole.headers

    def _ask_chat(self, request: Request) -> tuple[Said, httpx2.Headers]:
        body = openai_chat.body(request, self._entry)
        create = self._sdk.chat.completions.with_raw_response.create
        model = self._entry.model
        if self._entry.streaming:
            streamed = create(model=model, messages=[], stream=True, extra_body=body)
            with streamed.parse() as stream:
                chunks = self._events(stream, streamed.headers)
                return openai_chat.read_stream(chunks, self._entry.name), streamed.headers
        whole = create(model=model, messages=[], extra_body=body)
        return openai_chat.read(whole.content, self._entry.name), whole.headers

    def _events(self, stream: Iterable[object], headers: httpx2.Headers) -> Iterator[JsonObject]:
        return events_of(stream, headers.get("content-type", ""), self._entry.name)


def _own_words(error: openai.APIStatusError) -> str:
    """What the server says, without the SDK's words around it."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    return said if isinstance(said, str) else error.message


def openai_sdk(
    entry: ModelEntry,
    key: str | None,
    clock: Callable[[], float],
    max_bytes: int | None = None,
) -> openai.OpenAI:
    """The SDK as it is used here: quiet, without repetition, and only to the entry's address."""
    keep_requests_out_of_logs()
    return openai.OpenAI(
        api_key=key or "none",
        base_url=str(entry.base_url),
        max_retries=0,
        timeout=entry.timeout_s,
        http_client=http_client(entry, key, clock, max_bytes),
    )


@contextmanager
def openai_failures(name: str, key: str | None) -> Iterator[None]:
    """Whatever the SDK raises, as a failure. Without its cause, which holds the request."""
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
