"""Engines that look at a picture of a screen, all offline: one finds elements, two read text."""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from webagent.vision.screen import KINDS, Box, Element, TextLine, box_within


def open_session(path: Path) -> Any:
    """The model at the path, ready to run."""
    # Heavy, and needed only by those who look at pictures.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
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


def load_detector(model: Path = MODEL) -> Detector:
    """The detector that ships with Crosscheck, or the one at that path.

    Raises:
        NoModel: there is no such file.
    """
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


# Controls have letters of some ten pixels: engines are trained on larger ones.
ENLARGED = 1.5
ENLARGED_FOR_TESSERACT = 3.0
LEAST_CONFIDENCE = 0.5
LANGUAGE = "eng"
"""Of the data that Tesseract reads by."""
TESSERACT_LIMIT_S = 60
MOST_SAID = 300
_OR = 'or read with "rapidocr", which needs no program.'
_MARGIN = 12
"""Engines overlook text that touches the edge of the picture."""


class Ocr(Protocol):
    """Reads text."""

    def read(self, image: Image.Image) -> list[TextLine]:
        """The lines on the picture, from the top down; boxes in its pixels.

        Raises:
            OcrUnavailable: the engine stopped working.
        """


class OcrUnavailable(RuntimeError):
    """The engine cannot work here; the message says what to do."""


def open_ocr(name: str = "rapidocr") -> Ocr:
    """The engine of that name: "rapidocr" or "tesseract".

    Raises:
        ValueError: there is none of that name.
        OcrUnavailable: something of it is not installed, or does not work.
    """
    if name not in _ENGINES:
        known = ", ".join(sorted(_ENGINES))
        raise ValueError(f"There is no OCR engine {name!r}; there are: {known}.")
    return _ENGINES[name]()


class RapidOcr:
    """RapidOCR with the models that its package brings along; nothing is ever fetched."""

    def __init__(self) -> None:
        try:
            import rapidocr
            from omegaconf import flag_override
        except ImportError as error:
            raise OcrUnavailable(f"RapidOCR cannot be used: {error}.") from error
        models = Path(rapidocr.__file__).parent / "models"
        self._engine: Any = rapidocr.RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.use_cls": False,  # no text of a screen stands on its head
                "Global.text_score": LEAST_CONFIDENCE,
                "Global.min_height": 8,
                "Det.limit_side_len": 32,
                # Words are short: padding each to the usual width triples the time.
                "Rec.rec_img_shape": [3, 48, 64],
            }
        )
        settings = self._engine.cfg
        with flag_override(settings, "allow_objects", True):
            for part, kind in ((settings.Det, "det"), (settings.Rec, "rec")):
                part.session = open_session(_bundled(models, kind))

    def read(self, image: Image.Image) -> list[TextLine]:
        enlarged = _enlarged(image, ENLARGED)
        blue_first = np.ascontiguousarray(np.asarray(enlarged)[:, :, ::-1])
        result = self._engine(blue_first, return_word_box=True)
        if result.txts is None:
            return []
        lines = []
        for text, score, corners, words in zip(
            result.txts, result.scores, result.boxes, result.word_results, strict=True
        ):
            read = _line(text, score, corners, image.size, ENLARGED)
            if read is not None:
                parts = (_line(word, sure, at, image.size, ENLARGED) for word, sure, at in words)
                lines.append(replace(read, words=tuple(filter(None, parts))))
        return lines


class Tesseract:
    """The `tesseract` program through pytesseract; installed by whoever wants it."""

    def __init__(self) -> None:
        try:
            import pytesseract
        except ImportError as error:
            raise OcrUnavailable("Install the package pytesseract to read with it.") from error
        self._pytesseract: Any = pytesseract
        try:
            pytesseract.get_tesseract_version()
            languages = pytesseract.get_languages()
        except pytesseract.TesseractNotFoundError:
            raise OcrUnavailable(
                "The program tesseract is not there. Install it (`apt install tesseract-ocr`),"
                f" {_OR}"
            ) from None
        except subprocess.CalledProcessError as error:
            raise _broken(error.output) from error
        except SystemExit as error:  # how pytesseract refuses a version that it cannot read
            raise _broken(str(error)) from error
        if LANGUAGE not in languages:
            raise OcrUnavailable(
                "Tesseract has no data to read English with. Install it (`apt install"
                f" tesseract-ocr-{LANGUAGE}`) or set TESSDATA_PREFIX to the directory of"
                f" {LANGUAGE}.traineddata, {_OR}"
            )

    def read(self, image: Image.Image) -> list[TextLine]:
        enlarged = _enlarged(image, ENLARGED_FOR_TESSERACT)
        try:
            table: Mapping[str, list[Any]] = self._pytesseract.image_to_data(
                enlarged,
                lang=LANGUAGE,
                config="--psm 11",
                output_type=self._pytesseract.Output.DICT,
                timeout=TESSERACT_LIMIT_S,
            )
        except self._pytesseract.TesseractError as error:
            raise _broken(error.message) from error
        except RuntimeError as error:  # how pytesseract tells that the time is over
            raise _broken(f"it did not end within {TESSERACT_LIMIT_S} seconds") from error
        return lines_of_table(table, image.size, ENLARGED_FOR_TESSERACT)


def _broken(output: bytes | str) -> OcrUnavailable:
    """With the last words of the program, in one line."""
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    said = " ".join(text.split())[-MOST_SAID:].rstrip(".") or "it ended without a word"
    return OcrUnavailable(
        "The program tesseract is there and does not work. Install it anew (`apt install"
        f" --reinstall tesseract-ocr tesseract-ocr-{LANGUAGE}`), {_OR} It said: {said}."
    )


_ENGINES: dict[str, Callable[[], Ocr]] = {"rapidocr": RapidOcr, "tesseract": Tesseract}


def lines_of_table(
    table: Mapping[str, list[Any]], size: tuple[int, int], scale: float
) -> list[TextLine]:
    """The lines of Tesseract's table of words, which it numbers by block, paragraph and line."""
    rows: dict[tuple[int, int, int], list[TextLine]] = {}
    names = ("block_num", "par_num", "line_num", "text", "conf", "left", "top", "width", "height")
    for block, paragraph, line, text, confidence, left, top, width, height in zip(
        *(table[name] for name in names), strict=True
    ):
        sides = [(left, top), (left + width, top + height)]
        word = _line(text, float(confidence) / 100, sides, size, scale)
        if word is not None and word.confidence >= LEAST_CONFIDENCE:
            rows.setdefault((block, paragraph, line), []).append(word)
    lines = []
    for words in rows.values():
        box = Box.around_all(word.box for word in words)
        text = " ".join(word.text for word in words)
        confidence = round(sum(word.confidence for word in words) / len(words), 4)
        lines.append(TextLine(text, box, confidence, tuple(words)))
    return sorted(lines, key=lambda line: line.box)


def _bundled(models: Path, kind: str) -> Path:
    """The one model of that kind in RapidOCR's package, whatever version it is of."""
    found = sorted(models.glob(f"*_{kind}_*.onnx"))
    if not found:
        raise OcrUnavailable(f"RapidOCR's package holds no model for {kind!r} in {models}.")
    return found[0]


def _enlarged(image: Image.Image, scale: float) -> Image.Image:
    colour = image.convert("RGB")
    size = (round(colour.width * scale), round(colour.height * scale))
    large = colour.resize(size, Image.Resampling.BICUBIC)
    edge = large.getpixel((size[0] - 1, size[1] - 1))
    framed = Image.new("RGB", (size[0] + 2 * _MARGIN, size[1] + 2 * _MARGIN), edge)
    framed.paste(large, (_MARGIN, _MARGIN))
    return framed


def _line(
    text: str, score: float, corners: Iterable[Iterable[float]], size: tuple[int, int], scale: float
) -> TextLine | None:
    """The text where it stands on the picture before it was enlarged; None for none."""
    points = [[(value - _MARGIN) / scale for value in corner] for corner in corners]
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    box = box_within((min(xs), min(ys), max(xs), max(ys)), size)
    written = re.sub(r"\s+", " ", text).strip()
    return TextLine(written, box, round(float(score), 4)) if written and box else None
