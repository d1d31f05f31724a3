"""The files of one run on their way into blobs, and what had to be left out of them."""

import base64
import hashlib
import json
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import Any, Self

from webagent.trajectory.blobs import BlobStash, ImageError, ImageFacts, check_image
from webagent.trajectory.files.opening import open_inner
from webagent.trajectory.files.trees import Tree, TreeError, given_name, read_file
from webagent.trajectory.intake import NO_NUMBER, NOT_THERE, BoundError, Bounds, Inventory, Problem
from webagent.trajectory.records import BlobRecord, Gap
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import (
    decoded,
    legible,
    storable_json,
    storable_text,
    unstorable_numbers,
)

BLOB_KEY = "$blob"
"""In JSON: `{"$blob": hash}` stands where a picture in base64 was."""
_DATA_URL = "data:image/"
_MAX_SHOWN = 300
_MAX_EXTRA = 500_000
_MAX_SPOILT = 1 << 20


class BlobFiles:
    """Reads a run's files within the bounds and collects blobs, gaps and problems."""

    def __init__(
        self, tree: Tree, path: str, files: Mapping[str, str], bounds: Bounds, format: str
    ) -> None:
        """Files of one run.

        Args:
            path: the run's place in the tree, for reports; empty if the tree is the run.
            files: path as the run knows it -> name in the tree.
        """
        self.tree = tree
        self.files = files
        self.bounds = bounds
        self.format = format
        self.given_name = given_name(tree)
        self.source = f"{tree.label}/{path}".rstrip("/")
        self.redactor = Redactor()
        self.stash = BlobStash()
        self.inventory = Inventory(bounds.problems)
        self.problems: list[Problem] = []
        """What the report alone tells; gaps are told by themselves."""
        self._whole_pictures: dict[str, ImageFacts] = {}
        self.imported: list[str] = []
        """Hashes of the files that were read, but are not kept as blobs."""
        self.dropped: list[Gap] = []
        self.spoilt: list[BlobRecord] = []
        """What is called a picture and is none, kept for whoever can read it."""

    def inside(self, name: str) -> Self:
        """The same run's files in a zip of the tree: one stash, one inventory.

        Raises InputError as `open_inner` does.
        """
        inner = copy(self)
        inner.tree = open_inner(self.tree, name, self.bounds)
        inner.given_name = given_name(inner.tree)
        inner.files = {name: name for name in inner.tree.names}
        return inner

    def note(self, what: str, where: str, why: str) -> None:
        """Say that something was not understood, or that the format does not hold it."""
        self.inventory.note(what, where, why)

    def check_numbers(self, value: Any, where: str) -> None:
        """Say which numbers of a document no record can hold."""
        for place in unstorable_numbers(value):
            self.inventory.miss("value", f"{where}: {place}", NO_NUMBER)

    def drop(self, what: str, where: str, why: str) -> None:
        """Say that something is left out on purpose; nothing is missing for it."""
        if len(self.dropped) < self.bounds.problems:
            self.dropped.append(Gap(what=what, where=where, why=why))

    def read_json(self, path: str) -> Any:
        """The JSON document in a file, secrets and all; None, with a note, if it is none."""
        content = self.read(path, self.bounds.json_bytes)
        if content is None:
            return None
        try:
            value = json.loads(decoded(content))
            self.check_numbers(value, path)
            return storable_json(value, self.bounds.blob_bytes, self.bounds.json_depth)
        except (ValueError, RecursionError) as error:
            self.inventory.miss("file", path, f"not readable as JSON: {error}")
            return None

    def original(self, path: str, value: Any) -> BlobRecord:
        """A source file as it is kept for a better importer: its JSON, without secrets.

        Pictures in base64 are blobs of their own; `value` shall hold none.
        """
        # Keys in their own order: a reader that looks at the head alone finds what it found.
        spelled = json.dumps(value, ensure_ascii=False, indent=1)
        name = path[: self.bounds.path_chars]
        return self.text_blob(spelled, "source", name, "application/json")

    def read(self, path: str, limit: int) -> bytes | None:
        """The bytes of a file; None, with a note, if it cannot be read."""
        content = self._content(path, limit)
        if isinstance(content, str):
            self.inventory.miss("file", path, content)
            return None
        return content

    def _content(self, path: str, limit: int) -> bytes | str:
        """The bytes of a file, or why they cannot be read."""
        try:
            content = read_file(self.tree, self.files[path], limit)
        except (BoundError, TreeError) as error:
            return str(error)
        self.imported.append(hashlib.sha256(content).hexdigest())
        return content

    def read_text(self, path: str) -> str:
        """The text of a file; empty if it is not there."""
        if path not in self.files:
            return ""
        content = self.read(path, self.bounds.json_bytes) or b""
        words, why = legible(content)
        if why:
            self.inventory.miss("encoding", path, why)
        return storable_text(words, len(content) + 1)

    def text_blob(self, text: str, role: str, name: str, media_type: str) -> BlobRecord:
        """A blob of text that exists inside a larger file only."""
        return self.made_blob(text.encode("utf-8", "replace"), role, media_type, name=name)

    def text_file(self, path: str, role: str) -> BlobRecord:
        """A blob of what a text file says, without secrets, under the file's own name."""
        return self.text_blob(self.redactor.text(self.read_text(path)), role, path, "text/plain")

    def json_blob(self, value: Any, role: str, name: str) -> BlobRecord:
        """A blob of JSON, spelled the same way each time."""
        spelled = json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1)
        return self.text_blob(spelled, role, name, "application/json")

    def file_blob(self, path: str, role: str, media_type: str) -> BlobRecord | None:
        """A blob of a whole file, without secrets if it is text.

        None, with a note, if it cannot be read.
        """
        content = self.read(path, self.bounds.of_blob(media_type))
        if content is None:
            return None
        if media_type.startswith("text/") or media_type == "application/json":
            words = content.decode("utf-8", "surrogateescape")
            clean = self.redactor.text(words)
            if clean != words:
                kept = clean.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                return self.text_blob(kept, role, path[: self.bounds.path_chars], media_type)
        return self._kept(path, content, role, media_type)

    def picture(
        self, path: str | None, role: str, *, where: str = "", why: str = NOT_THERE
    ) -> BlobRecord | None:
        """A blob of a picture that the source names; None, with a gap, if it cannot be had.

        Args:
            path: the file; None if none of the upload is the one that is named.
            where: what the source calls it, for one that is not there; the path by default.
            why: there is no such file.
        """
        if path is None or path not in self.files:
            self.inventory.miss(role, where or path or "", why)
            return None
        where = path
        content = self._content(path, self.bounds.image_bytes)
        if isinstance(content, str):
            self.inventory.miss(role, where, content)
            return None
        try:
            facts = self._facts(content)
        except ImageError as error:
            self.inventory.miss(role, where, str(error))
            if len(content) <= _MAX_SPOILT:
                self.spoilt.append(self._kept(path, content, "source", "application/octet-stream"))
            return None
        blob = self._kept(path, content, role, facts.media_type)
        self.inventory.keep(role, where, blob.sha256)
        return blob.model_copy(update={"width": facts.width, "height": facts.height})

    def embedded_picture(self, data_url: str, role: str, where: str) -> BlobRecord | None:
        """A blob of a picture that stands in the text as base64; None, with a gap, if broken."""
        try:
            content = base64.b64decode(data_url.partition("base64,")[2], validate=False)
            blob = self.stashed_picture(content, role)
        except ValueError as error:  # no base64, or no picture
            self.note(role, where, str(error))
            return None
        self.inventory.keep(role, f"{where}: {blob.sha256}", blob.sha256)
        return blob

    def stashed_picture(self, content: bytes, role: str) -> BlobRecord:
        """A blob of a picture that is no file of its own. Raises ImageError."""
        facts = self._facts(content)
        size = {"width": facts.width, "height": facts.height}
        return self.made_blob(content, role, facts.media_type, **size)

    def made_blob(self, content: bytes, role: str, media_type: str, **facts: Any) -> BlobRecord:
        """A blob of bytes that are no file of the upload; what else is known of it as `facts`."""
        sha256, size = self.stash.add_bytes(content), len(content)
        return BlobRecord(sha256=sha256, media_type=media_type, bytes=size, role=role, **facts)

    def _facts(self, content: bytes) -> ImageFacts:
        """Of a picture that is whole; one that comes again is not looked at again."""
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self._whole_pictures:
            self._whole_pictures[sha256] = check_image(content, self.bounds)
        return self._whole_pictures[sha256]

    def without_pictures(self, value: Any, where: str) -> tuple[Any, tuple[BlobRecord, ...]]:
        """JSON with `{"$blob": hash}` in place of base64 pictures, and those pictures."""
        found: dict[str, BlobRecord] = {}

        def strip(item: Any) -> Any:
            if isinstance(item, str) and item.startswith(_DATA_URL):
                blob = self.embedded_picture(item, "messages", where)
                if blob is None:
                    return {BLOB_KEY: None}
                found[blob.sha256] = blob
                return {BLOB_KEY: blob.sha256}
            if isinstance(item, str):
                return storable_text(item, self.bounds.text_chars)
            if isinstance(item, dict):
                return {storable_text(k, _MAX_SHOWN): strip(v) for k, v in item.items()}
            return [strip(i) for i in item] if isinstance(item, list) else item

        return strip(value), tuple(found.values())

    def free_form(self, values: dict[str, Any], where: str) -> dict[str, Any] | None:
        """Free-form values as they may stand in a record; None, with a note, if too large."""
        if not values:
            return None
        try:
            clean, _ = self.without_pictures(values, where)
            clean = storable_json(clean, self.bounds.text_chars, self.bounds.json_depth - 8)
        except ValueError as error:
            self.note("extra", where, str(error))
            return None
        if len(json.dumps(clean)) > _MAX_EXTRA:
            self.note("extra", where, f"more than {_MAX_EXTRA} characters")
            return None
        return dict(clean)

    def _kept(self, path: str, content: bytes, role: str, media_type: str) -> BlobRecord:
        sha256 = self.imported.pop()
        name = self.files[path]
        self.stash.add_reader(sha256, partial(read_file, self.tree, name, max(len(content), 1)))
        return BlobRecord(
            sha256=sha256,
            media_type=media_type,
            bytes=len(content),
            role=role,
            name=storable_text(path, self.bounds.path_chars),
        )
