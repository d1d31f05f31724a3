"""What a native file says about itself."""

from __future__ import annotations

from pydantic import Field

from webagent.trajectory.moments import Moment
from webagent.trajectory.records import FORMAT_NAME, FORMAT_VERSION, Record, Sha256

MANIFEST = "manifest.json"
TASKS = "tasks.jsonl"
RUNS = "runs.jsonl"
STEPS = "steps.jsonl"
EVALUATIONS = "evaluations.jsonl"
LABELS = "labels.jsonl"
ADJUDICATIONS = "adjudications.jsonl"
HINTS = "hints.jsonl"
LINE_FILES = (TASKS, RUNS, STEPS, EVALUATIONS, LABELS, ADJUDICATIONS, HINTS)
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
