"""Text of files in other encodings than UTF-8: read where it is certain, else refused by name.

Trees hand out text files of UTF-16 and UTF-32 as UTF-8, so that no reader has to know. Others
cannot be told apart for certain, and nothing is guessed: they are named and refused.
"""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO

TEXT_SUFFIXES = (".json", ".jsonl", ".ndjson", ".har", ".csv", ".txt", ".log", ".md", ".html")
MOST_BYTES = 1 << 28
"""Of a file that is changed into UTF-8: that is done in memory."""
_MARK = codecs.BOM_UTF8
_WIDE = (
    # UTF-32's mark in little endian begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KANA = re.compile("[\u3041-\u30ff]")
_HEAD = 4


class EncodingError(ValueError):
    """Text in an encoding that is not read; its words name which one it seems to be."""


def decoded(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 or UTF-32.

    Raises:
        EncodingError: it is in another encoding.
    """
    encoding = _wide_encoding(content[:_HEAD]) or "utf-8-sig"
    try:
        # Half characters are text all the same: records take none of them.
        return content.decode(encoding, "surrogatepass")
    except UnicodeDecodeError as error:
        shown = encoding.upper() if encoding != "utf-8-sig" else f"not UTF-8: {_likely(content)}"
        why = f"{shown}, byte {error.start} cannot be read; save it as UTF-8"
        raise EncodingError(why) from error


def legible(content: bytes) -> tuple[str, str]:
    """The text as far as it can be read, and what is wrong with it; empty if nothing is."""
    try:
        return decoded(content), ""
    except EncodingError as error:
        return content.decode("utf-8", "replace"), str(error)


def in_utf8(name: str, stream: BinaryIO) -> BinaryIO:
    """The stream of a file as UTF-8, where its name is that of a text and it begins as wide text.

    Raises:
        EncodingError: it cannot be changed into UTF-8.
    """
    if not name.lower().endswith(TEXT_SUFFIXES):
        return stream
    if isinstance(stream, io.BufferedReader):
        head = stream.peek(_HEAD)[:_HEAD]
    else:
        head = stream.read(_HEAD)
        stream.seek(0)
    encoding = _wide_encoding(head)
    if encoding is None:
        return stream
    with stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise EncodingError(f"{encoding.upper()}, and more than {MOST_BYTES} bytes")
    return io.BytesIO(decoded(content).encode("utf-8", "replace"))


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, by their mark or by where the zeros of the first letters stand."""
    for mark, encoding in _WIDE:
        if head.startswith(mark):
            return encoding
    zeros: dict[tuple[bool, ...], str] = {
        (False, True, True, True): "utf-32-le",
        (True, True, True, False): "utf-32-be",
        (False, True, False, True): "utf-16-le",
        (True, False, True, False): "utf-16-be",
    }
    return zeros.get(tuple(byte == 0 for byte in head))


def _likely(content: bytes) -> str:
    """What encoding of single bytes or of Japan a text seems to be in."""
    for codec, shown in (("cp932", "Shift-JIS"), ("euc_jp", "EUC-JP"), ("iso2022_jp", "JIS")):
        try:
            words = content.decode(codec)
        except UnicodeDecodeError:
            continue
        if _KANA.search(words):
            return f"it seems to be {shown}"
    return "it seems to be Latin-1 (or Windows-1252)"
