"""A picture counts only where it is whole: by its check sums, or by decoding all of its pixels."""

import io
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.webagent.trajectory.samples import png_of
from webagent.trajectory.blobs import MEDIA_TYPES, ImageError, ImageFacts, check_image, decode_image
from webagent.trajectory.intake import Bounds

pytestmark = pytest.mark.slow

Look = Callable[[bytes, Bounds], ImageFacts]
either = pytest.mark.parametrize("look", [check_image, decode_image])

OTHER_KINDS = ("BMP", "TIFF", "PPM", "ICO")


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((64, 48), 60).convert("RGB").save(out, kind)
    return out.getvalue()


PICTURES = {kind: picture(kind) for kind in MEDIA_TYPES}


@either
@pytest.mark.parametrize("kind", PICTURES)
def test_a_whole_picture_is_known_by_its_bytes(look: Look, kind: str) -> None:
    seen = look(PICTURES[kind], Bounds())
    assert seen == ImageFacts(MEDIA_TYPES[kind], 64, 48)


@either
@pytest.mark.parametrize("kind", PICTURES)
@given(share=st.floats(0, 0.9))
def test_one_that_is_cut_short_is_none(look: Look, kind: str, share: float) -> None:
    with pytest.raises(ImageError):
        look(PICTURES[kind][: int(len(PICTURES[kind]) * share)], Bounds())


@either
@given(data=st.data())
def test_a_changed_byte_of_a_png_is_noticed(look: Look, data: st.DataObject) -> None:
    content = bytearray(PICTURES["PNG"])
    start = content.index(b"IDAT")
    place = data.draw(st.integers(start, content.index(b"IEND") - 5))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ImageError):
        look(bytes(content), Bounds())


ROWS = bytes(48 * (1 + 64 * 3))


@pytest.mark.parametrize(
    "pixels", [b"", b"not compressed at all", zlib.compress(ROWS)[:-9], zlib.compress(ROWS[:900])]
)
def test_pixel_data_that_make_no_sense_are_noticed(pixels: bytes) -> None:
    assert decode_image(png_of(zlib.compress(ROWS)), Bounds()).width == 64
    with pytest.raises(ImageError, match="cannot be decoded"):
        decode_image(png_of(pixels), Bounds())


def test_what_a_writer_put_under_right_check_sums_is_a_picture_as_it_came() -> None:
    assert check_image(png_of(b"not compressed at all"), Bounds()).width == 64
    with pytest.raises(ImageError, match="cannot be decoded"):
        check_image(png_of(b"")[:-12], Bounds())


@either
@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_pictures_of_other_types_are_none(look: Look, kind: str) -> None:
    with pytest.raises(ImageError, match="not a PNG, JPEG, WebP or GIF"):
        look(picture(kind), Bounds())


@either
@pytest.mark.parametrize("kind", PICTURES)
@given(content=st.binary(max_size=200))
def test_whatever_the_bytes_it_answers(look: Look, kind: str, content: bytes) -> None:
    for given_bytes in (content, PICTURES[kind][:200] + content):
        with pytest.raises(ImageError):
            look(given_bytes, Bounds())


@either
def test_too_many_pixels_are_refused_before_they_are_decoded(look: Look) -> None:
    with pytest.raises(ImageError, match="more than 1000 pixels"):
        look(png_of(b""), Bounds(image_pixels=1000))
