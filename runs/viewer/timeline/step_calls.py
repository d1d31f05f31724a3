"""What a step asked of models and what they replied, made ready to be read.

A prompt may come from an import and may hold anything: everything here is text, and pictures are
named by hash, only where the run itself holds them.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import ValidationError

from runs.models import Attachment, Blob, Run, Step
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.trajectory.records import LlmCall

MAX_BYTES = 4 * 2**20
"""Larger files are not laid out; they can be opened by themselves."""
MAX_CHARS = 200_000
SHORT = 1500
"""Texts of up to so many characters stand open."""
ROLES = ("request", "response", "messages")


class MessagePart(NamedTuple):
    """A piece of a message: a text, or a picture by its hash, empty if the run has it not."""

    text: str = ""
    is_picture: bool = False
    picture: str = ""

    @property
    def is_short(self) -> bool:
        return len(self.text) <= SHORT


class PromptMessage(NamedTuple):
    """One message of a prompt."""

    role: str
    parts: list[MessagePart]

    @property
    def chars(self) -> int:
        return sum(len(part.text) for part in self.parts)

    @property
    def is_short(self) -> bool:
        return self.chars <= SHORT

    @property
    def begins(self) -> str:
        """Its first words, to tell it from others while it is closed."""
        text = next((part.text for part in self.parts if part.text.strip()), "")
        return " ".join(text[:400].split())[:120]


class Call(NamedTuple):
    """One question to a model. `repeated` of the first messages were those of the call before.

    `reply` is what the model
    said, None where there is none; `raw` the whole record of it.
    """

    number: int
    facts: LlmCall
    repeated: int
    messages: list[PromptMessage]
    schema: str
    reply: str | None
    raw: str
    files: list[Attachment]


def step_calls(step: Step, run: Run) -> dict[str, Any]:
    """The calls of a step in order; a constant number of queries.

    `messages` is for runs whose tool kept the messages of a step without telling calls apart.
    """
    files = run.attachments.filter(step_index=step.index, role__in=ROLES).select_related("blob")
    kept = {file.blob_id: file for file in files.order_by("id")}
    calls: list[Call] = []
    before: list[PromptMessage] = []
    for number, facts in enumerate(_recorded_calls(step)):
        call, before = _call(number, facts, kept, before)
        calls.append(call)
    message_files = [file for file in kept.values() if file.role == "messages"]
    messages = [message for file in message_files for message in _messages(_json(file.blob))]
    known = _known_pictures(step, run, [*messages, *(m for call in calls for m in call.messages)])
    return {
        "step": step,
        "calls": [call._replace(messages=_only_known(call.messages, known)) for call in calls],
        "messages": _only_known(messages, known),
    }


def _recorded_calls(step: Step) -> list[LlmCall]:
    calls = step.record.get("llm_calls")
    found = []
    for call in calls if isinstance(calls, list) else []:
        with suppress(ValidationError):
            found.append(LlmCall.model_validate(call))
    return found


def _call(
    number: int, facts: LlmCall, kept: Mapping[str, Attachment], before: list[PromptMessage]
) -> tuple[Call, list[PromptMessage]]:
    """The call, and all messages of its prompt for the next one to be told apart from."""
    asked, answered = (
        kept.get(blob.sha256) if blob else None for blob in (facts.request, facts.response)
    )
    request, response = (_json(file.blob) if file else None for file in (asked, answered))
    messages = _messages(request)
    repeated = _same_at_first(before, messages)
    schema = request.get("schema") if isinstance(request, dict) else None
    said = response.get("text") if isinstance(response, dict) else None
    raw = "" if response is None else json.dumps(response, ensure_ascii=False, indent=1)
    call = Call(
        number=number + 1,
        facts=facts,
        repeated=repeated,
        messages=messages[repeated:],
        schema="" if schema is None else json.dumps(schema, ensure_ascii=False, indent=1),
        reply=said[:MAX_CHARS] if isinstance(said, str) else None,
        raw=raw[:MAX_CHARS],
        files=[file for file in (asked, answered) if file],
    )
    return call, messages


def _same_at_first(before: list[PromptMessage], now: list[PromptMessage]) -> int:
    same = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        same += 1
    return same


def _json(blob: Blob) -> Any:
    """The content of the file; its text where it is no JSON, None where it cannot be read."""
    if blob.size > MAX_BYTES or blob.media_type.startswith("image/"):
        return None
    try:
        text = read_blob(blob).decode("utf-8", "replace")
    except MissingBlobError:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _messages(value: Any) -> list[PromptMessage]:
    """The messages of a prompt: in our own form, as lists of providers', or as a mere text."""
    if isinstance(value, str):
        return [PromptMessage("", [MessagePart(value[:MAX_CHARS])])]
    if isinstance(value, dict):
        system = value.get("system")
        first = [PromptMessage("system", _parts(system))] if system else []
        return first + _messages(value.get("messages") or [])
    if not isinstance(value, list):
        return []
    return [
        PromptMessage(str(item.get("role", "")), _parts(item.get("parts", item.get("content"))))
        if isinstance(item, dict)
        else PromptMessage("", _parts(item))
        for item in value
    ]


def _parts(value: Any) -> list[MessagePart]:
    if isinstance(value, list):
        return [part for item in value for part in _parts(item)]
    if isinstance(value, dict):
        if sha256 := _picture(value):
            return [MessagePart(is_picture=True, picture=sha256)]
        text = value.get("text")
        if not isinstance(text, str):
            text = json.dumps(value, ensure_ascii=False)
        return [MessagePart(text[:MAX_CHARS])]
    return [] if value is None else [MessagePart(str(value)[:MAX_CHARS])]


def _picture(part: Mapping[str, Any]) -> str:
    """The hash that stands for a picture: ours, or the one that an import put in its place."""
    if isinstance(sha256 := part.get("image_sha256"), str):
        return sha256
    inner: Any = part
    for key in ("image_url", "url", "source", "data"):
        inner = inner.get(key, inner) if isinstance(inner, dict) else inner
    found = inner.get("$blob") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else ""


def _known_pictures(step: Step, run: Run, messages: Iterable[PromptMessage]) -> set[str]:
    """Those of the pictures in the messages that this run holds."""
    named = {part.picture for message in messages for part in message.parts if part.is_picture}
    of_step = {step.screenshot_id, step.marked_screenshot_id, step.after_screenshot_id}
    attached = run.attachments.filter(blob_id__in=named).values_list("blob_id", flat=True)
    return named & {*of_step, *attached} - {None}


def _only_known(messages: Iterable[PromptMessage], known: set[str]) -> list[PromptMessage]:
    return [
        PromptMessage(
            message.role,
            [
                part if part.picture in known else part._replace(picture="")
                for part in message.parts
            ],
        )
        for message in messages
    ]
