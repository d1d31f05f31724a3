"""Ask a model for an object of a schema; extract raw web knowledge from one run's log."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from webagent.knowledge.entries import LONGEST_TEXT, RawEntry, RunLog
from webagent.llm.interface import LanguageModel, Message, Reply, Request
from webagent.llm.untrusted import (
    Form,
    InvalidReplyError,
    filled,
    marked_block,
    read_json,
    visible,
    word_outside,
)

FOLDER = Path(__file__).parent / "knowledge_prompts"
VERSION = "1"
MAX_ASKS = 3
"""How often a reply is asked for that keeps being wrong."""
MOST_PROBLEMS = 20
LONGEST_REPLY = 200_000


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
def load_wording(version: str = VERSION, folder: Path = FOLDER) -> Wording:
    """The prompts of that version: of knowledge, or of what else has a folder of them."""
    content = (folder / f"{version}.toml").read_bytes()
    return Wording(version, sha256(content).hexdigest(), tomllib.loads(content.decode()))


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
                read = read_json(reply.text, form, LONGEST_REPLY)
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
        told = "\n".join(f"- {visible(problem)}" for problem in problems[:MOST_PROBLEMS])
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


MAX_TOKENS = 4096
MOST_ENTRIES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What one run taught. `n_without_ng` entries were dropped, since nothing went wrong there."""

    entries: tuple[RawEntry, ...]
    n_without_ng: int
    asks: int


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    intent: str = Field(min_length=1, max_length=LONGEST_TEXT)
    ok: str = Field(max_length=LONGEST_TEXT)
    ng: str = Field(max_length=LONGEST_TEXT)
    steps: list[int]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    entries: list[_Entry] = Field(max_length=MOST_ENTRIES)


def extraction_request(model: str, log: RunLog, wording: Wording) -> Request:
    """The question that a run's knowledge is asked for with."""
    text = log.text
    mark = word_outside((text, log.site), "extract")
    words = wording.filled(
        "extract", mark=mark, site=visible(log.site) or "?", log=marked_block("log", mark, text)
    )
    return wording.request(model, words, _Reply, "web_knowledge", MAX_TOKENS)


def extract(model: LanguageModel, name: str, log: RunLog) -> Extracted:
    """The knowledge in a run's log, each entry with steps of the log that it rests on.

    Args:
        name: of the model, in the registry.

    Raises:
        BadReply: the model gave nothing of the form, or named steps that do not exist.
        ModelFailure: the model gave no reply.
    """
    wording = load_wording()
    asked = Conversation(model, extraction_request(name, log, wording), wording)
    entries = asked.reply(_Reply, lambda reply: _problems(reply.entries, log)).entries
    kept = tuple(
        RawEntry(
            intent=entry.intent.strip(),
            ok=entry.ok.strip(),
            ng=entry.ng.strip(),
            run=log.run,
            steps=tuple(sorted(set(entry.steps))),
        )
        for entry in entries
        if entry.ng.strip()
    )
    return Extracted(entries=kept, n_without_ng=len(entries) - len(kept), asks=asked.asks)


def _problems(entries: Sequence[_Entry], log: RunLog) -> list[str]:
    known = {step.index for step in log.steps}
    found = []
    for number, entry in enumerate(entries, start=1):
        if unknown := sorted(set(entry.steps) - known):
            found.append(f"entry {number} names steps that are not in the log: {unknown[:10]}")
        if entry.ng.strip() and not entry.steps:
            found.append(f"entry {number} names no steps")
        if not entry.intent.strip():
            found.append(f"entry {number} has no intent")
    return found
