"""What becomes of those who wait while a web server is told to stop."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from webagent.web_server import drain_before_stop, stop_accepting


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        yield listening


def test_who_is_in_is_served_and_nobody_else_comes_in(listener: socket.socket):
    address = listener.getsockname()
    with socket.create_connection(address, timeout=20) as early:
        assert stop_accepting(listener)
        with pytest.raises(TimeoutError):
            socket.create_connection(address, timeout=0.2)
        taken, _ = listener.accept()
        with taken:
            early.sendall(b"a form")
            assert taken.recv(100) == b"a form"
            taken.sendall(b"thanks")
        assert early.recv(100) == b"thanks"


@pytest.mark.parametrize(("graceful", "is_in"), [(True, False), (False, True)])
def test_only_who_stops_in_order_waits_for_them(
    listener: socket.socket, graceful: bool, is_in: bool, monkeypatch: pytest.MonkeyPatch
):
    told: list[object] = []
    monkeypatch.setattr("webagent.web_server.time.sleep", told.append)
    server = SimpleNamespace(LISTENERS=[SimpleNamespace(sock=listener)], stop=told.append)
    drain_before_stop(server)
    server.stop(graceful)
    assert told == [0.5, True] if graceful else told == [False]
    if is_in:
        socket.create_connection(listener.getsockname(), timeout=20).close()
