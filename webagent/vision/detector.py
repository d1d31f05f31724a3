"""Find the elements on a picture of a screen, and say what its pictures show."""

import io
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from webagent.llm.interface import (
    ImagePart,
    LanguageModel,
    Message,
    ModelFailure,
    Request,
    TextPart,
)
from webagent.vision.screen import KINDS, Box, Element, box_within

logger = logging.getLogger(__name__)

THREADS = 2


def open_session(path: Path) -> Any:
    """The model at the path, ready to run."""
    # Heavy, and needed only by those who look at pictures.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    # Waiting threads that keep a core busy would take it from the browser.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


MODEL = Path(__file__).parent / "models" / "elements.onnx"
THRESHOLD = 0.3
# Two boxes that share more than this are one element, whatever kinds they were taken for.
SAME_ELEMENT = 0.6
STRIDES = (4, 8)
# Screenshots are seen this much smaller: enough for controls, and less than half of the work.
SCALE = 2 / 3
_MULTIPLE = 32


class Detector(Protocol):
    """Finds elements."""

    def find(self, image: Image.Image) -> list[Element]:
        """The elements on the picture, the surest first; boxes in its pixels."""


class NoModel(FileNotFoundError):
    """There is no model at the path given."""


def load_detector(path: Path | None = None) -> Detector:
    """The detector that ships with Crosscheck, or the one at the path.

    Raises:
        NoModel: there is no such file.
    """
    model = path or MODEL
    if not model.is_file():
        raise NoModel(
            f"There is no detector model at {model}. "
            "`python -m tools.detector.train` makes one; see docs/vision.md."
        )
    return OnnxDetector(model, THRESHOLD)


class OnnxDetector:
    """A network that was exported by `tools.detector.train`."""

    def __init__(self, path: Path, threshold: float) -> None:
        self._session = open_session(path)
        self._threshold = threshold

    def find(self, image: Image.Image) -> list[Element]:
        outputs = self._session.run(None, {"pictures": fed(image)})
        found = []
        for level, stride in enumerate(STRIDES):
            likely, distances = outputs[2 * level][0], outputs[2 * level + 1][0]
            for kind, row, column in np.argwhere(likely >= self._threshold):
                x, y = (column + 0.5) * stride, (row + 0.5) * stride
                left, top, right, bottom = distances[:, row, column]
                sides = (x - left, y - top, x + right, y + bottom)
                box = box_within((side / SCALE for side in sides), image.size)
                if box is not None:
                    confidence = round(float(likely[kind, row, column]), 4)
                    found.append(Element(KINDS[kind], box, confidence))
        return distinct(found)


def fed(image: Image.Image) -> NDArray[np.float32]:
    """The picture as the network takes it: (1, 3, height, width), 0 to 1, padded at the end."""
    size = (round(image.width * SCALE), round(image.height * SCALE))
    small = image.convert("RGB").resize(size, Image.Resampling.BILINEAR)
    pixels = np.asarray(small, np.float32) / 255
    below, beside = -pixels.shape[0] % _MULTIPLE, -pixels.shape[1] % _MULTIPLE
    padded = np.pad(pixels, ((0, below), (0, beside), (0, 0)), mode="edge")
    return np.ascontiguousarray(padded.transpose(2, 0, 1)[None])


def distinct(elements: Iterable[Element]) -> list[Element]:
    """The elements without those that a surer one's box nearly covers, the surest first."""
    kept: list[Element] = []
    for element in sorted(elements, key=lambda e: (-e.confidence, e.box, e.kind)):
        if all(element.box.iou(other.box) <= SAME_ELEMENT for other in kept):
            kept.append(element)
    return kept


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
