"""Texts from outside on their way into a prompt, and replies as the objects that were asked for.

Everything here is a function of the texts alone, so that equal questions are equal requests.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

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
