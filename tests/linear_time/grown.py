"""Samples of every format in memory, grown: more steps, longer texts, deeper values."""

import io
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from tests.webagent.trajectory.mutations import BASE64_PICTURE, PICTURES, picture_of
from webagent.trajectory.blobs import BlobError
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.trees import NamedFiles
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import source_of

Files = dict[str, bytes]
_JSON = (".json", ".har")
_JSON_LINES = (".jsonl", ".trace", ".network")
_NUMBERED_FILE = re.compile(
    r"(?P<before>.*?(?:/|step_|screenshot))(?P<number>\d+)(?P<after>[^/\d][^/]*)"
)
_NUMBERS = frozenset({"num", "step", "step_id", "step_number", "index", "number"})
_TINY_PICTURE = picture_of("PNG")
_PLACEHOLDER = "@@grown@@"
LINES_OF_A_STEP = 10
_PAGE = "<h2>New Page</h2>"
_TREE = b'"axtree_obj"'
_LONGEST_TEXT = 200
"""Characters of a free text where steps are many."""
# A word, an address, a path, a time or an identifier: what readers look at to know the file.
_KNOWN_BY = re.compile(r"[\w.:/@+#-]*")


class MemoryTree(NamedFiles[bytes]):
    """Files under names, held in memory."""

    def __init__(self, files: Files) -> None:
        super().__init__("grown", files)

    def _size(self, file: bytes) -> int:
        return len(file)

    def _stream(self, file: bytes) -> BinaryIO:
        return io.BytesIO(file)


def loaded(folder: Path) -> Files:
    """The files of a sample, its pictures and pages as small as they can be."""
    return {
        path.relative_to(folder).as_posix(): _with_small_pages(_without_pictures(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _without_pictures(path: Path) -> bytes:
    if path.suffix in PICTURES:
        return _TINY_PICTURE
    content = path.read_bytes()
    if path.suffix in _JSON + _JSON_LINES + (".html",):
        return BASE64_PICTURE.sub("", content.decode()).encode()
    return content


def _with_small_pages(content: bytes) -> bytes:
    """Without most nodes of each page's tree, beside which nothing else of a step would weigh."""
    if _TREE not in content:
        return content
    return json.dumps(json.loads(content, object_hook=_small)).encode()


def _small(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"nodes": item["nodes"][:2]} if "nodes" in item else item


def formats(files: Files) -> tuple[str, ...]:
    """What the files are recognised as."""
    with source_of(MemoryTree(files)) as source:
        return source.formats


def read_all(files: Files) -> list[RunBundle | Problem]:
    """Read as an import does, down to every record and blob."""
    with source_of(MemoryTree(files)) as source:
        found = list(source)
        assert source.unread is not None
    for item in found:
        if isinstance(item, RunBundle):
            for record in item.records():
                record.to_json()
            for blob in item.blob_records():
                with suppress(BlobError):  # refused in words
                    item.read_blob(blob.sha256)
    return found


def with_more_steps(files: Files, n: int) -> Files:
    """Lists of objects, lines, pages and numbered files repeated until there are `n` of each."""
    return _changed(
        _with_more_files(files, n),
        lambda value: _repeated(_mapped(value, _cut), n),
        lambda lines: [*lines[:1], *_cycled(lines[1:], LINES_OF_A_STEP * n)],
        lambda plain: _with_more_pages(plain, n),
    )


def _with_more_files(files: Files, n: int) -> Files:
    families: dict[tuple[str, str], list[bytes]] = {}
    found = dict(files)
    for name, content in files.items():
        if match := _NUMBERED_FILE.fullmatch(name):
            families.setdefault((match["before"], match["after"]), []).append(content)
    for (before, after), contents in families.items():
        width = 4 if f"{before}0000{after}" in files else 1
        if len(contents) > 1:
            *steps, last = contents
            for number in range(1, n):
                found[f"{before}{number:0{width}}{after}"] = steps[number % len(steps)]
            found[f"{before}{n:0{width}}{after}"] = last
    return found


def _with_more_pages(plain: str, n: int) -> str:
    head, *pages = plain.split(_PAGE)
    return head + "".join(_PAGE + pages[place % len(pages)] for place in range(n if pages else 0))


def _cut(leaf: Any) -> Any:
    return leaf[:_LONGEST_TEXT] if _is_free(leaf) else leaf


def with_longer_texts(files: Files, text: str) -> Files:
    """The text behind every text that is free, in words, and in plain files and pages."""
    return _changed(
        files,
        lambda value: _mapped(value, lambda leaf: leaf + text if _is_free(leaf) else leaf),
        lambda lines: lines,
        lambda plain: plain + text,
    )


def with_other_values(files: Files, raw: str, is_chosen: Callable[[Any], bool]) -> Files:
    """Raw JSON in place of every chosen value."""
    grown = _changed(
        files,
        lambda value: _mapped(value, lambda leaf: _PLACEHOLDER if is_chosen(leaf) else leaf),
        lambda lines: lines,
    )
    placeholder = json.dumps(_PLACEHOLDER).encode()
    return {name: content.replace(placeholder, raw.encode()) for name, content in grown.items()}


def with_more_runs(files: Files, n: int) -> Files:
    """The whole sample under `n` names."""
    return {f"copy{i}/{name}": content for i in range(n) for name, content in files.items()}


def is_number(leaf: object) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def is_free_text(leaf: object) -> bool:
    return isinstance(leaf, str) and _is_free(leaf)


def _is_free(leaf: object) -> bool:
    return isinstance(leaf, str) and _KNOWN_BY.fullmatch(leaf) is None


def _changed(
    files: Files,
    value: Callable[[Any], Any],
    lines: Callable[[list[Any]], Iterable[Any]],
    plain: Callable[[str], str] = lambda text: text,
) -> Files:
    found: Files = {}
    for name, content in files.items():
        if name.endswith(_JSON):
            changed = json.dumps(value(json.loads(content)))
        elif name.endswith(_JSON_LINES):
            rows = [value(json.loads(line)) for line in content.decode().splitlines()]
            changed = "".join(f"{json.dumps(row)}\n" for row in lines(rows))
        elif name.endswith((".html", ".txt", ".log")):
            changed = plain(content.decode())
        else:
            found[name] = content
            continue
        found[name] = changed.encode("utf-8", "surrogatepass")
    return found


def _repeated(value: Any, n: int) -> Any:
    """The outermost lists of objects, repeated and numbered anew."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return _cycled(value, n)
    if isinstance(value, dict):
        return {key: _repeated(item, n) for key, item in value.items()}
    return value


def _cycled(items: list[Any], n: int) -> list[Any]:
    if len(items) < 2:
        return items
    return [_numbered(items[place % len(items)], place - place % len(items)) for place in range(n)]


def _numbered(value: Any, more: int) -> Any:
    """Numbers and ids of a repeated item, so that no two are the same."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, item in value.items():
        if key in _NUMBERS and isinstance(item, int):
            found[key] = item + more
        elif key in ("id", "callId", "call_id") and isinstance(item, str) and more:
            found[key] = f"{item}-{more}"
        elif key == "metadata":
            found[key] = _numbered(item, more)
        else:
            found[key] = item
    return found


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return change(value)
