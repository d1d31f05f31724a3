"""Observations made by hand, for what needs no browser."""

import struct
import zlib
from datetime import UTC, datetime

from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box, ChatMessage

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LOGIN_TREE = """\
RootWebArea 'Login User Task', focused, url='http://miniwob.localhost/miniwob/login-user.html'
\t[14] paragraph ''
\t\t[15] LabelText ''
\t\t\tStaticText 'Username'
\t\t[16] textbox ''
\t[17] paragraph ''
\t\t[18] LabelText ''
\t\t\tStaticText "Password's"
\t\t[19] textbox '' value='it\\'s "so"', focused
\t[20] button 'Login', clickable=True, checked='false'"""


def png(width: int, height: int, grey: int = 255) -> bytes:
    """A picture of one shade."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    rows = (b"\0" + bytes([grey]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def observation(
    axtree: str = LOGIN_TREE,
    *,
    goal: str = 'Enter the username "ada" and the password "x1" and press login.',
    page: str = "login-user",
    messages: tuple[ChatMessage, ...] = (),
    last_error: str | None = None,
    goal_images: tuple[str, ...] = (),
    grey: int = 255,
) -> Observation:
    """A small page; the button 20 stands in sight, the text box 16 below the screenshot."""
    return Observation(
        at=NOON,
        goal=goal,
        goal_images=goal_images,
        url=f"http://miniwob.localhost/miniwob/{page}.html",
        title="A task",
        screenshot=png(100, 60, grey),
        width=100,
        height=60,
        axtree=axtree,
        boxes={
            "20": Box(x=10, y=20, width=30, height=10),
            "16": Box(x=0, y=400, width=50, height=20),
        },
        messages=messages,
        last_error=last_error,
    )
