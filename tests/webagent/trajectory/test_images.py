"""Pictures that are cut short or changed are known without decoding them."""

from __future__ import annotations

import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.images import MEDIA_TYPES, look_at_image, why_cut


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
