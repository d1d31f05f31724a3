"""A local server that speaks the protocols of both providers, and misbehaves as it is told.

It answers `POST /v1/responses`, `/v1/chat/completions` and `/v1/messages`, streamed or not, each
request in a thread of its own, so that what it says of concurrency is true; and the batch APIs.
What it answers is a queue of answers, then a function of the request:

    def test_something(llm_stub: LLMStub) -> None:
        llm_stub.reply = lambda asked: '{"same": true}'         # every request
        llm_stub.queue(fail(429, retry_after="1"), say("yes"))   # first these two
"""

import json
import socket
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.webagent.llm.batch_shelf import BatchShelf
from tests.webagent.llm.protocols import PROTOCOLS, Asked


class Fault(StrEnum):
    """How a reply goes wrong on its way, below what an API's own errors say."""

    NEVER_ANSWERS = "never answers"
    DROPPED = "connection closed in the middle of the reply"
    STALLED = "half of the reply, then silence"
    TRUNCATED_BODY = "a whole HTTP reply whose JSON is cut"
    NOT_JSON = "a whole HTTP reply that is a page"
    ERROR_IN_STREAM = "an error event after half of the stream"
    NO_END = "a stream without its last event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server does with one request."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    latency: float = 0.0
    """Seconds before the first byte, on top of the server's own."""
    pause: float = 0.0
    """Seconds between the events of a stream."""
    is_refusal: bool = False
    is_cut_off: bool = False
    """The reply ran into the limit of tokens."""
    model: str = ""
    input_tokens: int | None = None
    """All of them, cached ones included; None counts four bytes of the request as one."""
    output_tokens: int | None = None
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    error_type: str = ""
    error_code: str = ""
    fault: Fault | None = None
    raw: bytes | None = None
    """What is sent in place of a reply: a body, or the data of one event of a stream."""

    def counted(self, content: bytes) -> "Answer":
        """The answer with its tokens counted, where it does not say how many."""
        given = self.input_tokens
        said = self.output_tokens
        return replace(
            self,
            input_tokens=len(content) // 4 if given is None else given,
            output_tokens=len(self.text.encode()) // 4 + 1 if said is None else said,
        )


def say(text: str, **more: Any) -> Answer:
    return Answer(text=text, **more)


def refuse(text: str = "I cannot help with that.", **more: Any) -> Answer:
    return Answer(text=text, is_refusal=True, **more)


def cut_off(text: str, **more: Any) -> Answer:
    return Answer(text=text, is_cut_off=True, **more)


def fail(
    status: int,
    message: str = "as told",
    *,
    retry_after: str | None = None,
    date: str | None = None,
    **more: Any,
) -> Answer:
    """An error of the API. `retry_after`: the header's value, seconds or an HTTP date."""
    given = {"retry-after": retry_after, "date": date}
    headers = {name: value for name, value in given.items() if value is not None}
    return Answer(text=message, status=status, headers=headers, **more)


def go_wrong(fault: Fault, text: str = "This is a reply of some length.", **more: Any) -> Answer:
    return Answer(text=text, fault=fault, **more)


class LLMStub:
    """The server while it runs. `asked` holds every request in the order of arrival."""

    def __init__(self, server: "_Server", scheme: str) -> None:
        self.reply: Callable[[Asked], Answer | str] = lambda asked: "A reply."
        self.latency = 0.0
        self.asked: list[Asked] = []
        self.at_once = 0
        self.most_at_once = 0
        self.problems: list[BaseException] = []
        self.closing = threading.Event()
        self.batches = BatchShelf(self)
        self._queue: deque[Answer | str] = deque()
        self._lock = threading.Lock()
        self.url = f"{scheme}://127.0.0.1:{server.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL of a model entry of the provider `openai`."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base URL of a model entry of the provider `anthropic`."""
        return self.url

    def queue(self, *answers: Answer | str) -> None:
        """Answer the next requests with these, in order of arrival, before `reply` is asked."""
        with self._lock:
            self._queue.extend(answers)

    def take(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            answer = self._queue.popleft() if self._queue else None
        if answer is None:
            answer = self.reply(asked)
        return Answer(text=answer) if isinstance(answer, str) else answer

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._lock:
                self.at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, certificate: Path | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.stub = LLMStub(self, "https" if certificate else "http")

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.stub.problems.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self._send(*self.server.stub.batches.answer("GET", self.path, {}, b""))

    def do_POST(self) -> None:
        stub = self.server.stub
        length = int(self.headers.get("content-length", 0))
        content = self.rfile.read(length)
        if len(content) < length:  # who asks was killed in the middle of its question
            self.close_connection = True
            return
        protocol = PROTOCOLS.get(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if protocol is None:
            self._send(*stub.batches.answer("POST", self.path, headers, content))
            return
        asked = protocol.read(self.path, headers, json.loads(content))
        with stub.counted():
            answer = stub.take(asked)
            if complaint := protocol.complaint(asked):
                answer = fail(400, complaint)
            answer = answer.counted(content)
            if answer.fault is Fault.NEVER_ANSWERS:
                stub.closing.wait()
                self.close_connection = True
                return
            time.sleep(stub.latency + answer.latency)
        # No longer counted: who has the last byte may ask again before this thread goes on.
        if answer.status != 200:
            body = protocol.error(answer.status, answer.text, answer.error_type, answer.error_code)
            self._send(answer.status, _json(body), answer.headers)
        elif answer.fault is Fault.NOT_JSON:
            page = b"<html><body>Welcome to the Wi-Fi of this hotel</body></html>"
            self._send(200, page, answer.headers, "text/html")
        elif answer.raw is not None:
            self._send_raw(answer.raw, asked.is_stream)
        elif asked.is_stream:
            self._stream(protocol.events(asked, answer), answer)
        else:
            self._whole(_json(protocol.whole(asked, answer)), answer)

    def _whole(self, body: bytes, answer: Answer) -> None:
        half = body[: len(body) // 2]
        if answer.fault is Fault.TRUNCATED_BODY:
            self._send(200, half, answer.headers)
        elif answer.fault in (Fault.DROPPED, Fault.STALLED):
            self._head(200, answer.headers, "application/json", length=len(body))
            self.wfile.write(half)
            self._break(answer.fault)
        else:
            self._send(200, body, answer.headers)

    def _stream(self, events: list[tuple[str, Any]], answer: Answer) -> None:
        self._head(200, answer.headers, "text/event-stream", length=None)
        middle = len(events) // 2
        if answer.fault is Fault.NO_END:
            events = events[:middle]
        for number, (name, data) in enumerate(events):
            if number == middle and answer.fault is not None:
                if answer.fault is Fault.TRUNCATED_BODY:
                    self._event(name, _json(data)[:-5])
                    continue
                if answer.fault is Fault.ERROR_IN_STREAM:
                    self._event("error", _json(PROTOCOLS[self.path].stream_error(answer.text)))
                    break
                self._break(answer.fault)
                return
            time.sleep(answer.pause)
            self._event(name, data if isinstance(data, bytes) else _json(data))
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _send_raw(self, content: bytes, is_stream: bool) -> None:
        if not is_stream:
            self._send(200, content)
            return
        self._head(200, {}, "text/event-stream", length=None)
        for name in ("message_start", "response.completed", ""):
            self._event(name, content.replace(b"\n", b" "))
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _event(self, name: str, data: bytes) -> None:
        line = (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _break(self, fault: Fault | None) -> None:
        self.wfile.flush()
        self.close_connection = True
        if fault is Fault.STALLED:
            self.server.stub.closing.wait()
            return
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        media_type: str = "application/json",
    ) -> None:
        self._head(status, headers or {}, media_type, length=len(body))
        self.wfile.write(body)
        self.wfile.flush()

    def _head(
        self, status: int, headers: dict[str, str], media_type: str, length: int | None
    ) -> None:
        self.send_response_only(status)
        self.send_header("content-type", media_type)
        self.send_header("date", headers.get("date", self.date_time_string()))
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        number = len(self.server.stub.asked)
        self.send_header("x-request-id", f"req_stub_{number}")
        self.send_header("request-id", f"req_stub_{number}")
        for name, value in headers.items():
            if name != "date":
                self.send_header(name, value)
        self.end_headers()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def running_stub(certificate: Path | None = None) -> Iterator[LLMStub]:
    """The server on a free port of this machine, for as long as the block lasts.

    With a certificate (a PEM file with its key) it speaks HTTPS.
    """
    server = _Server(certificate)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.stub
    finally:
        server.stub.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
    if server.stub.problems:
        raise AssertionError("the stub itself failed") from server.stub.problems[0]
