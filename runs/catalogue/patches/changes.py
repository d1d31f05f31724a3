"""Changes of one task's content: applied, and taken back. Pure.

A task's content is a JSON object with the keys of `FIELDS`. Changes name places in it by JSON
pointers (RFC 6901), such as `/spec/reference_answers/must_include/0`.
"""

import copy
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictStr,
    StringConstraints,
    ValidationError,
)

from webagent.trajectory.values import first_field_error


class _Content(BaseModel):
    """What a task may hold: the types of its columns."""

    model_config = ConfigDict(extra="forbid")

    goal: StrictStr
    sites: list[StrictStr]
    start_urls: list[StrictStr]
    spec: Any
    reference: Any
    infeasible_reason: StrictStr


FIELDS = tuple(_Content.model_fields)

Content = dict[str, Any]
Pointer = Annotated[
    str, StringConstraints(pattern=rf"^/({'|'.join(FIELDS)})(/[^/]*)*$", max_length=500)
]
Guard = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Words = Annotated[str, StringConstraints(min_length=1)]


class ChangeError(ValueError):
    """The content is not the one that the change was made for."""


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    path: Pointer


class Append(_Change):
    """More words after a text. `guard` is the `text_guard` of the text as it was before."""

    op: Literal["append"]
    guard: Guard
    text: Words


class Substitute(_Change):
    """Other words for some that stand in a text exactly once. `guard` as for `append`."""

    op: Literal["substitute"]
    guard: Guard
    old: Words = Field(alias="from")
    new: str = Field(alias="to")


class Replace(_Change):
    """Another value in the place of one; the old value is its own guard."""

    op: Literal["replace"]
    old: JsonValue = Field(alias="from")
    new: JsonValue = Field(alias="to")


Change = Annotated[Append | Substitute | Replace, Field(discriminator="op")]


def text_guard(text: str) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def content_bytes(content: Content) -> bytes:
    """The one spelling of a content, for comparing."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()


def checked_content(content: Content) -> Content:
    """The content, if it is still one that a task can have."""
    try:
        _Content.model_validate(content)
    except ValidationError as error:
        field, reason = first_field_error(error)
        place = field.replace(".", "/")
        raise ChangeError(f"/{place}: would no longer fit: {reason}") from error
    return content


def apply_changes(content: Content, changes: Sequence[Change]) -> Content:
    """A copy of the content with the changes made, in order.

    Raises:
        ChangeError: a place is missing or holds something else, nothing would change, or the
            changes could not be taken back.
    """
    changed = copy.deepcopy(content)
    for change in changes:
        _put(changed, change.path, _after(change, value_at(changed, change.path)))
    if content_bytes(take_back_changes(changed, changes)) != content_bytes(content):
        paths = ", ".join(dict.fromkeys(change.path for change in changes))
        raise ChangeError(f"{paths}: the changes cannot be taken back")
    return changed


def take_back_changes(content: Content, changes: Sequence[Change]) -> Content:
    """A copy of the content as it was before the changes.

    Raises:
        ChangeError: the content is not what the changes make.
    """
    restored = copy.deepcopy(content)
    for change in reversed(changes):
        _put(restored, change.path, _before(change, value_at(restored, change.path)))
    return restored


def value_at(content: Content, path: str) -> Any:
    """What stands at this place. Raises ChangeError where there is no such place."""
    value: Any = content
    for step in _steps(path):
        value = value[_key(value, step, path)]
    return value


def _after(change: Change, value: Any) -> Any:
    if isinstance(change, Replace):
        if not _same(value, change.old):
            raise ChangeError(f"{change.path}: holds another value than this patch was made for")
        if _same(change.old, change.new):
            raise ChangeError(f"{change.path}: the new value is the old one")
        return copy.deepcopy(change.new)
    text = _text(change, value)
    if text_guard(text) != change.guard:
        raise ChangeError(f"{change.path}: holds another text than this patch was made for")
    if isinstance(change, Append):
        return text + change.text
    if text.count(change.old) != 1 or change.old == change.new:
        raise ChangeError(f"{change.path}: {change.old!r} must stand there once and be changed")
    return text.replace(change.old, change.new)


def _before(change: Change, value: Any) -> Any:
    if isinstance(change, Replace):
        if not _same(value, change.new):
            raise ChangeError(f"{change.path}: holds another value than this patch put there")
        return copy.deepcopy(change.old)
    text = _text(change, value)
    for candidate in _candidates(change, text):
        if text_guard(candidate) == change.guard:
            return candidate
    raise ChangeError(f"{change.path}: holds another text than this patch put there")


def _candidates(change: Append | Substitute, text: str) -> Iterable[str]:
    """What the text may have been before; the guard tells which it was."""
    if isinstance(change, Append):
        if text.endswith(change.text):
            yield text.removesuffix(change.text)
        return
    at = text.find(change.new)
    while at >= 0:
        yield text[:at] + change.old + text[at + len(change.new) :]
        at = text.find(change.new, at + 1) if at < len(text) else -1


def _text(change: Change, value: Any) -> str:
    if not isinstance(value, str):
        raise ChangeError(f"{change.path}: holds no text")
    return value


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1, and 1.0 not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _put(content: Content, path: str, new: Any) -> None:
    *way, last = _steps(path)
    holder: Any = content
    for step in way:
        holder = holder[_key(holder, step, path)]
    holder[_key(holder, last, path)] = new


def _key(holder: Any, step: str, path: str) -> Any:
    if isinstance(holder, dict) and step in holder:
        return step
    if isinstance(holder, list) and step.isdecimal() and step.isascii() and len(step) < 10:
        index = int(step)
        if index < len(holder) and str(index) == step:
            return index
    raise ChangeError(f"{path}: there is nothing at this place")


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
