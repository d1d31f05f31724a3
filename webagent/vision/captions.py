"""Say what the pictures on a screen show: icons, photographs, drawings."""

from __future__ import annotations

import io
import logging
from typing import Protocol

from PIL import Image

from webagent.llm.interface import (
    ImagePart,
    LanguageModel,
    Message,
    ModelFailure,
    Request,
    TextPart,
)
from webagent.vision.screen import Box

logger = logging.getLogger(__name__)

CAPTIONED = frozenset({"icon", "image"})
_MARGIN = 4
_SIDE = 224
_MAX_TOKENS = 40
_LONGEST = 60
_QUESTION = (
    "This is a small part of a screenshot, with one icon or picture in its middle. Name "
    "it in at most four words, such as: red star, trash can, reply arrow. Say the name alone."
)


class Captioner(Protocol):
    """Names what a part of a picture shows."""

    def caption(self, image: Image.Image, box: Box) -> str:
        """A few words, or "" where there is nothing to say."""


class ModelCaptioner:
    """Asks a vision model of the registry, through the same interface as everybody.

    Without a reply the element goes by its kind alone: a caption is a help, not the sight.
    """

    def __init__(self, models: LanguageModel, model: str) -> None:
        self._models = models
        self._model = model
        self._known: dict[bytes, str] = {}

    def caption(self, image: Image.Image, box: Box) -> str:
        part = _part(image, box)
        if part not in self._known:
            self._known[part] = self._asked(part)
        return self._known[part]

    def _asked(self, part: bytes) -> str:
        request = Request(
            model=self._model,
            messages=(Message("user", (TextPart(_QUESTION), ImagePart(part, "image/png"))),),
            max_tokens=_MAX_TOKENS,
        )
        try:
            said = self._models.complete(request).text
        except ModelFailure as failure:
            logger.warning("No caption from %s: %s", self._model, failure)
            return ""
        return " ".join(said.split()).strip(" .\"'")[:_LONGEST]


def _part(image: Image.Image, box: Box) -> bytes:
    """The element and a little around it, as a PNG large enough for a model."""
    corners = (
        max(0, box.x1 - _MARGIN),
        max(0, box.y1 - _MARGIN),
        min(image.width, box.x2 + _MARGIN),
        min(image.height, box.y2 + _MARGIN),
    )
    part = image.convert("RGB").crop(corners)
    scale = max(1, _SIDE // max(part.size))
    part = part.resize((part.width * scale, part.height * scale), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    part.save(written, "PNG")
    return written.getvalue()
