"""The only way out: one origin, no surprises from the environment, bounded in time and size.

The SDKs read proxies, extra headers, organisations and other keys from the environment. Nothing of
it passes here: what leaves is the request's own headers and the one key of the model's entry.
"""

import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

import httpx2

from webagent.llm.failures import keep_requests_out_of_logs
from webagent.llm.interface import Reply, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.wire import RawReply, reply_of

MAX_REPLY_BYTES = 32 * 1024**2
_HEADERS_THAT_LEAVE = frozenset(
    (
        "host",
        "connection",
        "accept",
        "content-type",
        "content-length",
        "transfer-encoding",
        "user-agent",
        "anthropic-version",
    )
)


@dataclass(frozen=True, slots=True)
class _BoundedStream(httpx2.SyncByteStream):
    inner: httpx2.SyncByteStream
    request: httpx2.Request
    is_late: Callable[[], bool]
    max_bytes: int

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.inner:
            size += len(chunk)
            if self.is_late():
                raise httpx2.ReadTimeout("the reply took too long", request=self.request)
            if size > self.max_bytes:
                raise httpx2.DecodingError("the reply is too large", request=self.request)
            yield chunk

    def close(self) -> None:
        self.inner.close()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)  # no key in any message
class OneOrigin(httpx2.BaseTransport):
    """Sends to the entry's own scheme, host and port, and to nobody else."""

    inner: httpx2.BaseTransport
    origin: httpx2.URL
    key: str | None
    timeout_s: float
    max_bytes: int
    clock: Callable[[], float]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin_of(request.url) != _origin_of(self.origin):
            raise httpx2.UnsupportedProtocol(
                "a request to another address than the configured one", request=request
            )
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() in _HEADERS_THAT_LEAVE
        }
        # Compressed, a small reply could become a large one behind the bound on its size.
        headers["accept-encoding"] = "identity"
        if self.key is not None:
            headers["authorization"] = f"Bearer {self.key}"
        deadline = self.clock() + self.timeout_s
        response = self.inner.handle_request(
            httpx2.Request(
                request.method,
                request.url,
                headers=headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            response.close()
            raise httpx2.DecodingError("the reply is compressed unasked", request=request)
        stream = response.stream
        if not isinstance(stream, httpx2.SyncByteStream):
            raise TypeError("a synchronous transport gave an asynchronous stream")
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(stream, request, lambda: self.clock() > deadline, self.max_bytes),
            extensions=response.extensions,
        )

    def close(self) -> None:
        self.inner.close()


def http_client(
    entry: ModelEntry, key: str | None, clock: Callable[[], float], max_bytes: int | None = None
) -> httpx2.Client:
    """The HTTP client that an SDK is given for one model."""
    inner = httpx2.HTTPTransport(
        verify=_authorities(entry.ca_file),
        trust_env=False,
        proxy=str(entry.proxy) if entry.proxy else None,
        limits=httpx2.Limits(
            max_connections=entry.max_concurrency, max_keepalive_connections=entry.max_concurrency
        ),
    )
    transport = OneOrigin(
        inner=inner,
        origin=httpx2.URL(str(entry.base_url)),
        key=key,
        timeout_s=entry.timeout_s,
        max_bytes=MAX_REPLY_BYTES if max_bytes is None else max_bytes,
        clock=clock,
    )
    return httpx2.Client(
        transport=transport,
        timeout=httpx2.Timeout(entry.timeout_s, connect=min(entry.timeout_s, 10.0)),
        trust_env=False,
        follow_redirects=False,
    )


@cache
def _authorities(ca_file: Path | None) -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a request to a server nearby."""
    if ca_file is None:
        return httpx2.create_ssl_context(trust_env=False)
    return ssl.create_default_context(cafile=ca_file)


def _origin_of(url: httpx2.URL) -> tuple[str, str, int | None]:
    default = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or default


class Closeable(Protocol):
    def close(self) -> None: ...


Sdk = TypeVar("Sdk", bound=Closeable)


class SdkProvider(ABC, Generic[Sdk]):
    """One model behind an SDK, asked once (no repetition, no cache, no cost) or by batches.

    Threads may share it.
    """

    request_id: ClassVar[str]
    """The header that names a reply."""

    def __init__(
        self, entry: ModelEntry, key: str | None, clock: Callable[[], float], max_bytes: int | None
    ) -> None:
        self._entry = entry
        self._key = key
        self._clock = clock
        keep_requests_out_of_logs()
        self._sdk = self._open(http_client(entry, key, clock, max_bytes))

    @abstractmethod
    def _open(self, client: httpx2.Client) -> Sdk:
        """The SDK for the model, behind this client."""

    @abstractmethod
    def _failures(self) -> AbstractContextManager[None]:
        """Whatever the SDK raises, as a failure. Without its cause, which holds the request."""

    @abstractmethod
    def _ask(self, request: Request) -> tuple[RawReply, httpx2.Headers]:
        """What the model says, and the headers that came with it."""

    def close(self) -> None:
        self._sdk.close()

    def complete(self, request: Request) -> Reply:
        begun = self._clock()
        with self._failures():
            said, headers = self._ask(request)
        return reply_of(
            said,
            self._entry.name,
            request_id=headers.get(self.request_id, ""),
            seconds=self._clock() - begun,
        )
