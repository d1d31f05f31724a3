"""Pictures that are cut short or changed are known without decoding them."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from webagent.trajectory import images
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.images import (
    MEDIA_TYPES,
    PNG_SIGNATURE,
    ImageError,
    look_at_image,
    why_cut,
)


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((64, 48), 60).convert("RGB").save(out, kind)
    return out.getvalue()


PICTURES = {kind: picture(kind) for kind in MEDIA_TYPES}


def why(content: bytes, kind: str) -> str:
    return why_cut(content, look_at_image(PICTURES[kind], Bounds()))


@pytest.mark.parametrize("kind", PICTURES)
def test_a_whole_picture_seems_whole(kind: str) -> None:
    assert why(PICTURES[kind], kind) == ""


@pytest.mark.parametrize("kind", PICTURES)
@given(share=st.floats(0.3, 0.97))
def test_one_that_is_cut_short_does_not(kind: str, share: float) -> None:
    cut = PICTURES[kind][: int(len(PICTURES[kind]) * share)]
    assume(
        not (kind == "GIF" and cut.rstrip(b"\0").endswith(b";"))
    )  # what ends one may stand inside
    assert "end is missing" in why(cut, kind)


@given(data=st.data())
def test_a_changed_byte_of_a_png_is_noticed(data: st.DataObject) -> None:
    content = bytearray(PICTURES["PNG"])
    place = data.draw(st.integers(8, len(content) - 13))
    content[place] ^= data.draw(st.integers(1, 255))
    assert why(bytes(content), "PNG") != ""


@pytest.mark.parametrize("kind", PICTURES)
@given(content=st.binary(max_size=200))
def test_whatever_the_bytes_it_answers(kind: str, content: bytes) -> None:
    assert isinstance(why(content, kind), str)


def answer(content: bytes) -> object:
    try:
        return look_at_image(content, Bounds(image_pixels=10**6))
    except ImageError:
        return None


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


sizes = st.integers(0, 70) | st.integers(0, 2**32 - 1)
headers = st.builds(
    lambda width, height, *rest: struct.pack(">II5B", width, height, *rest),
    sizes,
    sizes,
    st.sampled_from([1, 2, 3, 4, 8, 16, 32]),
    st.integers(0, 7),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([0, 0, 1, 2]),
)
remarks = st.lists(
    st.builds(
        chunk, st.sampled_from([b"sRGB", b"gAMA", b"pHYs", b"tEXt", b"PLTE"]), st.binary(max_size=9)
    ),
    max_size=2,
)


@given(header=headers, between=remarks, cut=st.integers(0, 120), flip=st.integers(8, 400))
def test_a_png_is_seen_alike_with_and_without_a_close_look(
    header: bytes, between: list[bytes], cut: int, flip: int
) -> None:
    pixels = PICTURES["PNG"][33:]
    content = bytearray(PNG_SIGNATURE + chunk(b"IHDR", header) + b"".join(between) + pixels)
    if flip < 60:
        content[flip] ^= 1
    given_bytes = bytes(content[:-cut] if cut < 60 else content)
    quickly = answer(given_bytes)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(images, "_plain_png", lambda _: None)
        assert quickly == answer(given_bytes)


def test_what_browsers_write_needs_no_close_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_looked_at", None)
    seen = look_at_image(PICTURES["PNG"], Bounds())
    assert (seen.media_type, seen.width, seen.height) == ("image/png", 64, 48)


def test_a_check_sum_of_nothing_is_none() -> None:
    """What is cut before its check sum must not pass for one whose check sum is 0."""
    cut = PNG_SIGNATURE + b"\0\0\0\rIHDR"
    cut += (zlib.crc32(cut[12:]) ^ 0x6DD90A9D).to_bytes(4, "little")
    assert zlib.crc32(cut[12:]) == 0
    with pytest.raises(ImageError):
        look_at_image(cut, Bounds())
