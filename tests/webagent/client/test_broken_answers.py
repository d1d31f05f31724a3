"""Answers that break off, as those of a server that restarts do: the client asks again."""

import socket
import threading
from collections.abc import Iterator

import pytest

from webagent.client import ApiError, Client, UnreachableError

WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id": "r"}'
BROKEN = (
    b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id"',
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    b"not even HTTP\r\n\r\n",
)


class Server:
    """Says one thing after another, whatever it is asked."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.says: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection:
                if not connection.recv(65536):
                    return
                connection.sendall(self.says.pop(0))

    def close(self) -> None:
        socket.create_connection(self._listening.getsockname()).close()
        self._thread.join()
        self._listening.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("webagent.client.api.time.sleep", lambda _seconds: None)
    made = Server()
    yield made
    made.close()


@pytest.mark.parametrize("broken", BROKEN)
def test_the_same_is_asked_again(server: Server, broken: bytes) -> None:
    server.says = [broken, WHOLE]
    assert Client(server.url, "token").run("r") == {"id": "r"}


def test_what_breaks_off_every_time_is_no_answer(server: Server) -> None:
    server.says = [BROKEN[0]] * 2
    with pytest.raises(UnreachableError, match="2 tries"):
        Client(server.url, "token", tries=2).run("r")


def test_a_refusal_whose_reason_breaks_off_is_a_refusal(server: Server) -> None:
    server.says = [b'HTTP/1.1 422 No\r\nContent-Length: 99\r\n\r\n{"det']
    with pytest.raises(ApiError) as caught:
        Client(server.url, "token").run("r")
    assert caught.value.status == 422
