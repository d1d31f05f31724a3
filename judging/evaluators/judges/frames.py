"""Which pictures of a run a judge is shown, and how large."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image

from webagent.trajectory.images import FORMATS, MEDIA_TYPES, ImageError

_SIDE = 32
_SENT_AS_THEY_ARE = ("image/png", "image/jpeg", "image/webp")
_QUALITY = 80


def chosen(changes: Sequence[float], number: int, *, evenly: bool = False) -> list[int]:
    """Indices of at most `number` pictures, in order: the first, the last, and between them
    those that changed most (the earlier of equals), or evenly spread ones.

    Args:
        changes: for each picture, how much it differs from the one before; that of the first
            is of no weight.
    """
    if len(changes) <= number:
        return list(range(len(changes)))
    if number <= 0:
        return []
    last = len(changes) - 1
    if number == 1:
        return [last]
    if evenly:
        return sorted({round(place * last / (number - 1)) for place in range(number)})
    between = sorted(range(1, last), key=lambda index: (-changes[index], index))
    return sorted([0, *between[: number - 2], last])


def changes_of(pictures: Sequence[bytes]) -> list[float]:
    """How much each picture differs from the one before, in [0, 1]; 0 for the first.

    The mean difference of brightness of both, shrunk to 32 by 32. A picture that cannot be
    decoded counts as changed completely.
    """
    shrunk = [_shrunk(picture) for picture in pictures]
    return [
        0.0 if index == 0 else _difference(shrunk[index - 1], shrunk[index])
        for index in range(len(shrunk))
    ]


def as_sent(content: bytes, longest_side: int) -> tuple[bytes, str]:
    """The picture and its media type, shrunk to the longest side where it is larger.

    The caller has checked its size in pixels.

    Raises:
        ImageError: it cannot be decoded.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            media_type = MEDIA_TYPES[image.format or ""]
            if max(image.size) <= longest_side and media_type in _SENT_AS_THEY_ARE:
                image.load()
                return content, media_type
            small = image.convert("RGB")
            small.thumbnail((longest_side, longest_side))
            out = io.BytesIO()
            small.save(out, "JPEG", quality=_QUALITY)
    except Exception as error:  # noqa: BLE001 (decoders raise whatever damaged bytes lead them to)
        raise ImageError(f"cannot be decoded: {error or type(error).__name__}") from error
    return out.getvalue(), "image/jpeg"


def _shrunk(content: bytes) -> bytes | None:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return image.convert("L").resize((_SIDE, _SIDE)).tobytes()
    except Exception:  # noqa: BLE001 (as above; the picture counts as changed)
        return None


def _difference(one: bytes | None, other: bytes | None) -> float:
    if one is None or other is None:
        return 1.0
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / (255 * len(one))
