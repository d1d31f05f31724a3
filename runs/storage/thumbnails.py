"""Small versions of screenshots, for lists and timelines."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from webagent.trajectory.images import FORMATS, ImageError

THUMBNAIL_WIDTH = 320
MAX_WEBP_SIDE = 16_383
QUALITY = 80


@dataclass(frozen=True, slots=True)
class Thumbnail:
    content: bytes
    width: int
    height: int


def make_thumbnail(content: bytes) -> Thumbnail:
    """A WebP of the first frame, 320 pixels wide; a smaller picture keeps its size.

    The caller has checked the picture's size in pixels (`look_at_image`).

    Raises:
        ImageError: the picture cannot be decoded to its end.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            image.draft("RGB", (THUMBNAIL_WIDTH, THUMBNAIL_WIDTH))
            small = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA")
            small.thumbnail((THUMBNAIL_WIDTH, MAX_WEBP_SIDE), reducing_gap=2.0)
            out = io.BytesIO()
            small.save(out, "WEBP", quality=QUALITY, method=2)
    except Exception as error:  # noqa: BLE001 (Pillow raises what damaged bytes lead it to)
        raise ImageError(f"cannot be decoded: {error or type(error).__name__}") from error
    return Thumbnail(out.getvalue(), *small.size)
