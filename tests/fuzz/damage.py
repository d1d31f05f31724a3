"""Real files, damaged: bytes, JSON values, lines, tables and archives.

Every change is drawn from one source of chance, so that a number makes it again.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

MOST_BYTES = 4_000_000
DEPTH = 3000
JSON_ENDINGS = (".json", ".jsonl", ".trace", ".har", ".network")

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 10**400, -(2**63) - 1, 1e308, 0.1),
    *(float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "0",
        "null",
        "NaN",
        "\0",
        "\ud800",
        "\udfff\0",
        "é" * 50,
        "\u202e\ufeff",
        "x" * 20_000,
    ),
    *("2026-13-45T99:99:99Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:60-14:00"),
    *("../../etc/passwd", "/etc/passwd", "C:\\x", "file:///etc/passwd", "http://[::1", "http://\0"),
    *("javascript:x()", "<script>", "{{ x }}", "=1+1", "data:image/png;base64,é"),
    *("data:image/png;base64,AAAA", "attachment://0", "attachment://-1"),
    *([], {}, [None], [[1, 2], [3]], {"a": None}, {"": ""}, {"$blob": "0" * 64}, {"$ref": "#"}),
    *([0] * 2000, {str(n): n for n in range(500)}),
    *({"type": "image", "image": 3}, {"type": None}, {"__class__": "os.system"}),
)


def odd(chance: Random) -> Any:
    """A value that nobody expects."""
    return chance.choice(ODD_VALUES)


def damaged_bytes(content: bytes, chance: Random) -> bytes:
    """Some bytes changed, taken out, doubled or put in, or the rest cut off."""
    found = bytearray(content)
    for _ in range(chance.choice((1, 1, 4, 30))):
        if not found:
            break
        at = chance.randrange(len(found))
        length = min(chance.choice((1, 1, 2, 8, 200)), len(found) - at)
        what = chance.randrange(6)
        if what == 0:
            found[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            found[at : at + length] = chance.randbytes(length)
        elif what == 2:
            del found[at : at + length]
        elif what == 3:
            found[at:at] = found[at : at + length] * chance.choice((1, 3))
        elif what == 4:
            found[at:at] = chance.choice(
                (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"[" * 500, b'"', b"\r")
            )
        else:
            del found[at:]
    return bytes(found[:MOST_BYTES])


def damaged_value(value: Any, chance: Random) -> Any:
    """A JSON value with something odd in a few of its places; the value itself is changed."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = _place(value, chance)
        if place is None:
            return odd(chance)
        inside, key = place
        what = chance.randrange(5)
        if what == 0:
            del inside[key]
        elif what == 1:
            inside[key] = [inside[key]]
        elif what == 2 and isinstance(inside, dict):
            inside[str(odd(chance))[:40]] = inside.pop(key)
        elif what == 3 and isinstance(inside, list):
            inside.insert(key, inside[key])
        else:
            inside[key] = odd(chance)
    return value


def _place(value: Any, chance: Random) -> tuple[Any, Any] | None:
    """Somewhere within, found by going down at random; deeper places as often as shallow ones."""
    found: tuple[Any, Any] | None = None
    while isinstance(value, dict | list) and value:
        key = (
            chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        )
        found = (value, key)
        value = value[key]
        if chance.random() < 0.15:
            break
    return found


def damaged_json(content: bytes, chance: Random) -> bytes:
    """A JSON document or lines of them, with odd values, doubled keys or too much depth."""
    text = content.decode("utf-8", "replace")
    lines = [text]
    try:
        json.loads(text)
    except ValueError:
        lines = text.splitlines()
    if not lines:
        return b"{}"
    at = chance.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        return damaged_bytes(content, chance)
    said = json.dumps(damaged_value(value, chance))
    what = chance.randrange(8)
    if what == 0 and said.startswith("{") and len(said) > 2:
        said = f"{said[:-1]}, {said[1:]}"  # every key twice
    elif what == 1:
        said = said.replace("null", chance.choice(("[" * DEPTH, "[" * DEPTH + "]" * DEPTH)), 1)
    elif what == 2:
        said = said.replace(
            ": ", f': {chance.choice(("1e999", "-0", "9" * 5000, "Infinity"))}, "x": ', 1
        )
    lines[at] = said
    return "\n".join(lines).encode("utf-8", "surrogatepass")[:MOST_BYTES]


def damaged_table(content: bytes, chance: Random) -> bytes:
    """CSV with odd cells, quotes that never end, and rows too long or too short."""
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    for _ in range(chance.choice((1, 3))):
        if not lines:
            break
        at = chance.randrange(len(lines))
        cells = lines[at].split(",")
        cell = chance.randrange(len(cells))
        cells[cell] = chance.choice(
            ('"', '""', '"\n', "\0", str(odd(chance))[:300], "," * 300, "\r")
        )
        lines[at] = ",".join(cells)
    return "".join(lines).encode("utf-8", "surrogatepass")


def damaged_archive(content: bytes, chance: Random) -> bytes:
    """A zip whose members are damaged, missing, doubled, renamed, or all of it as bytes."""
    if chance.random() < 0.3:
        return damaged_bytes(content, chance)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as given:
            members = [(one.filename, given.read(one)) for one in given.infolist()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return damaged_bytes(content, chance)
    out = io.BytesIO()
    at = chance.randrange(len(members)) if members else -1
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, member) in enumerate(members):
            kept, told = member, name
            if number == at:
                what = chance.randrange(6)
                if what == 0:
                    continue
                if what == 1:
                    told = chance.choice(
                        (f"../{name}", f"/{name}", name.upper(), f"{name}/x", "é\u202e")
                    )
                else:
                    kept = damaged(name, member, chance)
            archive.writestr(told, kept)
    return out.getvalue()


def damaged(name: str, content: bytes, chance: Random) -> bytes:
    """The content of a file, damaged as suits its kind."""
    ending = f".{name.rpartition('.')[2].lower()}"
    ways: list[Callable[[bytes, Random], bytes]] = [damaged_bytes]
    if ending in JSON_ENDINGS:
        ways += [damaged_json] * 4
    elif ending == ".csv":
        ways += [damaged_table] * 3
    elif content.startswith(b"PK"):
        ways += [damaged_archive] * 3
    elif content.startswith(b"\x1f\x8b"):
        ways += [_damaged_gzip] * 2
    return chance.choice(ways)(content, chance)


def _damaged_gzip(content: bytes, chance: Random) -> bytes:
    try:
        inner = gzip.decompress(content)
    except (OSError, EOFError):
        return damaged_bytes(content, chance)
    return gzip.compress(damaged_bytes(inner, chance), 1)
