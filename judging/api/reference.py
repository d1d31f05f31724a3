"""The description of the API made ready for a page, from the OpenAPI document itself."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.api.urls import api
from runs.interface.requests import AppRequest

Schema = Mapping[str, Any]
DEEPEST = 3
"""Objects within objects that are spelled out."""


class FieldRow(NamedTuple):
    """A parameter or a field: its dotted name, what it may be, and what it means."""

    name: str
    kind: str
    is_required: bool
    description: str


def operations_by_subject(document: Schema) -> list[tuple[str, list[dict[str, Any]]]]:
    """All operations by their subject, in the order in which they are described."""
    subjects: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            shown = _operation(document, path, method, details)
            subjects[(details.get("tags") or ["other"])[0]].append(shown)
    return list(subjects.items())


def _operation(document: Schema, path: str, method: str, details: Schema) -> dict[str, Any]:
    """One operation as the page shows it."""
    answers = sorted(details["responses"].items(), key=lambda item: str(item[0]))
    success: Schema = next((each for status, each in answers if str(status)[0] == "2"), {})
    return {
        "key": details["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": details["summary"],
        "description": details.get("description", ""),
        "scope": details.get("x-scope", ""),
        "permissions": details.get("x-permissions", []),
        "parameters": [_parameter(document, each) for each in details["parameters"]],
        "body": list(_content(document, details.get("requestBody", {}))),
        "answer": list(_content(document, success)),
        "answers": [
            {
                "status": status,
                "words": each.get("description", ""),
                "is_error": not str(status).startswith("2"),
            }
            for status, each in answers
        ],
    }


def _parameter(document: Schema, given: Schema) -> FieldRow:
    name = given["name"] if given["in"] == "query" else f"{given['name']} ({given['in']})"
    kind = _kind(document, given["schema"])
    return FieldRow(name, kind, given.get("required", False), given.get("description", ""))


def _content(document: Schema, given: Schema) -> Iterator[FieldRow]:
    for media_type, content in given.get("content", {}).items():
        schema = content.get("schema")
        if media_type == "application/json" and schema:
            yield from _fields(document, schema)


def _fields(
    document: Schema, schema: Schema, prefix: str = "", depth: int = 0
) -> Iterator[FieldRow]:
    resolved = _resolved(document, schema)
    required = resolved.get("required", [])
    for name, inner in resolved.get("properties", {}).items():
        yield FieldRow(
            f"{prefix}{name}",
            _kind(document, inner),
            name in required,
            inner.get("description", ""),
        )
        nested = _nested(document, inner)
        if nested is not None and depth < DEEPEST:
            yield from _fields(document, nested, f"{prefix}{name}.", depth + 1)


def _nested(document: Schema, schema: Schema) -> Schema | None:
    """The object that a value, or each of its elements, is."""
    for each in (schema, *schema.get("anyOf", [])):
        resolved = _resolved(document, each)
        if resolved.get("type") == "array":
            resolved = _resolved(document, resolved.get("items", {}))
        if "properties" in resolved:
            return resolved
    return None


def _resolved(document: Schema, schema: Schema) -> Schema:
    reference = schema.get("$ref")
    if not reference:
        return schema
    found: Schema = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    return found


def _kind(document: Schema, schema: Schema) -> str:
    """What a value may be, in a few words."""
    schema = _resolved(document, schema)
    if choices := schema.get("enum"):
        return " | ".join(map(str, choices))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_kind(document, each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"{_kind(document, schema.get('items', {}))}[]"
    return str(schema.get("format") or schema.get("type", "any"))


@require_safe
def api_reference(request: AppRequest) -> HttpResponse:
    """Every operation, made of the description that programs read."""
    subjects = operations_by_subject(api.get_openapi_schema())
    return render(request, "judging/api/api_reference.html", {"subjects": subjects})
