"""Read the text on a picture of a screen: one interface, two engines, both offline."""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from webagent.vision.detector import open_session
from webagent.vision.screen import Box, TextLine, box_within

# Controls have letters of some ten pixels: engines are trained on larger ones.
ENLARGED = 1.5
ENLARGED_FOR_TESSERACT = 3.0
LEAST_CONFIDENCE = 0.5
LANGUAGE = "eng"
"""Of the data that Tesseract reads by."""
TESSERACT_LIMIT_S = 60
MOST_SAID = 300
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


_OR = 'or read with "rapidocr", which needs no program.'


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
            raise _broken(_message_of(error.output)) from error
        except SystemExit as error:  # how pytesseract refuses a version that it cannot read
            raise _broken(_message_of(str(error))) from error
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
            raise _broken(_message_of(error.message)) from error
        except RuntimeError as error:  # how pytesseract tells that the time is over
            said = f"it did not end within {TESSERACT_LIMIT_S} seconds"
            raise _broken(said) from error
        return lines_of_table(table, image.size, ENLARGED_FOR_TESSERACT)


def _broken(said: str) -> OcrUnavailable:
    return OcrUnavailable(
        "The program tesseract is there and does not work. Install it anew (`apt install"
        f" --reinstall tesseract-ocr tesseract-ocr-{LANGUAGE}`), {_OR} It said: {said}."
    )


def _message_of(output: bytes | str) -> str:
    """The last words of a program that failed, in one line."""
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    return " ".join(text.split())[-MOST_SAID:].rstrip(".") or "it ended without a word"


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
