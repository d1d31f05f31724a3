"""A run that is pushed while it happens, beside the agent, and its steps as the API takes them."""

import atexit
import base64
import io
import logging
import queue
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

from .api import Client, Json, UnreachableError
from .spool import SPOOL, Sender, Spooled

logger = logging.getLogger("crosscheck")

MOST_WAITING = 64
"""Steps in memory at a time, until they are on the disk."""
MOST_BYTES = 2 * 1024**3
"""So much of a run may lie in a spool; then what arrived is forgotten, and then no more kept."""


class Push:
    """A run that is pushed in the background. Nothing here raises, and next to nothing waits."""

    def __init__(
        self, client: Client, head: Json, *, spool: str | Path = SPOOL, most_bytes: int = MOST_BYTES
    ) -> None:
        self._client = client
        self._most_bytes = most_bytes
        self._waiting: queue.Queue[tuple[int, Json] | None] = queue.Queue(MOST_WAITING)
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._sender: Sender | None = None
        self._full = False
        self._bytes = 0
        self.steps = 0
        self.problem = ""
        """Why the run is not pushed any more; empty while all is well."""
        self._run = Spooled.begun(Path(spool), head)
        self._lock = self._run.hold()
        self._writer = threading.Thread(target=self._write, name="crosscheck-write", daemon=True)
        self._pusher = threading.Thread(target=self._push, name="crosscheck-push", daemon=True)
        self._writer.start()
        self._pusher.start()
        atexit.register(self._flush)

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None until it is known there."""
        return self._sender.run_id if self._sender else None

    @property
    def is_to_cancel(self) -> bool:
        """Whether somebody there asked the run to stop."""
        return bool(self._sender and self._sender.is_to_cancel)

    def step(self, step: Json) -> None:
        """Add a step. Pictures may be arrays of pixels; they become PNGs on the way."""
        if self._full or self.problem:
            return
        self._waiting.put((self.steps, step))
        self.steps += 1

    def end(self, ending: Json, *, wait_s: float = 30.0) -> bool:
        """End the run; whether all of it arrived within so long. The rest stays in the spool."""
        self._flush()
        atexit.unregister(self._flush)
        try:
            self._run.write("end.json", ending)
        except OSError as error:
            self.problem = self.problem or f"its end cannot be kept: {error}"
        self._closing.set()
        self._wake.set()
        self._pusher.join(wait_s)
        arrived = bool(self._sender and self._sender.is_whole)
        if arrived:
            self._run.remove()
        else:
            logger.warning(
                "Not all of the run was sent; it lies in %s. %s", self._run.folder, self.problem
            )
        if self._lock is not None:
            self._lock.close()
        return arrived

    def _flush(self) -> None:
        """Have everything on the disk, also where a program ends without ending its run."""
        if self._writer.is_alive():
            self._waiting.put(None)
            self._writer.join()

    def _write(self) -> None:
        """From memory to the disk."""
        while (item := self._waiting.get()) is not None:
            index, step = item
            try:
                content = _ready(step)
                self._make_room()
                if not self._full:
                    self._run.keep_step(index, content)
                    self._bytes += sum(
                        len(str(v)) for v in (content.get("observation") or {}).values()
                    )
            except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
                self._full, self.problem = True, f"{type(error).__name__}: {error}"
                logger.warning("Step %s cannot be kept: %s", index, error)
            self._wake.set()

    def _make_room(self) -> None:
        if self._bytes < self._most_bytes:
            return
        if self._sender is not None:
            self._run.forget_before(self._sender.next_step)
        self._bytes = self._run.size()
        if self._bytes >= self._most_bytes:
            self._full, self.problem = True, "the spool is full"
            logger.warning("The spool %s is full: no more steps are kept.", self._run.folder)

    def _push(self) -> None:
        """From the disk to the server, again and again until all of it is there."""
        while True:
            closing = self._closing.is_set()
            try:
                self._sender = self._sender or Sender(self._client, self._run)
                if self._sender.send_all():
                    return
                self._sender.beat()
            except UnreachableError as error:
                logger.warning("The run is kept in %s: %s", self._run.folder, error)
                if closing:
                    return
            except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
                self.problem = f"{type(error).__name__}: {error}"
                logger.warning("The run is not pushed any more: %s", error)
                return
            self._wake.wait(timeout=5.0)
            self._wake.clear()


def _ready(step: Json) -> Json:
    """The step as JSON: pictures as PNG in base64, trees as text, nothing that is unknown."""
    ready = {key: value for key, value in step.items() if value is not None}
    for side in ("observation", "after"):
        if seen := ready.get(side):
            ready[side] = _ready_observation(seen)
    return ready


def _ready_observation(seen: Json) -> Json:
    ready = dict(seen)
    for name in ("screenshot", "marked_screenshot"):
        picture = ready.get(name)
        if picture is not None and not isinstance(picture, str):
            ready[name] = base64.b64encode(png(picture)).decode("ascii")
    if not isinstance(ready.get("axtree"), str | None):
        ready["axtree"] = _flat_tree(ready["axtree"])
    return {key: value for key, value in ready.items() if value not in (None, "", {})}


def png(picture: Any) -> bytes:
    """A PNG of an array of pixels (height, width, 3 or 4 bytes), of a Pillow image, or as it is."""
    if isinstance(picture, bytes | bytearray):
        return bytes(picture)
    if hasattr(picture, "save"):
        file = io.BytesIO()
        picture.save(file, "PNG")
        return file.getvalue()
    height, width, channels = picture.shape
    colour = {3: 2, 4: 6}[channels]
    pixels = picture.astype("uint8").tobytes()
    row = width * channels
    lines = b"".join(b"\0" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 4)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )


def _flat_tree(tree: Any) -> str | None:
    """BrowserGym's accessibility tree as the text that its agents read."""
    try:
        from browsergym.utils.obs import flatten_axtree_to_str  # only where it is
    except ImportError:
        return None
    return str(flatten_axtree_to_str(tree))
