"""The JSON Schema of the native format, from the records themselves.

`python -m webagent.trajectory.native.schema > docs/schema/native-1.json` writes it anew.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from webagent.trajectory.native.manifest import (
    ADJUDICATIONS,
    EVALUATIONS,
    HINTS,
    LABELS,
    MANIFEST,
    N_STEPS,
    RUNS,
    STEPS,
    TASKS,
    Manifest,
)
from webagent.trajectory.records import (
    FORMAT_NAME,
    FORMAT_VERSION,
    AdjudicationRecord,
    EvaluationRecord,
    HintRecord,
    LabelRecord,
    RunRecord,
    StepRecord,
    TaskRecord,
)

_OBJECTS: dict[str, type[BaseModel]] = {
    MANIFEST: Manifest,
    TASKS: TaskRecord,
    RUNS: RunRecord,
    STEPS: StepRecord,
    EVALUATIONS: EvaluationRecord,
    LABELS: LabelRecord,
    ADJUDICATIONS: AdjudicationRecord,
    HINTS: HintRecord,
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
