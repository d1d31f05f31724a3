"""What a picture is, from its bytes and never from its name."""

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import Image, UnidentifiedImageError

from webagent.trajectory.bounds import Bounds

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
FORMATS = tuple(MEDIA_TYPES)
ROLES = frozenset(("screenshot", "marked_screenshot", "goal_image"))
"""Roles of blobs that are pictures."""
_SMALL = (32, 32)
_CHUNK, _SUM = struct.Struct(">I4s"), struct.Struct(">I")
"""A PNG is chunks after its signature: length and kind, content, check sum of kind and content."""
_SIGNATURE_BYTES, _LAST = 8, b"IEND"
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
    with _opened(content, bounds) as image:
        return _facts(image)


def check_image(content: bytes, bounds: Bounds) -> ImageFacts:
    """Media type and size in pixels of a picture that is whole.

    A PNG is held to its check sums, which takes a hundredth of the time of decoding it: they tell
    whether it is as it was written. The other formats have none, and are decoded.

    Raises:
        ImageError: no PNG, JPEG, WebP or GIF, larger than the bounds, or not whole.
    """
    with _opened(content, bounds) as image:
        if image.format == "PNG":
            _hold_to_sums(content)
            return _facts(image)
    return decode_image(content, bounds)


def decode_image(content: bytes, bounds: Bounds) -> ImageFacts:
    """Media type and size in pixels of a picture whose pixels can all be decoded.

    Raises:
        ImageError: no PNG, JPEG, WebP or GIF, larger than the bounds, or not whole.
    """
    # The check sums of a PNG, which decoding passes over; a picture is of no use afterwards.
    with _opened(content, bounds) as image, _damage_told():
        image.verify()
    with _opened(content, bounds) as image, _damage_told():
        facts = _facts(image)
        # A JPEG is decoded in small, where all of its data are read all the same.
        image.draft("RGB", _SMALL)
        image.load()
        return facts


def _hold_to_sums(png: bytes) -> None:
    """Raises ImageError where a chunk is not what its sum says, or the last one is missing."""
    view, start, kind = memoryview(png), _SIGNATURE_BYTES, b""
    while kind != _LAST:
        if start + _CHUNK.size > len(png):
            raise ImageError("cannot be decoded: cut short")
        length, kind = _CHUNK.unpack_from(png, start)
        end = start + _CHUNK.size + length
        if end + _SUM.size > len(png):
            raise ImageError("cannot be decoded: cut short")
        if zlib.crc32(view[end - length - len(kind) : end]) != _SUM.unpack_from(png, end)[0]:
            raise ImageError("cannot be decoded: a chunk is not what its check sum says")
        start = end + _SUM.size


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Pillow raises what damaged bytes lead it to.
        raise ImageError(f"cannot be decoded: {error or type(error).__name__}") from error


def _opened(content: bytes, bounds: Bounds) -> Image.Image:
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
            image = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise ImageError("not a PNG, JPEG, WebP or GIF") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"more than {bounds.image_pixels} pixels") from error
    except Exception as error:  # Pillow raises what damaged bytes lead it to
        raise ImageError(f"damaged: {type(error).__name__}") from error
    width, height = image.size
    if width * height > bounds.image_pixels:
        raise ImageError(f"{width} x {height}: more than {bounds.image_pixels} pixels")
    if not width or not height:
        raise ImageError("no pixels")
    return image


def _facts(image: Image.Image) -> ImageFacts:
    return ImageFacts(MEDIA_TYPES[image.format or ""], *image.size)
