"""A picture counts only where all of its pixels can be decoded."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.images import MEDIA_TYPES, ImageError, ImageFacts, decode_image

OTHER_KINDS = ("BMP", "TIFF", "PPM", "ICO")


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((64, 48), 60).convert("RGB").save(out, kind)
    return out.getvalue()


PICTURES = {kind: picture(kind) for kind in MEDIA_TYPES}


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(pixels: bytes) -> bytes:
    """A PNG of 64 by 48 whose frame and check sums are right, whatever its pixel data are."""
    header = chunk(b"IHDR", struct.pack(">II5B", 64, 48, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", PICTURES)
def test_a_whole_picture_is_known_by_its_bytes(kind: str) -> None:
    seen = decode_image(PICTURES[kind], Bounds())
    assert seen == ImageFacts(MEDIA_TYPES[kind], 64, 48)


@pytest.mark.parametrize("kind", PICTURES)
@given(share=st.floats(0, 0.9))
def test_one_that_is_cut_short_is_none(kind: str, share: float) -> None:
    with pytest.raises(ImageError):
        decode_image(PICTURES[kind][: int(len(PICTURES[kind]) * share)], Bounds())


@given(data=st.data())
def test_a_changed_byte_of_a_png_is_noticed(data: st.DataObject) -> None:
    content = bytearray(PICTURES["PNG"])
    start = content.index(b"IDAT")
    place = data.draw(st.integers(start, content.index(b"IEND") - 5))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ImageError):
        decode_image(bytes(content), Bounds())


ROWS = bytes(48 * (1 + 64 * 3))


@pytest.mark.parametrize(
    "pixels", [b"", b"not compressed at all", zlib.compress(ROWS)[:-9], zlib.compress(ROWS[:900])]
)
def test_pixel_data_that_make_no_sense_are_noticed(pixels: bytes) -> None:
    assert decode_image(png_of(zlib.compress(ROWS)), Bounds()).width == 64
    with pytest.raises(ImageError, match="cannot be decoded"):
        decode_image(png_of(pixels), Bounds())


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_pictures_of_other_types_are_none(kind: str) -> None:
    with pytest.raises(ImageError, match="not a PNG, JPEG, WebP or GIF"):
        decode_image(picture(kind), Bounds())


@pytest.mark.parametrize("kind", PICTURES)
@given(content=st.binary(max_size=200))
def test_whatever_the_bytes_it_answers(kind: str, content: bytes) -> None:
    for given_bytes in (content, PICTURES[kind][:200] + content):
        with pytest.raises(ImageError):
            decode_image(given_bytes, Bounds())


def test_too_many_pixels_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(ImageError, match="more than 1000 pixels"):
        decode_image(png_of(b""), Bounds(image_pixels=1000))
