"""Where ATIF documents lie, and which files their pictures may be."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.outlines import outline
from webagent.trajectory.trees import Tree
from webagent.trajectory.untyped import items, mapping, text

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
