"""Texts from outside on their way into a prompt, and replies as the objects that were asked for.

Equal texts are put into equal prompts: what stands there is a function of the texts alone. A reply
that is not what was asked for is sent back with what is wrong.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from webagent.llm.interface import LanguageModel, Message, Reply, Request
from webagent.trajectory.values import field_errors

_HIDING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
"""Letters and signs by category, but with nothing to see."""

_NOT_PLAIN = re.compile(r"[^\n\t -~]")

_CHAT_MARKS = re.compile(
    r"<(?=\|)|<(?=/?s>|<SYS>>|</SYS>>|/?(?:start_of_turn|end_of_turn|bos|eos|im_start|im_end)>)"
    r"|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""Where a mark begins that chat templates of open models use; servers may read them in texts."""
_HARMLESS = {"<": "‹", "[": "⁅"}
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def visible(text: str) -> str:
    """The text with characters that hide or reorder others written out as ⟨U+200B⟩.

    Line ends become \\n, and marks of chat templates lose their first character.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _NOT_PLAIN.sub(lambda found: _shown(found[0]), text)
    return _CHAT_MARKS.sub(lambda found: _HARMLESS[found[0]], text)


def bounded(text: str, longest: int) -> str:
    """The text, or its beginning and its end with a note of what was left out between them."""
    if len(text) <= longest:
        return text
    tail = longest // 5
    left_out = len(text) - longest
    note = f"[… {left_out} characters left out …]"
    return f"{text[: longest - tail]}\n{note}\n{text[len(text) - tail :]}"


def marked_block(name: str, mark: str, text: str) -> str:
    """The text between an opening and a closing line that bear its name and the mark."""
    return f"<<< {name} {mark}\n{text}\n<<< end of {name} {mark}"


def filled(words: str, /, **texts: object) -> str:
    """The words with every slot `{{name}}` filled. What is filled in is not looked at again.

    Raises:
        KeyError: a slot has no text.
    """
    return _SLOT.sub(lambda slot: str(texts[slot[1]]), words)


def word_outside(texts: Iterable[str], purpose: str) -> str:
    """Twelve hex digits, derived from the texts, that no text holds in either case."""
    known = list(texts)
    together = "\n".join(known).lower()
    digest = hashlib.sha256(purpose.encode())
    for text in known:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"\0{len(content)}\0".encode() + content)
    word = digest.hexdigest()
    while word[:12] in together:
        word = hashlib.sha256(word.encode()).hexdigest()
    return word[:12]


def _hides(character: str) -> bool:
    return (
        unicodedata.category(character) in _HIDING
        or character in _BLANK_LETTERS
        or "\ufe00" <= character <= "\ufe0d"
        or "\U000e0000" <= character <= "\U000e0fff"
    )


def _shown(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if _hides(character) else character


FENCE = "```"
LONGEST_REPLY = 50_000
MOST_PROBLEMS = 5
Form = TypeVar("Form", bound=BaseModel)
_LANGUAGE = re.compile(r"[\w+./#-]*")


def without_fence(text: str) -> str:
    """The text inside a single Markdown code block; the text itself where there is none around it.

    The fence's first line may name a language.
    """
    text = text.strip()
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return text
    inner = text.removeprefix(FENCE).removesuffix(FENCE)
    first, line_break, rest = inner.partition("\n")
    names_language = bool(line_break and _LANGUAGE.fullmatch(first.strip()))
    return (rest if names_language else inner).strip()


class InvalidReplyError(ValueError):
    """A reply that is not of the form asked for; says what is wrong, in words for the model."""


def read_json(text: str, form: type[Form], longest: int = LONGEST_REPLY) -> Form:
    """The JSON object of a reply, a single Markdown code block around it allowed for.

    Raises:
        InvalidReplyError: it is none, lacks something, or has more than `longest` characters.
    """
    if len(text) > longest:
        raise InvalidReplyError(f"it is longer than {longest} characters")
    try:
        return form.model_validate_json(without_fence(text))
    except ValidationError as error:
        raise InvalidReplyError("; ".join(map(str, field_errors(error)[:MOST_PROBLEMS]))) from error


MAX_ASKS = 3
"""How often a reply is asked for that keeps being wrong."""
MOST_OBJECTIONS = 20
LONGEST_OBJECT = 200_000


class BadReply(ValueError):
    """The model gave no valid reply; the message says what was wrong last, or first of it."""

    def __init__(self, problems: Sequence[str], asks: int) -> None:
        super().__init__(problems[0])
        self.problems = problems
        self.asks = asks


@dataclass(frozen=True, slots=True)
class Wording:
    """The prompts of a version, and the SHA-256 of their file."""

    version: str
    sha256: str
    parts: Mapping[str, str]

    def filled(self, part: str, **texts: str) -> str:
        """A part with every slot filled. What is filled in is not looked at again."""
        return filled(self.parts[part], **texts).strip()

    def request(
        self, model: str, words: str, form: type[BaseModel], name: str, max_tokens: int
    ) -> Request:
        """The words under the system prompt, to be answered by the form of that name."""
        return Request(
            model=model,
            system=self.filled("system"),
            messages=(Message.user(words),),
            schema=strict_schema(form),
            schema_name=name,
            max_tokens=max_tokens,
        )


@cache
def read_wording(version: str, folder: Path) -> Wording:
    """The prompts of that version in the folder."""
    content = (folder / f"{version}.toml").read_bytes()
    return Wording(version, hashlib.sha256(content).hexdigest(), tomllib.loads(content.decode()))


@dataclass(slots=True)
class Conversation:
    """One question with the replies to it, and what was wrong with each that was sent back.

    Args:
        repair: part of the wording that says what is wrong, where nothing else is said.
    """

    model: LanguageModel
    request: Request
    wording: Wording
    repair: str = "repair"
    replies: list[Reply] = field(default_factory=list)
    faults: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def asks(self) -> int:
        """How often the model was asked."""
        return len(self.replies)

    def reply(self, form: type[Form], check: Callable[[Form], Sequence[str]]) -> Form:
        """An object of the form with which nothing is wrong, asked for `MAX_ASKS` times in all.

        Args:
            check: what else is wrong with an object, in words for the model.

        Raises:
            BadReply: there was none.
            ModelFailure: the model gave no reply.
        """
        while True:
            reply = self.model.complete(self.request)
            self.replies.append(reply)
            # Providers refuse messages without text.
            said = Message.assistant(visible(reply.text).strip() or "(nothing)")
            self.request = replace(self.request, messages=(*self.request.messages, said))
            try:
                read = read_json(reply.text, form, LONGEST_OBJECT)
            except InvalidReplyError as error:
                problems: Sequence[str] = [str(error)]
            else:
                if not (problems := check(read)):
                    return read
            if self.asks >= MAX_ASKS:
                raise BadReply(problems, self.asks)
            self.object_to(problems)

    def object_to(self, problems: Sequence[str], part: str = "") -> None:
        """Say what is wrong with the last reply, so that the next one is better."""
        self.faults.append(tuple(problems))
        told = "\n".join(f"- {visible(problem)}" for problem in problems[:MOST_OBJECTIONS])
        said = Message.user(self.wording.filled(part or self.repair, problems=told))
        self.request = replace(self.request, messages=(*self.request.messages, said))


def strict_schema(form: type[BaseModel]) -> dict[str, object]:
    """The form's JSON schema as providers hold their models to it: all members required.

    `oneOf` becomes `anyOf`, the only choice they know.
    """
    return _strict(form.model_json_schema())


_UNKNOWN_TO_PROVIDERS = frozenset(
    ["title", "default", "discriminator", "minLength", "maxLength", "minItems", "maxItems"]
)


def _strict(schema: dict[str, object]) -> dict[str, object]:
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
