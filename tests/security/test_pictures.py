"""Pictures that are bombs, or something else besides."""

import io
import resource
import struct
import zipfile
import zlib

import pytest
from PIL import Image

from webagent.trajectory.blobs import ImageError, look_at_image
from webagent.trajectory.intake import Bounds

MIB = 1024


def picture(kind: str, width: int = 4, height: int = 4) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(file, kind)
    return file.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + crc


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says to be so large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*part) for part in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    )


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x.class", b"\xca\xfe\xba\xbe")
    return file.getvalue()


@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 1), (1, 2**31 - 1), (8000, 8000)])
def test_a_bomb_is_refused_by_its_header(size: tuple[int, int]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ImageError):
        look_at_image(claiming(*size), Bounds())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * MIB


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM", "ICO", "TGA", "PCX", "SGI", "PDF", "EPS"])
def test_other_formats_are_not_even_tried(kind: str) -> None:
    with pytest.raises(ImageError, match="not a PNG, JPEG, WebP or GIF"):
        look_at_image(picture(kind, 16, 16), Bounds())


@pytest.mark.parametrize(
    "content",
    [
        b"<html><script>zx()</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='zx()'/>",
        b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]><x>&y;</x>",
        b"%PDF-1.7",
        b"SIMPLE  =                    T / FITS",
        b"8BPS\0\1",
        b"\0\0\1\0",
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"\xff\xd8\xff",
        b"RIFF\0\0\0\0WEBP",
    ],
)
def test_what_is_no_picture_is_none(content: bytes) -> None:
    with pytest.raises(ImageError):
        look_at_image(content, Bounds())


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("more", [b"<script>zx()</script>", b"\nPK\3\4", archive()])
def test_two_kinds_at_once_are_the_picture_and_nothing_else(kind: str, more: bytes) -> None:
    """The bytes stay as they are; only what they are served as could run them."""
    facts = look_at_image(picture(kind) + more, Bounds())
    assert facts.media_type == f"image/{kind.lower()}"
