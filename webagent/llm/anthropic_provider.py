"""One model of Anthropic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anthropic
import httpx2

from webagent.llm import anthropic_messages
from webagent.llm.failures import (
    failure_of_status,
    failure_of_transport,
    keep_requests_out_of_logs,
    unreadable,
)
from webagent.llm.interface import Reply, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.transport import http_client
from webagent.llm.wire import Said, events_of, reply_of


class AnthropicProvider:
    """Asks once: no repetition, no cache, no cost. Threads may share it."""

    def __init__(
        self, entry: ModelEntry, key: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._entry = entry
        self._key = key
        self._clock = clock
        self._sdk = anthropic_sdk(entry, key, clock)

    def close(self) -> None:
        self._sdk.close()

    def complete(self, request: Request) -> Reply:
        """The reply to the request.

        Raises:
            ModelFailure: there is none.
        """
        begun = self._clock()
        with anthropic_failures(self._entry.name, self._key):
            said, headers = self._ask(request)
        return reply_of(
            said,
            self._entry.name,
            request_id=headers.get("request-id", ""),
            seconds=self._clock() - begun,
        )

    def _ask(self, request: Request) -> tuple[Said, httpx2.Headers]:
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


def anthropic_sdk(
    entry: ModelEntry,
    key: str | None,
    clock: Callable[[], float],
    max_bytes: int | None = None,
) -> anthropic.Anthropic:
    """The SDK as it is used here: quiet, without repetition, and only to the entry's address."""
    keep_requests_out_of_logs()
    return anthropic.Anthropic(
        api_key=key or "none",
        base_url=str(entry.base_url),
        max_retries=0,
        timeout=entry.timeout_s,
        default_headers=({"anthropic-version": entry.api_version} if entry.api_version else None),
        open_telemetry=False,
        http_client=http_client(entry, key, clock, max_bytes),
    )


@contextmanager
def anthropic_failures(name: str, key: str | None) -> Iterator[None]:
    """Whatever the SDK raises, as a failure. Without its cause, which holds the request."""
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
