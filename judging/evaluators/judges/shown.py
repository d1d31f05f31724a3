"""A whole run as judges are shown it: its texts, bounded, and its pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PIL import Image
from pydantic import Field

from judging.evaluators.judges.prompts import JudgeSettings
from webagent.llm.interface import ImagePart, Message, TextPart
from webagent.llm.untrusted import bounded
from webagent.trajectory.blobs import FORMATS, MEDIA_TYPES, ImageError


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """One step as the judge reads it. `index` is its number in the run's timeline."""

    index: int
    action: str
    target: str = ""
    url: str = ""
    error: str = ""
    thought: str = ""
    is_undone: bool = False
    """On a branch that was abandoned later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The page before a step, or after it."""

    step: int
    data: bytes
    media_type: str
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What is known of a run to the judge."""

    task: str
    steps: tuple[StepShown, ...]
    pictures: tuple[Picture, ...] = ()
    final_url: str = ""
    answer: str | None = None


def texts_of(trajectory: Trajectory, settings: ShownSettings) -> dict[str, str]:
    """`task`, `steps`, `final_url` and `answer`, bounded and not fenced yet."""
    answer = trajectory.answer if settings.show_answer else None
    steps = shown_steps(trajectory.steps, settings.most_steps)
    lines = [_line(step, settings) for step in steps]
    if left_out := len(trajectory.steps) - len(steps):
        lines.insert(len(steps) // 2, f"[… {left_out} steps left out …]")
    longest = settings.longest_text
    return {
        "task": bounded(trajectory.task, longest),
        "steps": "\n".join(lines) or "(no steps)",
        "final_url": bounded(trajectory.final_url, 500) or "(not recorded)",
        "answer": bounded(answer, longest) if answer else "(none)",
    }


def with_pictures(before: str, pictures: Sequence[Picture], after: str) -> Message:
    """One message: words, the pictures with a line above each, and words."""
    parts: list[TextPart | ImagePart] = [TextPart(before)]
    for picture in pictures:
        place = "after" if picture.is_after else "before"
        parts.append(TextPart(f"Picture: the page {place} step {picture.step}."))
        parts.append(ImagePart(picture.data, picture.media_type))
    parts.append(TextPart(after))
    return Message("user", tuple(parts))


def shown_steps(steps: Sequence[StepShown], most: int) -> list[StepShown]:
    """All steps, or the first and last of them, half each."""
    if len(steps) <= most:
        return list(steps)
    return [*steps[: most // 2], *steps[len(steps) - (most - most // 2) :]]


def _line(step: StepShown, settings: ShownSettings) -> str:
    def short(text: str) -> str:
        return " ".join(bounded(text, settings.longest_action).split())

    parts = [f"step {step.index}{' (undone later)' if step.is_undone else ''}:"]
    parts.append(short(step.action) or "no action")
    if step.target:
        parts.append(f"| element: {short(step.target)}")
    if step.url:
        parts.append(f"| page: {short(step.url)}")
    if step.error:
        parts.append(f"| error: {short(step.error)}")
    if step.thought and settings.show_thoughts:
        parts.append(f"| thought: {short(step.thought)}")
    return " ".join(parts)


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
    except Exception as error:  # decoders raise whatever damaged bytes lead them to
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


class ShownSettings(JudgeSettings):
    """What of a whole run is shown.

    `selection`: pictures where the page changed most, or evenly spread; first and last always.
    `longest_side` of a picture in pixels, `longest_action` of an action in characters.
    """

    max_tokens: int = Field(default=4096, ge=16)
    pictures: int = Field(default=6, ge=0, le=20)
    selection: Literal["changes", "even"] = "changes"
    longest_side: int = Field(default=1280, ge=64, le=4096)
    most_steps: int = Field(default=80, ge=2, le=1000)
    longest_action: int = Field(default=400, ge=40)
    show_thoughts: bool = False
    show_answer: bool = True
