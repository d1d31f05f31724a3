"""The bytes of a run's blobs: where they are kept, and what a picture is from them alone."""

import hashlib
import io
import os
import struct
import tempfile
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PIL import Image, UnidentifiedImageError

from webagent.trajectory.intake import Bounds

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


HELD_BYTES = 8_000_000
"""Of a run's files in memory: as much as most runs have. Few runs are in hand at a time."""


class BlobError(ValueError):
    """A blob's bytes are not there, or no longer those that its hash names."""


class BlobSource(Protocol):
    """Where the bytes of a run's blobs come from."""

    def read(self, sha256: str) -> bytes:
        """The verified bytes of this hash. Raises BlobError."""


class BlobStash:
    """The bytes of a run's blobs, by hash, of which few are held in memory.

    The first are, up to `HELD_BYTES`. Of the others, files of the input are read again when asked
    for; what a reader made itself (a tree's text, a picture out of a message) lies compressed in
    a temporary file until the stash goes.
    """

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._room = HELD_BYTES
        self._readers: dict[str, Callable[[], bytes]] = {}
        self._made: dict[str, tuple[int, int]] = {}
        self.pictures: dict[str, ImageFacts] = {}
        """What is known of those that were found whole."""
        self._spool: Path | None = None
        self._end = 0
        self._forget: Callable[[], object] = lambda: None

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._held or sha256 in self._readers or sha256 in self._made

    def add_reader(
        self,
        sha256: str,
        read: Callable[[], bytes],
        content: bytes | None = None,
        facts: ImageFacts | None = None,
    ) -> None:
        """Remember where bytes of this hash can be read again.

        Args:
            content: the bytes, where they were read and verified just now.
            facts: what they are, where they were found to be a picture.
        """
        if facts is not None:
            self.pictures[sha256] = facts
        self._readers.setdefault(sha256, read)
        if content is not None:
            self._hold(sha256, content)

    def add_bytes(self, content: bytes) -> str:
        """Keep bytes that exist nowhere else; their hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self and not self._hold(sha256, content):
            packed = zlib.compress(content, 1)
            with self._made_file().open("ab") as file:
                file.write(packed)
            self._made[sha256] = (self._end, len(packed))
            self._end += len(packed)
        return sha256

    def read(self, sha256: str) -> bytes:
        """The bytes of this hash, verified.

        Raises:
            BlobError: they are not here, or have changed since they were hashed.
        """
        if sha256 in self._held:
            return self._held[sha256]
        if sha256 in self._made:
            start, length = self._made[sha256]
            with self._made_file().open("rb") as file:
                file.seek(start)
                content = zlib.decompress(file.read(length))
        elif sha256 in self._readers:
            try:
                content = self._readers[sha256]()
            except (OSError, ValueError) as error:
                raise BlobError(f"blob {sha256} cannot be read: {error}") from error
        else:
            raise BlobError(f"blob {sha256} is not here")
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BlobError(f"blob {sha256} has changed since it was first read")
        return content

    def _hold(self, sha256: str, content: bytes) -> bool:
        if sha256 not in self._held and len(content) <= self._room:
            self._held[sha256] = content
            self._room -= len(content)
        return sha256 in self._held

    def _made_file(self) -> Path:
        if self._spool is None:
            descriptor, name = tempfile.mkstemp(prefix="crosscheck-")
            os.close(descriptor)
            self._spool = Path(name)
            self._forget = weakref.finalize(self, self._spool.unlink, missing_ok=True)
        return self._spool

    def close(self) -> None:
        """Forget everything now instead of when the last reference goes."""
        self._held.clear()
        self._readers.clear()
        self._made.clear()
        self._forget()
        self._spool = None
