"""Where logs lie, and their samples, whichever of three shapes they were written in.

A log is an archive with `header.json` (absent while it runs, and after a crash), `_journal/` and
`samples/`, or one JSON document. A sample is one file, or *chunked*: a small `sample.json` under
its own prefix, with messages, events and attachments in files that are named by the index of
their first item.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.files.opening import holds_zip, open_inner
from webagent.trajectory.files.recognition import outline
from webagent.trajectory.files.trees import Tree, json_of
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.values import items, mapping, whole

HEADER = "header.json"
START = "_journal/start.json"
ENDING = ".eval"
SHELL = "sample.json"

_SAMPLE = re.compile(r"^samples/(?P<id>.+)_epoch_(?P<epoch>\d{1,9})\.json$")
_CHUNKED = re.compile(r"^samples/(?P<id>.+)_epoch_(?P<epoch>\d{1,9})/sample\.json$")
_CHUNK = re.compile(r"^(?P<start>\d{1,12})\.json$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a log lies: an archive in the tree, a folder (or the tree itself), a document."""

    path: str
    kind: str
    """`archive`, `folder` or `document`."""


@dataclass(slots=True)
class Log:
    """One log: what stands above its samples, and where these are."""

    place: Place
    tree: Tree
    prefix: str
    header: dict[str, Any]
    has_header: bool
    samples: dict[str, str] = field(default_factory=dict)
    """`<id>_epoch_<n>` -> name of its file or of its shell, under the prefix."""
    chunks: dict[str, list[int]] = field(default_factory=dict)
    """Folder of a sequence of a chunked sample -> where its files begin."""
    document: dict[str, Any] = field(default_factory=dict)
    """All of it, where the log is one document."""


def find_logs(tree: Tree, bounds: Bounds) -> list[Place]:
    """Every log in the tree, by its content."""
    places = []
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if last == HEADER and outline(tree, name).has("eval", "plan"):
            places.append(Place(prefix, "folder"))
        elif name.endswith(START) and outline(tree, name).has("eval", "plan"):
            folder = name.removesuffix(START).rstrip("/")
            places.append(Place(folder, "folder"))
        elif last.endswith(".json"):
            head = outline(tree, name)
            if head.kind == "object" and head.has("version", "status", "eval"):
                places.append(Place(name, "document"))
        elif last.endswith(ENDING) and _is_archive(tree, name, bounds):
            places.append(Place(name, "archive"))
    return sorted(set(places), key=lambda place: place.path)


def files_of(tree: Tree, place: Place) -> Iterator[str]:
    """Names in the tree that belong to the log."""
    if place.kind != "folder":
        yield place.path
        return
    prefix = f"{place.path}/" if place.path else ""
    own = (f"{prefix}samples/", f"{prefix}_journal/")
    single = {f"{prefix}{name}" for name in (HEADER, "summaries.json", "reductions.json")}
    yield from (name for name in tree.names if name.startswith(own) or name in single)


def open_log(tree: Tree, place: Place, bounds: Bounds) -> Log:
    """The log without its samples.

    Raises:
        InputError: it cannot be read.
    """
    if place.kind == "document":
        value = _read(tree, place.path, bounds)
        names = {}
        for position, sample in enumerate(map(mapping, items(value.get("samples")))):
            names[_key(sample, position)] = str(position)
        header = {key: value[key] for key in value if key != "samples"}
        return Log(place, tree, "", header, has_header=True, samples=names, document=value)
    prefix = f"{place.path}/" if place.kind == "folder" and place.path else ""
    if place.kind == "archive":
        tree = open_inner(tree, place.path, bounds)
    has_header = f"{prefix}{HEADER}" in tree
    header = _read(tree, f"{prefix}{HEADER if has_header else START}", bounds)
    log = Log(place, tree, prefix, header, has_header=has_header)
    for name in tree.names:
        path = name.removeprefix(prefix)
        found = _SAMPLE.match(path) or _CHUNKED.match(path)
        parent, _, last = name.rpartition("/")
        if chunk := _CHUNK.match(last):
            log.chunks.setdefault(parent, []).append(int(chunk["start"]))
        elif found and name.startswith(prefix):
            log.samples[f"{found['id']}_epoch_{found['epoch']}"] = path
    return log


def read_sample(log: Log, key: str, bounds: Bounds) -> dict[str, Any]:
    """A whole sample in the shape that single files have.

    Raises:
        InputError: it cannot be read.
    """
    path = log.samples[key]
    if log.document:
        return mapping(items(log.document.get("samples"))[int(path)])
    name = f"{log.prefix}{path}"
    sample = _read(log.tree, name, bounds)
    if not path.endswith(f"/{SHELL}"):
        return sample
    folder = name.removesuffix(SHELL)
    messages = _sequence(log, f"{folder}messages", bounds)
    attachments = _sequence(log, f"{folder}attachments", bounds)
    sample["messages"] = _referred(
        items(sample.pop("message_refs", None)), messages, f"{folder}messages"
    )
    sample["events"] = _counted_events(log, folder, bounds)
    sample["attachments"] = {str(place): text for place, text in enumerate(attachments)}
    if f"{folder}metadata.json" in log.tree:
        sample["metadata"] = _read(log.tree, f"{folder}metadata.json", bounds)
    return sample


def _counted_events(log: Log, folder: str, bounds: Bounds) -> list[Any]:
    """All events of a chunked sample.

    Raises:
        InputError: there are fewer than the sample's skeleton counts, or they cannot be read.
    """
    found = _sequence(log, f"{folder}events", bounds)
    skeleton = f"{folder}skeleton.json"
    if skeleton in log.tree:
        due = whole(mapping(_read(log.tree, skeleton, bounds).get("counts")).get("events")) or 0
        if due > len(found):
            raise InputError("", f"{len(found)} where {due} were due", file=f"{folder}events")
    return found


def _key(sample: dict[str, Any], position: int) -> str:
    sample_id = sample.get("id")
    epoch = whole(sample.get("epoch")) or 1
    return f"{position if sample_id is None else sample_id}_epoch_{epoch}"


def _referred(refs: list[Any], messages: list[Any], folder: str) -> list[Any]:
    """The messages that half-open ranges name, in their order.

    Raises:
        InputError: there are not so many.
    """
    found: list[Any] = []
    for ref in refs:
        ends = [whole(end) for end in items(ref)]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None and ends[0] >= 0:
            if ends[1] > len(messages):
                raise InputError("", f"{len(messages)} where {ends[1]} were due", file=folder)
            found += messages[ends[0] : ends[1]]
    return found


def _sequence(log: Log, folder: str, bounds: Bounds) -> list[Any]:
    """A chunked sequence: files named by the index of their first item, none left out.

    Raises:
        InputError: a chunk is missing or unreadable.
    """
    found: list[Any] = []
    total = 0
    for start in sorted(log.chunks.get(folder, ())):
        file = f"{folder}/{start}.json"
        if start != len(found):
            raise InputError("", f"begins at {start} where {len(found)} was due", file=file)
        total += log.tree.size(file) if file in log.tree else 0
        if total > bounds.json_bytes:
            raise InputError("", f"more than {bounds.json_bytes} bytes together", file=file)
        found += items(_any(log.tree, file, bounds))
    return found


def _is_archive(tree: Tree, name: str, bounds: Bounds) -> bool:
    if not holds_zip(tree, name):
        return False
    try:
        inner = open_inner(tree, name, bounds)
    except InputError:
        return True  # damaged: told as such when it is read
    return HEADER in inner or START in inner


def _read(tree: Tree, name: str, bounds: Bounds) -> dict[str, Any]:
    value = _any(tree, name, bounds)
    if not isinstance(value, dict):
        raise InputError("", "not a JSON object", file=name)
    return value


def _any(tree: Tree, name: str, bounds: Bounds) -> Any:
    try:
        return json_of(tree, name, bounds)
    except ValueError as error:
        raise InputError("", str(error)[:300], file=name) from error
