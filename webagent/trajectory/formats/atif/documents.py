"""Where ATIF documents lie, and which files their pictures may be."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.assembling import RunFiles
from webagent.trajectory.files.originals import take_blobs, without_missing
from webagent.trajectory.files.recognition import outline
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.records import (
    BlobRecord,
    Record,
    RunRecord,
    StepRecord,
    TaskRecord,
)
from webagent.trajectory.values import items, mapping, text
from webagent.trajectory.verdict_records import SAID

SCHEMA = "ATIF"
EXTRA_KEY = "crosscheck"
"""Under this key of `extra` our own exports keep what ATIF has no place for."""
FILES_KEY = "files"


@dataclass(frozen=True, slots=True)
class Document:
    """One trajectory document of the tree."""

    name: str
    alone: bool = True
    """Whether its folder holds no other document."""

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def place(self) -> str:
        """What people would call it: its folder where that holds nothing else of the kind."""
        return self.folder if self.folder and self.alone else self.name


def find_documents(tree: Tree) -> list[Document]:
    """Every JSON file whose `schema_version` is ATIF's."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in tree.names:
        if not name.endswith(".json"):
            continue
        head = outline(tree, name)
        if head.kind == "object" and head.texts.get("schema_version", "").startswith(SCHEMA):
            found[name.rpartition("/")[0]].append(name)
    return [Document(name, len(names) == 1) for names in found.values() for name in names]


def file_beside(tree: Tree, document: Document, path: str | None) -> str | None:
    """The file that a document's relative path names, if it lies in the document's folder."""
    if not path or "://" in path or path.startswith("/") or "\\" in path:
        return None
    inside = posixpath.normpath(path)
    if inside.startswith("../") or inside == "..":
        return None
    name = f"{document.folder}/{inside}".lstrip("/")
    return name if name in tree else None


def named_paths(value: dict[str, Any]) -> list[str]:
    """Every file that a trajectory's messages and observations name, each once, in order."""
    paths: dict[str, None] = {}
    for step in map(mapping, items(value.get("steps"))):
        contents = [step.get("message")]
        results = items(mapping(step.get("observation")).get("results"))
        contents += [mapping(result).get("content") for result in results]
        for content in contents:
            for part in map(mapping, items(content)):
                if path := text(mapping(part.get("source")).get("path")):
                    paths.setdefault(path)
    for path in mapping(
        mapping(mapping(value.get("extra")).get(EXTRA_KEY)).get(FILES_KEY)
    ).values():
        if isinstance(path, str):
            paths.setdefault(path)
    return list(paths)


VERSION = 1
R = TypeVar("R", bound=Record)


def restored(tree: Tree, files: RunFiles, value: dict[str, Any], path: str) -> RunBundle | None:
    """The run as it was exported, with a new source; None if the document is not one of ours."""
    own = mapping(mapping(value.get("extra")).get(EXTRA_KEY))
    if own.get("version") != VERSION:
        return None
    turns = [mapping(mapping(turn).get("extra")) for turn in items(value.get("steps"))]
    kept = [turn[EXTRA_KEY] for turn in turns if EXTRA_KEY in turn]
    try:
        bundle = RunBundle(
            source=files.source,
            task=TaskRecord.model_validate(own.get("task")),
            run=RunRecord.model_validate(own.get("run")),
            steps=_all(StepRecord, kept),
            blobs=files.stash,
            **{name: _all(kind, own.get(name)) for name, kind in SAID.items()},
        )
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        files.note("extra", f"extra.{EXTRA_KEY}", f"{detail['loc']}: {detail['msg']}")
        return None
    paths = mapping(own.get(FILES_KEY))

    absent = "not in the document's folder"

    def name_of(blob: BlobRecord) -> tuple[str | None, str]:
        named = text(paths.get(blob.sha256)) or blob.sha256
        return files.files.get(named), named

    missing = take_blobs(bundle, files.stash, tree, files.bounds, name_of, absent)
    whole = without_missing(bundle, missing, files.inventory)
    source = files.source_record(path, format_version=text(value.get("schema_version")))
    return replace(whole, run=whole.run.model_copy(update={"source": source}))


def _all(kind: type[R], values: Any) -> Any:
    return tuple(kind.model_validate(value) for value in items(values))
