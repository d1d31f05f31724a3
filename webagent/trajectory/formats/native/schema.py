"""What stands in the native format: its files, and what a blind export leaves out of the records.

Their JSON Schema comes from the records themselves:
`python -m webagent.trajectory.formats.native.schema > docs/schema/native-1.json` writes it anew.
"""

import json
import sys
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.records import (
    FORMAT_NAME,
    FORMAT_VERSION,
    AgentRecord,
    BlobRecord,
    EndReason,
    Outcome,
    Record,
    RunRecord,
    Sha256,
    SourceRecord,
    StepRecord,
    TaskRecord,
    Totals,
)
from webagent.trajectory.values import Moment
from webagent.trajectory.verdict_records import SAID

R = TypeVar("R", bound=Record)

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


_HIDDEN_NAME = "hidden"
_TASK = {
    "eval": None,
    "reference": None,
    "reference_length": None,
    "infeasible_reason": None,
    "milestones": None,
}
_RUN = {
    "outcome": Outcome.UNKNOWN,
    "end_reason": EndReason.UNKNOWN,
    "reward": None,
    "claimed_success": None,
    "evidence": None,
    "logs": (),
    "artefacts": (),
}
_SAID: dict[str, Any] = dict.fromkeys(SAID, ())
_STEP = {"reward": None, "terminated": None, "truncated": None, "metrics": None, "events": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blinding:
    """Strips references, verdicts and rewards from runs, and names if `hide_agent`.

    Only fields whose meaning is known stay: unknown keys and free-form extras go, because
    nobody can say what they give away. So do logs and artefacts, which hold rewards.
    """

    hide_agent: bool = False

    def apply(self, bundle: RunBundle) -> RunBundle:
        """The same run as somebody may see it who is still to judge it."""
        return replace(
            bundle,
            task=self._known(bundle.task).model_copy(update=_TASK),
            run=self._run(bundle.run),
            steps=tuple(self._step(step) for step in bundle.steps),
            problems=(),
            **_SAID,
        )

    def _run(self, run: RunRecord) -> RunRecord:
        changes: dict[str, Any] = {
            **_RUN,
            "source": SourceRecord(format=run.source.format),
            "agent": AgentRecord(name=run.agent.name, version=run.agent.version),
            "events": tuple(event.model_copy(update={"detail": None}) for event in run.events),
        }
        if run.error:
            changes["error"] = run.error.model_copy(update={"stack": None})
        if self.hide_agent:
            changes |= {
                "agent": AgentRecord(name=_HIDDEN_NAME),
                "models": (),
                "experiment": None,
                "totals": Totals(),
                "environment": None,
                "error": None,
            }
            if run.stub:
                nobody = {"agent": _HIDDEN_NAME, "agent_version": None, "model": None}
                changes["stub"] = run.stub.model_copy(update=nobody)
        return self._known(run.model_copy(update=changes))

    def _step(self, step: StepRecord) -> StepRecord:
        changes: dict[str, Any] = dict(_STEP)
        if self.hide_agent:
            changes |= {"llm_calls": (), "messages": ()}
        return self._known(step.model_copy(update=changes))

    def _known(self, record: R) -> R:
        return _known(record, hide_names=self.hide_agent)


def without_answers(task: TaskRecord) -> TaskRecord:
    """The task without what tells how to succeed at it."""
    return _known(task).model_copy(update=_TASK)


def _known(record: R, *, hide_names: bool = False) -> R:
    """The record, and all records inside, with the fields of the format only."""
    known: R = _strip(record, hide_names)
    return known


def _strip(value: Any, hide_names: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_strip(item, hide_names) for item in value)
    if not isinstance(value, Record):
        return value
    fields = {name: _strip(getattr(value, name), hide_names) for name in type(value).model_fields}
    if "extra" in fields:
        fields["extra"] = None
    if isinstance(value, BlobRecord) and hide_names:
        fields["name"] = None
    return type(value).model_construct(**fields)


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
