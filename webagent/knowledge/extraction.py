"""Raw web knowledge: what a model finds in the log of one run, without its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from webagent.knowledge.asking import (
    MAX_ASKS,
    BadReply,
    Conversation,
    Wording,
    load_wording,
    strict_schema,
)
from webagent.knowledge.entries import LONGEST_TEXT, RawEntry
from webagent.knowledge.run_log import RunLog
from webagent.llm.interface import LanguageModel, Message, Request
from webagent.llm.untrusted import marked_block, visible, word_outside

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
    return Request(
        model=model,
        system=wording.filled("system"),
        messages=(Message.user(words),),
        schema=strict_schema(_Reply),
        schema_name="web_knowledge",
        max_tokens=MAX_TOKENS,
    )


def extract(
    model: LanguageModel,
    name: str,
    log: RunLog,
    *,
    wording: Wording | None = None,
    max_asks: int = MAX_ASKS,
) -> Extracted:
    """The knowledge in a run's log, each entry with steps of the log that it rests on.

    Args:
        name: of the model, in the registry.

    Raises:
        BadReply: the model gave nothing of the form, or named steps that there are none of.
        ModelFailure: the model gave no reply.
    """
    wording = wording or load_wording()
    asked = Conversation(model, extraction_request(name, log, wording), wording)
    while True:
        reply = asked.reply(_Reply, max_asks=max_asks)
        problems = _problems(reply.entries, log)
        if not problems:
            return _extracted(reply.entries, log, asked.asks)
        if asked.asks >= max_asks:
            raise BadReply(problems[0])
        asked.object_to(problems)


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


def _extracted(entries: Sequence[_Entry], log: RunLog, asks: int) -> Extracted:
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
    return Extracted(entries=kept, n_without_ng=len(entries) - len(kept), asks=asks)
