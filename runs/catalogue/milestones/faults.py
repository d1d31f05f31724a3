"""What is wrong with a file of milestones: in which task, milestone and field, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.utils.translation import gettext as _
from pydantic import ValidationError
from pydantic_core import ErrorDetails

Place = tuple[int | str, ...]
LONGEST_NAME = 60


def first_fault(error: ValidationError, content: bytes) -> str:
    """The place of the first fault as a person counts, and what is wrong there."""
    fault = error.errors(include_url=False)[0]
    place = _place(fault["loc"], content)
    return f"{place}: {_reason(fault)}" if place else _reason(fault)


def _place(path: Place, content: bytes) -> str:
    """Such as `task 7, milestone 2 “The cart is open”, weight`; empty for the file as a whole."""
    if path[:1] != ("tasks",) or len(path) < 2:
        return ".".join(map(str, path))
    words = [_entry(_("task"), path[:2], "task", content)]
    rest = path[2:]
    if rest[:1] == ("milestones",) and len(rest) > 1:
        words.append(_entry(_("milestone"), path[:4], "name", content))
        rest = rest[2:]
    if rest:
        words.append(".".join(str(part) for part in rest))
    return ", ".join(words)


def _entry(kind: str, path: Place, key: str, content: bytes) -> str:
    """An entry of a list by its number, counted from 1, and its name where it has one."""
    number = f"{kind} {int(path[-1]) + 1}"
    name = _found(content, (*path, key))
    if not isinstance(name, str) or not name.strip():
        return number
    return f"{number} “{name[:LONGEST_NAME]}”"


def _found(content: bytes, path: Place) -> object:
    """What stands at that place of the file; None where nothing does."""
    found: Any = json.loads(content)
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return cast("object", found)


def _reason(fault: ErrorDetails) -> str:
    context: Mapping[str, Any] = fault.get("ctx", {})
    words = _REASONS.get(fault["type"])
    return words(context) if words else str(fault["msg"])


_REASONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json_invalid": lambda said: _("This is no JSON: %(why)s.") % {"why": said["error"]},
    "model_type": lambda _said: _("Here must stand a JSON object."),
    "tuple_type": lambda _said: _("Here must stand a list."),
    "missing": lambda _said: _("This is missing."),
    "extra_forbidden": lambda _said: _("There is no field of this name."),
    "literal_error": lambda said: _("This must be %(expected)s.") % {"expected": said["expected"]},
    "union_tag_invalid": lambda said: (
        _("There is no check “%(tag)s”; there are %(expected)s.")
        % {"tag": said["tag"], "expected": said["expected_tags"]}
    ),
    "union_tag_not_found": lambda _said: _("Say with “kind” which check it is."),
    "float_type": lambda _said: _("This must be a number."),
    "float_parsing": lambda _said: _("This must be a number."),
    "finite_number": lambda _said: _("This must be a number."),
    "bool_type": lambda _said: _("This must be true or false."),
    "bool_parsing": lambda _said: _("This must be true or false."),
    "string_type": lambda _said: _("This must be a text."),
    "string_too_short": lambda _said: _("This must not be empty."),
    "string_too_long": lambda said: (
        _("This is longer than %(most)s characters.") % {"most": said["max_length"]}
    ),
    "too_long": lambda said: _("There are more than %(most)s.") % {"most": said["max_length"]},
    "greater_than": lambda said: _("This must be above %(limit)s.") % {"limit": f"{said['gt']:g}"},
    "less_than_equal": lambda said: (
        _("This must be at most %(limit)s.") % {"limit": f"{said['le']:g}"}
    ),
    "value_error": lambda said: str(said["error"]),
}
