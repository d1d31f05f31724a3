"""A web server that is told to stop lets nobody in, and answers all who are in.

The kernel takes connections before the server does. Those that wait in its queue when the last
process closes the socket are reset, and a proxy may not send a form again that was on one.
So connections are no longer begun, while processes still take those that have been; then it stops.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Callable, Iterable
from typing import Protocol

TAKEN_WITHIN_S = 0.5
ATTACH_FILTER = getattr(socket, "SO_ATTACH_FILTER", 26)
# Linux's filter of packets, on a TCP header: code, jump if true, jump if false, operand.
DROP_FIRST_PACKETS = (
    (0x30, 0, 0, 13),  # the byte of flags
    (0x45, 0, 1, 0x02),  # SYN?
    (0x06, 0, 0, 0),  # then nothing of it is kept
    (0x06, 0, 0, 0xFFFFFFFF),  # else all
)


class Listener(Protocol):
    """gunicorn's own, which ships no types."""

    sock: socket.socket


class Server(Protocol):
    """The process of gunicorn that starts and stops the others."""

    LISTENERS: Iterable[Listener]
    stop: Callable[..., None]


def drain_before_stop(server: Server) -> None:
    """From now on the server takes who is waiting before it stops."""
    stop = server.stop

    def stop_when_drained(graceful: bool = True) -> None:
        if graceful:
            drained = [stop_accepting(listener.sock) for listener in server.LISTENERS]
            if any(drained):
                time.sleep(TAKEN_WITHIN_S)
        stop(graceful)

    server.stop = stop_when_drained


def stop_accepting(listener: socket.socket) -> bool:
    """Whether no connection is begun any more; those that were are still to be accepted.

    Who knocks gets no answer, and knocks again a second later: at whoever listens by then.
    """
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in DROP_FIRST_PACKETS)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(DROP_FIRST_PACKETS), ctypes.addressof(held))
    try:
        listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
    except OSError:  # not on this system
        return False
    return True
