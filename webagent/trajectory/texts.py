"""Text from outside, decoded where its encoding is certain, and made storable.

No NUL, no half characters, no endless strings. Trees hand out text files of UTF-16 and UTF-32 as
UTF-8, so that no reader has to know. Others cannot be told apart for certain, and nothing is
guessed: they are named and refused.
"""

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What neither databases nor UTF-8 hold."""
_REPLACEMENT = "\ufffd"
NAME_CHARS = 200
"""The longest identifier: of runs, tasks, verdicts, agents, models and experiments."""
_HASH_CHARS = 16
_HEAD_CHARS = 60


def storable_text(text: str, limit: int) -> str:
    """The text without NUL and lone surrogates (U+FFFD instead), at most `limit` characters."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return UNSTORABLE.sub(_REPLACEMENT, text)


def bounded_name(name: str, limit: int = NAME_CHARS) -> str:
    """The name as an identifier: at most `limit` characters, equal only for equal names.

    A longer one keeps its beginning and its end, with a hash of the whole between them. Every
    identifier that is built from names of the source goes through here.
    """
    clean = UNSTORABLE.sub(_REPLACEMENT, name)
    if len(clean) <= limit:
        return clean
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    head = f"{clean[:_HEAD_CHARS]}-{digest}-"
    return head + clean[len(head) - limit :]


_MOST_BITS = 1000
"""Of a whole number: a float holds it then."""


def _is_unstorable(value: float) -> bool:
    """Whether no record holds the number: NaN, infinite ones, and those too large for a float."""
    return value.bit_length() >= _MOST_BITS if isinstance(value, int) else value - value != 0


def unstorable_numbers(value: Any, where: str = "") -> Iterator[str]:
    """Paths of the numbers in a JSON value that no record holds."""
    if isinstance(value, int | float):
        if _is_unstorable(value):
            yield where
    elif isinstance(value, dict | list | tuple):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inside:
            if not isinstance(item, str):
                yield from unstorable_numbers(item, f"{where}.{key}" if where else str(key))


def storable_json(value: Any, limit: int, depth: int = 64) -> Any:
    """The same for strings and keys inside a JSON value; numbers that nothing holds become None.

    Raises:
        ValueError: nested deeper than `depth`.
    """
    if isinstance(value, str):
        return storable_text(value, limit)
    if isinstance(value, int | float) and _is_unstorable(value):
        return None
    if isinstance(value, dict | list | tuple) and depth <= 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {
            storable_text(str(key), limit): storable_json(item, limit, depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable_json(item, limit, depth - 1) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return float(value)
    return value


LONGEST = 200
"""More between two marks is no quotation: one of them was left out."""

UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Letters that a mark stands right beside, since these scripts put no blanks there."""
_LETTER = rf"[^\W{UNSPACED}]"
_STRAIGHT, _CURVED = ('"', "`", "'"), ("“”", "‘’", "«»", "「」", "『』")


def _between(first: str, last: str) -> str:
    inside = rf"[^{last}\n]"
    if last in "'’":
        inside = rf"(?:{inside}|(?<={_LETTER}){last}(?={_LETTER}))"
    return rf"{first}({inside}{{1,{LONGEST}}}){last}"


_QUOTED = re.compile(
    "|".join(
        [rf"(?<!{_LETTER}){_between(mark, mark)}(?!{_LETTER})" for mark in _STRAIGHT]
        + [_between(pair[0], pair[1]) for pair in _CURVED]
    )
)


def quoted(text: str) -> list[str]:
    """Texts in quotation marks of any kind, in order; apostrophes inside words are none."""
    return [match[match.lastindex or 0] for match in _QUOTED.finditer(text)]


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
