"""Where task patches lie, and how one is written for people to read and edit."""

import json
from pathlib import Path
from typing import Any

from runs.catalogue.patches.changes import PatchEntry, TaskPatch

SHIPPED = Path(__file__).parent
"""Patches that come with Crosscheck; named without folder and ending."""


def patch_path(file: str) -> Path:
    """The file of that name, or the one that comes with Crosscheck under it."""
    shipped = SHIPPED / f"{file}.json"
    is_name = "/" not in file and not Path(file).exists()
    return shipped if is_name and shipped.is_file() else Path(file)


def patch_text(patch: TaskPatch) -> str:
    """The file's text: a few lines an entry, so that a change to one is a small difference."""
    said = {"format": patch.format, "format_version": patch.format_version}
    head = json.dumps(patch.head.model_dump(), ensure_ascii=False, indent=2)
    lines = ["{", *(f" {_json(key)}: {_json(value)}," for key, value in said.items())]
    lines += [f' "head": {head},', ' "entries": [']
    return "\n".join([*lines, ",\n".join(map(_entry, patch.entries)), " ]", "}", ""])


def _entry(entry: PatchEntry) -> str:
    changes = ",\n    ".join(
        _json(change.model_dump(mode="json", by_alias=True)) for change in entry.changes
    )
    return (
        f'  {{"task": {_json(entry.task)}, "category": {_json(str(entry.category))},\n'
        f'   "why": {_json(entry.why)},\n   "changes": [{changes}]}}'
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
