"""Asking a model for an object of a form, again with what is wrong where it is not right."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from webagent.field_errors import field_errors
from webagent.llm.interface import LanguageModel, Message, Reply, Request
from webagent.llm.untrusted import visible, without_fence

FOLDER = Path(__file__).parent / "knowledge_prompts"
VERSION = "1"
MAX_ASKS = 3
"""How often a reply is asked for that keeps being wrong."""
MOST_PROBLEMS = 20
LONGEST_REPLY = 200_000
_SLOT = re.compile(r"\{\{(\w+)\}\}")

Form = TypeVar("Form", bound=BaseModel)


class BadReply(ValueError):
    """The model gave nothing of the form asked for; says what was wrong last."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The prompts of a version, and the SHA-256 of their file."""

    version: str
    sha256: str
    parts: Mapping[str, str]

    def filled(self, part: str, **texts: str) -> str:
        """A part with every slot filled. What is filled in is not looked at again."""
        return _SLOT.sub(lambda slot: texts[slot[1]], self.parts[part]).strip()


@cache
def load_wording(version: str = VERSION, folder: Path = FOLDER) -> Wording:
    """The prompts of that version: of knowledge, or of what else has a folder of them."""
    content = (folder / f"{version}.toml").read_bytes()
    return Wording(version, sha256(content).hexdigest(), tomllib.loads(content.decode()))


class Conversation:
    """One question with the replies to it, and what was wrong with each that was sent back.

    Args:
        repair: part of the wording that says what is wrong, where nothing else is said.
    """

    def __init__(
        self, model: LanguageModel, request: Request, wording: Wording, repair: str = "repair"
    ) -> None:
        self._model = model
        self._request = request
        self._wording = wording
        self._repair = repair
        self.replies: list[Reply] = []
        self.faults: list[tuple[str, ...]] = []

    @property
    def asks(self) -> int:
        """How often the model was asked."""
        return len(self.replies)

    def reply(self, form: type[Form], *, max_asks: int = MAX_ASKS) -> Form:
        """An object of the form, asked for so often in all.

        Raises:
            BadReply: there was none.
            ModelFailure: the model gave no reply.
        """
        while True:
            reply = self._model.complete(self._request)
            self.replies.append(reply)
            # Providers refuse messages without text.
            said = Message.assistant(visible(reply.text).strip() or "(nothing)")
            self._request = replace(self._request, messages=(*self._request.messages, said))
            try:
                return _read(reply.text, form)
            except BadReply as bad:
                if self.asks >= max_asks:
                    raise
                self.object_to([str(bad)])

    def object_to(self, problems: Sequence[str], part: str = "") -> None:
        """Say what is wrong with the last reply, so that the next one is better."""
        self.faults.append(tuple(problems))
        told = "\n".join(f"- {visible(problem)}" for problem in problems[:MOST_PROBLEMS])
        said = Message.user(self._wording.filled(part or self._repair, problems=told))
        self._request = replace(self._request, messages=(*self._request.messages, said))


def strict_schema(form: type[BaseModel]) -> dict[str, object]:
    """The form's JSON schema as providers hold their models to it: all members required.

    Of several forms one fits: that is "any of" to them, and they know no other word for it.
    """
    schema: dict[str, object] = form.model_json_schema()
    return _strict(schema)


_UNKNOWN_TO_PROVIDERS = frozenset(
    ["title", "default", "discriminator", "minLength", "maxLength", "minItems", "maxItems"]
)


def _strict(schema: object) -> dict[str, object]:
    assert isinstance(schema, dict)  # noqa: S101 (mypy)
    kept = {
        "anyOf" if key == "oneOf" else key: _narrow(value)
        for key, value in schema.items()
        if key not in _UNKNOWN_TO_PROVIDERS
    }
    members = kept.get("properties")
    if isinstance(members, dict):
        kept |= {"required": list(members), "additionalProperties": False}
    return kept


def _narrow(value: object) -> object:
    if isinstance(value, dict):
        return _strict(value)
    return [_narrow(each) for each in value] if isinstance(value, list) else value


def _read(text: str, form: type[Form]) -> Form:
    if len(text) > LONGEST_REPLY:
        raise BadReply(f"it is longer than {LONGEST_REPLY} characters")
    try:
        return form.model_validate_json(without_fence(text))
    except ValidationError as error:
        raise BadReply("; ".join(map(str, field_errors(error)[:5]))) from None
