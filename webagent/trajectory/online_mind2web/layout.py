"""Which files are results, and which pictures, labels and judges' outputs are theirs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from webagent.trajectory.recognition import outline
from webagent.trajectory.trees import Tree

V1, V2 = "v1", "v2"
SCHEMA = "online-mind2web"
LABEL_KEY = "human_label"

_PICTURE = re.compile(r"\.(?:png|jpe?g|webp)$", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")
_FREE_KEYS = ("thoughts", "final_result_response", "input_image_paths", "agent_final_answer")


@dataclass(frozen=True)
class Result:
    """One result file, and what belongs to it, as names in the tree."""

    name: str
    version: str
    pictures: tuple[str, ...] = ()
    labels: str | None = None
    """The label file nearest above it."""
    judgements: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """With `/` at the end; empty for the tree itself."""
        return _folder(self.name)


@dataclass(frozen=True)
class Layout:
    """What of the benchmark is in a tree."""

    results: tuple[Result, ...] = ()
    beside: frozenset[str] = field(default_factory=frozenset)


def find_layout(tree: Tree) -> Layout:
    """Every result with its pictures, and the labels and judges' outputs above it."""
    results: dict[str, str] = {}
    labels: list[str] = []
    judgements: list[str] = []
    for name in tree.names:
        if not name.endswith((".json", ".jsonl")):
            continue
        seen = outline(tree, name)
        if seen.has("task_id", "predicted_label") or seen.has("task_id", "evaluation_details"):
            judgements.append(name)
        elif seen.kind == "array" and any(key.endswith(LABEL_KEY) for key in seen.keys):
            labels.append(name)
        elif seen.kind == "object" and seen.has("task_id", "action_history"):
            if seen.texts.get("schema_version", "").startswith(SCHEMA):
                results[name] = V2
            elif any(key in seen.keys for key in _FREE_KEYS):
                results[name] = V1
    if not results:
        return Layout()
    pictures = _by_folder(tree)
    alone = Counter(_folder(name) for name in results)
    found = tuple(
        Result(
            name=name,
            version=version,
            pictures=_pictures(_folder(name), pictures, alone=alone[_folder(name)] == 1),
            labels=_nearest(name, labels),
            judgements=tuple(n for n in judgements if _is_above(n, name)),
        )
        for name, version in results.items()
    )
    beside = {picture for result in found for picture in result.pictures}
    return Layout(found, frozenset((*beside, *labels, *judgements)))


def number_in(name: str) -> int | None:
    """The first whole number in a file's name: by it the first version orders its pictures."""
    match = _NUMBER.search(name.rpartition("/")[2])
    return int(match[0]) if match else None


def _folder(name: str) -> str:
    """With `/` at the end; empty for the tree itself."""
    folder, slash, _ = name.rpartition("/")
    return folder + slash


def _by_folder(tree: Tree) -> dict[str, list[str]]:
    """Every picture by the folder that it lies in."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in tree.names:
        if _PICTURE.search(name):
            found[_folder(name)].append(name)
    return found


def _pictures(folder: str, pictures: dict[str, list[str]], *, alone: bool) -> tuple[str, ...]:
    """Of the folder `trajectory` beside the result; or else of its own, if no other shares it."""
    inside = pictures.get(f"{folder}trajectory/", [])
    return tuple(inside or (pictures.get(folder, []) if alone else []))


def _is_above(name: str, other: str) -> bool:
    return other.startswith(_folder(name))


def _nearest(name: str, labels: list[str]) -> str | None:
    above = [label for label in labels if _is_above(label, name)]
    return max(above, key=lambda label: label.count("/"), default=None)
