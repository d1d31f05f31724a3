"""Files of runs that come back: those of an export, and kept source files as a tree."""

import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from webagent.trajectory.blobs import (
    ROLES,
    BlobError,
    BlobStash,
    ImageError,
    ImageFacts,
    check_image,
)
from webagent.trajectory.bundles import RunBundle, blobs_of
from webagent.trajectory.files.run_files import BLOB_KEY, BlobFiles
from webagent.trajectory.files.trees import NamedFiles, Tree, TreeError, read_file
from webagent.trajectory.intake import BoundError, Bounds, Inventory, problems_of
from webagent.trajectory.records import BlobPart, BlobRecord, Record, RunRecord
from webagent.trajectory.values import every

_BESIDE = ("artefact", "log", "video")
_UNNAMED = "blobs"
_HASH = re.compile(r"^[0-9a-f]{64}$")


class KeptTree(NamedFiles[tuple[str, int]]):
    """The originals of a run with its pictures, where they lay in what was imported."""

    def __init__(self, bundle: RunBundle) -> None:
        super().__init__(bundle.source, _files(bundle))
        self._bundle = bundle

    def _size(self, file: tuple[str, int]) -> int:
        return file[1]

    def _stream(self, file: tuple[str, int]) -> BinaryIO:
        try:
            return io.BytesIO(self._bundle.read_blob(file[0]))
        except BlobError as error:
            raise TreeError(str(error)) from error


def kept_pictures(
    files: BlobFiles, place: str, value: object, pictures: dict[str, BlobRecord]
) -> None:
    """Add to `pictures` those that a JSON value names by their hash, from a tree of originals."""
    named = (item.get(BLOB_KEY) for item in every(value) if isinstance(item, dict))
    hashes = {sha256 for sha256 in named if isinstance(sha256, str) and _HASH.match(sha256)}
    for sha256 in hashes - pictures.keys():
        if kept := kept_picture(files, place, sha256):
            pictures[sha256] = kept


def kept_picture(files: BlobFiles, place: str, sha256: str) -> BlobRecord | None:
    """A picture that an original names by its hash, from a tree of originals; None elsewhere.

    Args:
        place: folder of the original in the tree, empty or with `/` at its end.
    """
    name = f"{place}{_UNNAMED}/{sha256}"
    if name not in files.tree:
        return None
    try:
        content = read_file(files.tree, name, files.bounds.image_bytes)
        is_same = hashlib.sha256(content).hexdigest() == sha256
        return files.stashed_picture(content, "screenshot") if is_same else None
    except (BoundError, ImageError, TreeError):
        return None


def _files(bundle: RunBundle) -> dict[str, tuple[str, int]]:
    """Name -> hash and bytes. The first original is the file that the source's path names."""
    source = bundle.run.source
    if not source.originals:
        return {}
    first = source.originals[0].name or ""
    path = source.path or first
    place = path.removesuffix(first) if first and path.endswith(first) else ""
    found = {
        f"{place}{blob.name}": (blob.sha256, blob.bytes) for blob in source.originals if blob.name
    }
    for record in bundle.records():
        for blob in blobs_of(record):
            if blob.media_type.startswith("image/") or blob.role in _BESIDE:
                name = blob.name or f"{_UNNAMED}/{blob.sha256}"
                found.setdefault(f"{place}{name}", (blob.sha256, blob.bytes))
    return found


@dataclass(frozen=True, slots=True)
class Missing:
    """A blob that is mentioned and cannot be had."""

    blob: BlobRecord
    name: str
    why: str


def take_blobs(
    bundle: RunBundle,
    stash: BlobStash,
    tree: Tree,
    bounds: Bounds,
    name_of: Callable[[BlobRecord], tuple[str | None, str]],
    absent: str,
) -> list[Missing]:
    """Put every blob of the run whose bytes are right into the stash; the others come back.

    Args:
        name_of: the blob's name in the tree, None where it has none, and what it is called.
        absent: why a blob without a name is missing.
    """
    missing = []
    pictures = shown_as_pictures(bundle)
    for blob in bundle.blob_records():
        name, shown = name_of(blob)
        limit = bounds.of_blob(blob.media_type)
        try:
            if name is None:
                raise TreeError(absent)
            content = _read_hashed(tree, name, limit)
            facts = verify(blob, content, bounds, is_picture=blob.sha256 in pictures)
        except (TreeError, BoundError, ImageError) as error:
            missing.append(Missing(blob, shown, str(error)))
        else:
            read = partial(_read_hashed, tree, name, limit)
            stash.add_reader(blob.sha256, read, content, facts)
    return missing


def _read_hashed(tree: Tree, name: str, limit: int) -> bytes:
    """`read_file` of what is held to its hash."""
    content = tree.hashed(name)
    return read_file(tree, name, limit) if content is None or len(content) > limit else content


def without_missing(bundle: RunBundle, missing: list[Missing], inventory: Inventory) -> RunBundle:
    """The run without mention of those blobs, and with what is missing as gaps and problems."""
    for item in missing:
        inventory.miss(item.blob.role, item.blob.sha256, item.why)
    hashes = frozenset(item.blob.sha256 for item in missing)
    for blob in bundle.blob_records():
        if blob.sha256 not in hashes:
            inventory.keep(blob.role, blob.sha256)
    gaps = inventory.gaps(frozenset())
    if not gaps:
        return bundle
    run: RunRecord = _strip(bundle.run, hashes)
    return replace(
        bundle,
        task=_strip(bundle.task, hashes),
        run=run.model_copy(update={"gaps": (*run.gaps, *gaps)}),
        steps=tuple(_strip(step, hashes) for step in bundle.steps),
        evaluations=tuple(_strip(item, hashes) for item in bundle.evaluations),
        problems=(*bundle.problems, *problems_of(gaps, bundle.source)),
    )


def _strip(value: Any, hashes: frozenset[str]) -> Any:
    """A record without any blob of these hashes."""
    if isinstance(value, BlobRecord):
        return None if value.sha256 in hashes else value
    if isinstance(value, BlobPart):
        return None if value.blob.sha256 in hashes else value
    if isinstance(value, Record):
        changes = {}
        for name in type(value).model_fields:
            old = getattr(value, name)
            new = _strip(old, hashes)
            if new is not old:
                changes[name] = new
        return value.model_copy(update=changes) if changes else value
    if isinstance(value, tuple):
        kept = tuple(new for item in value if (new := _strip(item, hashes)) is not None)
        return kept if kept != value else value
    return value


def verify(
    blob: BlobRecord, content: bytes, bounds: Bounds, *, is_picture: bool = False
) -> ImageFacts | None:
    """That these are the bytes that the record speaks of; of a picture, what it is.

    Args:
        is_picture: it is shown as one, whatever its role and type say.

    Raises:
        TreeError: they are others.
        ImageError: it is no picture that is taken in, and should be one.
    """
    if hashlib.sha256(content).hexdigest() != blob.sha256:
        raise TreeError("the bytes are not those that the hash names")
    if len(content) != blob.bytes:
        raise TreeError(f"{len(content)} bytes instead of {blob.bytes}")
    if is_picture or blob.role in ROLES or blob.media_type.startswith("image/"):
        facts = check_image(content, bounds)
        if facts.media_type != blob.media_type:
            raise ImageError(f"{facts.media_type} instead of {blob.media_type}")
        return facts
    return None


def shown_as_pictures(bundle: RunBundle) -> frozenset[str]:
    """Hashes of the blobs that stand where pictures are."""
    seen = [look for step in bundle.steps for look in (step.before, step.after) if look]
    shown = [blob for look in seen for blob in (look.screenshot, look.marked_screenshot)]
    goals = [
        part.blob for part in (*bundle.task.goal, *bundle.run.goal) if isinstance(part, BlobPart)
    ]
    return frozenset(blob.sha256 for blob in (*shown, *goals) if blob)
