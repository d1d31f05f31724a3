"""Reading text: one engine with its own models, one that somebody else installs."""

import socket
from functools import cache
from pathlib import Path

import pytest
from PIL import Image

from webagent.vision import engines
from webagent.vision.engines import OcrUnavailable, lines_of_table, open_ocr
from webagent.vision.screen import Box

PICTURES = Path("tests/data/vision")
# By name: pytesseract imports pandas.
TESSERACT = "pytesseract.pytesseract.tesseract_cmd"


@cache
def picture(name: str) -> Image.Image:
    with Image.open(PICTURES / name) as opened:
        return opened.convert("RGB")


def test_an_unknown_engine_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="no OCR engine 'eyes'; there are: rapidocr, tesseract"):
        open_ocr("eyes")


@pytest.mark.slow
def test_small_text_is_read_where_it_stands_without_any_network(monkeypatch):
    def refuse(*_args: object, **_more: object) -> None:
        raise AssertionError("Something asked for the network.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    # A login form: ten pixels a letter.
    seen = picture("login-user-unseen-1000001-0.png").crop((0, 75, 250, 321))
    lines = open_ocr().read(seen)
    texts = {line.text: line for line in lines}
    assert {"Username", "Password", "Login"} <= set(texts)
    assert texts["Username"].box.y1 < texts["Password"].box.y1 < texts["Login"].box.y1
    for line in lines:
        assert line.confidence > 0.5
        assert 0 <= line.box.x1 < line.box.x2 <= 250
        assert [word.text for word in line.words] == line.text.split()


def test_a_package_without_models_says_so(tmp_path):
    with pytest.raises(OcrUnavailable, match="holds no model for 'rec'"):
        engines._bundled(tmp_path, "rec")


def test_without_its_program_tesseract_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(TESSERACT, str(tmp_path / "tesseract"))
    with pytest.raises(OcrUnavailable, match="apt install tesseract-ocr"):
        open_ocr("tesseract")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("echo 'no libtesseract.so.5' >&2; exit 127", "It said: no libtesseract.so.5."),
        ("exit 127", "Install it anew"),
        ("echo of yore", "Invalid tesseract version"),
        ("echo 'tesseract 5.3.0 '; echo osd", "apt install tesseract-ocr-eng"),
        (
            "case $1 in --*) echo 'tesseract 5.3.0 '; echo eng;; *) echo Killed >&2; exit 9;; esac",
            "It said: Killed.",
        ),
    ],
    ids=["library", "silent", "version", "language", "later"],
)
def test_a_broken_tesseract_says_what_to_do(
    program: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "tesseract"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(TESSERACT, str(script))
    with pytest.raises(OcrUnavailable) as broken:
        open_ocr("tesseract").read(Image.new("RGB", (20, 20)))
    assert message in str(broken.value)
    assert "127" not in str(broken.value)
    assert 'read with "rapidocr"' in str(broken.value)


def test_the_words_of_a_table_become_lines():
    table: dict[str, list[object]] = {
        "block_num": [1, 1, 1, 1],
        "par_num": [1, 1, 1, 1],
        "line_num": [0, 1, 1, 2],
        "text": ["", "Sign", "in", "smudge"],
        "conf": [-1, 96.0, 90.0, 12.0],
        "left": [0, 42, 102, 42],
        "top": [0, 42, 42, 102],
        "width": [600, 48, 20, 60],
        "height": [600, 24, 24, 24],
    }
    (line,) = lines_of_table(table, (100, 100), 3.0)
    # The frame of 12 pixels is taken off, then the enlargement.
    assert (line.text, line.box, line.confidence) == ("Sign in", Box(10, 10, 37, 18), 0.93)
    assert [word.text for word in line.words] == ["Sign", "in"]
