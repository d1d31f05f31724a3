"""What a picture really is, from its bytes and never from its name."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
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
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_FRAME = 12
"""Bytes of a chunk beside its data: length, kind, check sum."""
_PNG_HEADER = b"\0\0\0\rIHDR"
_PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""Bits a sample, by kind of colour, as the standard has them."""
_PNG_REMARKS = {b"sRGB", b"gAMA", b"pHYs", b"cHRM", b"sBIT", b"bKGD", b"tIME"}
_MANY_PIXELS = 10**8
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
    facts = _plain_png(content) or _looked_at(content, bounds)
    if facts.width * facts.height > bounds.image_pixels:
        raise ImageError(f"{facts.width} x {facts.height}: more than {bounds.image_pixels} pixels")
    if not facts.width or not facts.height:
        raise ImageError("no pixels")
    return facts


def _looked_at(content: bytes, bounds: Bounds) -> ImageFacts:
    try:
        with warnings.catch_warnings():
            # Pillow only warns between one and two times its own pixel limit; ours decides.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                return ImageFacts(MEDIA_TYPES[image.format or ""], *image.size)
    except UnidentifiedImageError as error:
        raise ImageError("not a PNG, JPEG, WebP or GIF") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"more than {bounds.image_pixels} pixels") from error
    except Exception as error:  # noqa: BLE001 (Pillow raises what damaged bytes lead it to)
        raise ImageError(f"damaged: {type(error).__name__}") from error


def _plain_png(content: bytes) -> ImageFacts | None:
    """What the header says of a PNG that is as browsers write them; None asks for a closer look."""
    if content[:16] != PNG_SIGNATURE + _PNG_HEADER or not _is_sound(content, 8, 13):
        return None
    width, height, depth, colour, *methods = struct.unpack_from(">II5B", content, 16)
    if depth not in _PNG_DEPTHS.get(colour, ()) or methods not in ([0, 0, 0], [0, 0, 1]):
        return None
    if not 0 < width * height < _MANY_PIXELS:
        return None
    at = 33
    while content[at + 4 : at + 8] in _PNG_REMARKS:
        length = int.from_bytes(content[at : at + 4], "big")
        if length > 64 or not _is_sound(content, at, length):
            return None
        at += PNG_FRAME + length
    if content[at + 4 : at + 8] != b"IDAT":
        return None
    return ImageFacts("image/png", width, height)


def _is_sound(content: bytes, at: int, length: int) -> bool:
    """Whether the chunk is there to its end, with the check sum that it names."""
    end = at + 8 + length
    told = content[end : end + 4]
    return len(told) == 4 and zlib.crc32(content[at + 4 : end]) == int.from_bytes(told, "big")


def why_cut(content: bytes, facts: ImageFacts) -> str:
    """Why the picture is not whole, by its frame and check sums alone; empty if it seems so.

    Finds what was cut short and bytes of a PNG that changed, in a hundredth of the time that
    decoding takes; pixels that make no sense are only found by that.
    """
    if facts.media_type == "image/png":
        return _why_png_is_cut(content)
    if facts.media_type == "image/jpeg" and b"\xff\xd9" not in content[-4096:]:
        return "cannot be decoded: its end is missing"
    if facts.media_type == "image/webp":
        told = int.from_bytes(content[4:8], "little") + 8
        return "cannot be decoded: its end is missing" if told > len(content) else ""
    if facts.media_type == "image/gif" and not content.rstrip(b"\0").endswith(b";"):
        return "cannot be decoded: its end is missing"
    return ""


def _why_png_is_cut(content: bytes) -> str:
    """Every chunk is there to the last one, with the check sum that it names."""
    at = len(PNG_SIGNATURE)
    while at + PNG_FRAME <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        end = at + PNG_FRAME + length
        if end > len(content):
            break
        if not _is_sound(content, at, length):
            return "cannot be decoded: a check sum is wrong"
        if content[at + 4 : at + 8] == b"IEND":
            return ""
        at = end
    return "cannot be decoded: its end is missing"
