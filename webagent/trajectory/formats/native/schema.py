"""The JSON Schema of the native format, from the records themselves.

`python -m webagent.trajectory.formats.native.schema > docs/schema/native-1.json` writes it anew.
"""

import json
import sys
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from webagent.trajectory.records import (
    FORMAT_NAME,
    FORMAT_VERSION,
    Record,
    RunRecord,
    Sha256,
    StepRecord,
    TaskRecord,
)
from webagent.trajectory.values import Moment
from webagent.trajectory.verdict_records import SAID

MANIFEST = "manifest.json"
TASKS = "tasks.jsonl"
RUNS = "runs.jsonl"
STEPS = "steps.jsonl"
SAID_FILES = {f"{name}.jsonl": name for name in SAID}
"""File -> what a bundle calls its records."""
LINE_FILES = (TASKS, RUNS, STEPS, *SAID_FILES)
BLOBS = "blobs"
N_STEPS = "n_steps"
"""Key of a line in `runs.jsonl` that no run record has: how many steps belong to it."""

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
    "text/plain": "txt",
    "text/html": "html",
    "application/json": "json",
    "video/webm": "webm",
    "video/mp4": "mp4",
}


class Producer(Record):
    name: str
    version: str


class LineFile(Record):
    """One JSON Lines file: how many lines and bytes, and the hash of all of it."""

    count: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: Sha256


class BlobSums(Record):
    count: int = Field(ge=0)
    bytes: int = Field(ge=0)


class Manifest(Record):
    """`manifest.json`. `created` is left out where the same content shall give the same bytes."""

    format: str = FORMAT_NAME
    version: int = FORMAT_VERSION
    producer: Producer
    created: Moment | None = None
    blind: bool = False
    files: dict[str, LineFile] = {}
    blobs: BlobSums = BlobSums(count=0, bytes=0)


def blob_name(sha256: str, media_type: str) -> str:
    """Where a blob lies inside the file: `blobs/ab/abcdef….png`."""
    extension = EXTENSIONS.get(media_type, "bin")
    return f"{BLOBS}/{sha256[:2]}/{sha256}.{extension}"


_OBJECTS: dict[str, type[BaseModel]] = {
    MANIFEST: Manifest,
    TASKS: TaskRecord,
    RUNS: RunRecord,
    STEPS: StepRecord,
    **{file: SAID[name] for file, name in SAID_FILES.items()},
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def native_schema() -> dict[str, Any]:
    """A schema whose `properties` name the files: each is one object, or one line of it."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "validation") for model in _OBJECTS.values()
    ]
    _, definitions = models_json_schema(models, ref_template="#/$defs/{model}")
    schemas: dict[str, Any] = definitions["$defs"]
    schemas[RunRecord.__name__]["properties"][N_STEPS] = {
        "description": "How many lines of steps.jsonl belong to this run.",
        "minimum": 0,
        "title": "N Steps",
        "type": "integer",
    }
    return {
        "$schema": _DIALECT,
        "title": f"{FORMAT_NAME} {FORMAT_VERSION}",
        "description": "Each property is a file: an object (.json), or one line of it (.jsonl).",
        "type": "object",
        "properties": {
            name: {"$ref": f"#/$defs/{model.__name__}"} for name, model in _OBJECTS.items()
        },
        "$defs": schemas,
    }


def native_schema_text() -> str:
    """The schema as it stands in `docs/schema/native-1.json`."""
    return json.dumps(native_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(native_schema_text())
