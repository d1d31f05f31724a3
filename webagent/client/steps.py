"""A step as the API takes it: pictures as PNG, trees as text, numbers as JSON has them."""

import base64
import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from .api import Json


def ready(step: Json) -> Json:
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


def plain(value: Any) -> Any:
    """The value as JSON has it: numbers of numpy as numbers, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value - value != 0:
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


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
