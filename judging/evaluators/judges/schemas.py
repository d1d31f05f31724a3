"""JSON schemas in the narrow form that providers hold their models to: all members required."""

from __future__ import annotations

from collections.abc import Mapping

Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
INTEGERS: Schema = {"type": "array", "items": INTEGER}


def one_of(*values: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def record(**members: Schema) -> Schema:
    """An object with exactly these members, in this order."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def rows(**members: Schema) -> Schema:
    """A list of such objects."""
    return {"type": "array", "items": record(**members)}
