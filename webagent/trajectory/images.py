"""What a picture really is, from its bytes and never from its name."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

from PIL import Image, UnidentifiedImageError

from webagent.trajectory.bounds import Bounds

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class ImageError(ValueError):
    """Not a picture that is taken in."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    media_type: str
    width: int
    height: int


def look_at_image(content: bytes, bounds: Bounds) -> ImageFacts:
    """Media type and size in pixels, read from the header; nothing is decoded.

    Raises:
        ImageError: no PNG, JPEG, WebP or GIF, or larger than the bounds.
    """
    if len(content) > bounds.image_bytes:
        raise ImageError(f"more than {bounds.image_bytes} bytes")
    if content.startswith(_LFS_POINTER):
        raise ImageError("a git-lfs pointer, not the picture itself")
    if b"<svg" in content[:1024].lower() or content[:5].lower() == b"<?xml":
        raise ImageError("SVG is not taken")
    try:
        with warnings.catch_warnings():
            # Pillow only warns between one and two times its own pixel limit; ours decides.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                facts = ImageFacts(MEDIA_TYPES[image.format or ""], *image.size)
    except UnidentifiedImageError as error:
        raise ImageError("not a PNG, JPEG, WebP or GIF") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"more than {bounds.image_pixels} pixels") from error
    except Exception as error:  # noqa: BLE001 (Pillow raises what damaged bytes lead it to)
        raise ImageError(f"damaged: {type(error).__name__}") from error
    if facts.width * facts.height > bounds.image_pixels:
        raise ImageError(f"{facts.width} x {facts.height}: more than {bounds.image_pixels} pixels")
    if not facts.width or not facts.height:
        raise ImageError("no pixels")
    return facts
