"""Web knowledge in the generic agent's prompt: a set's content, and how much of it is told."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webagent.agents.generic.request import FOLDER
from webagent.knowledge.entries import Entry, hash_of
from webagent.knowledge.relevance import Relevance, words_of
from webagent.llm.budget import count_tokens
from webagent.llm.untrusted import Wording, read_wording, visible
from webagent.trajectory.records import Json

_GRAMMAR = """
a all an and are as at be by for from has have in is it its of on or that the their then there this
to was were what when which who will with your
"""
GRAMMAR = frozenset(_GRAMMAR.split())
"""Words that tell nothing of what a goal is about."""


class Selection(StrEnum):
    """Which entries an agent is told."""

    ALL = "all"
    """In the order of the set, as many as the budget holds."""
    RELEVANT = "relevant"
    """Those whose intents share most with the goal (BM25)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A text for a prompt. `shown` are the places of its entries, `tokens` its length."""

    text: str
    shown: tuple[int, ...]
    tokens: int


def knowledge_block(
    entries: Sequence[Entry],
    *,
    goal: str,
    budget: int,
    selection: Selection = Selection.ALL,
    top: int = 10,
) -> Block:
    """The entries as an agent reads them, whole ones only, within so many tokens.

    Args:
        top: how many at most where only the relevant ones are told.
    """
    if selection is Selection.RELEVANT:
        about = " ".join(word for word in words_of(goal) if word not in GRAMMAR)
        best = Relevance([entry.intent for entry in entries]).best(about, top)
        order = [place for place, _score in best]
    else:
        order = list(range(len(entries)))
    texts: list[str] = []
    shown: list[int] = []
    tokens = 0
    for place in order:
        text = entries[place].text
        taken = count_tokens(f"\n{text}" if texts else text)
        if tokens + taken > budget:
            continue
        texts.append(text)
        shown.append(place)
        tokens += taken
    return Block(text="\n".join(texts), shown=tuple(shown), tokens=tokens)


VERSION = "1"
_OPENING, _CLOSING = "<web_knowledge>", "</web_knowledge>"


class KnowledgeSettings(BaseModel):
    """A set of knowledge as it was when the agent was configured, so that runs can be repeated.

    `set` says which, in words; `sha256` is that of the entries. `select`: all of them as far as
    the budget holds them, or the `top` whose intents have most to do with the goal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: str = Field(min_length=1, max_length=300)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    select: Selection = Selection.ALL
    top: int = Field(default=10, ge=1, le=1000)
    entries: tuple[Entry, ...] = Field(min_length=1, max_length=5000)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if hash_of(self.entries) != self.sha256:
            raise ValueError("sha256: it is not that of the entries")
        return self


class KnowledgeWriter:
    """Makes the block of one agent: the same text at every step with the same goal."""

    def __init__(self, settings: KnowledgeSettings) -> None:
        self._settings = settings
        self._entries = [
            Entry(intent=_safe(each.intent), ok=_safe(each.ok), ng=_safe(each.ng))
            for each in settings.entries
        ]
        self._made: dict[tuple[str, int], Block] = {}
        self._given: Block | None = None
        self._room = 0

    def block(self, goal: str, tokens: int) -> Block:
        """What the agent is told within so many tokens, the words around it included."""
        if (goal, tokens) not in self._made:
            self._made[goal, tokens] = knowledge_block(
                self._entries,
                goal=goal,
                budget=max(0, tokens - count_tokens(framed("x"))),
                selection=self._settings.select,
                top=self._settings.top,
            )
        self._given, self._room = self._made[goal, tokens], tokens
        return self._given

    def given(self, budget: int | None) -> Json | None:
        """What the block made last holds of the set; None before the first.

        Args:
            budget: tokens that the agent's settings give to knowledge; `room_tokens` says what of
                them the prompt had, which may be less.
        """
        if self._given is None:
            return None
        left_out = sorted(set(range(len(self._entries))) - set(self._given.shown))
        return {
            "set": self._settings.set,
            "sha256": self._settings.sha256,
            "budget_tokens": budget,
            "room_tokens": self._room,
            "tokens": self._given.tokens,
            "given": len(self._given.shown),
            "left_out": list(left_out),
        }


def framed(text: str) -> str:
    """The block with the words that stand around it; empty if there is none."""
    return _wording().filled("knowledge", text=text) if text else ""


def knowledge_version() -> str:
    """Version and hash of those words, for the agent's description."""
    return f"knowledge {VERSION} ({_wording().sha256[:12]})"


def _wording() -> Wording:
    return read_wording(f"knowledge-{VERSION}", FOLDER)


def _safe(text: str) -> str:
    return visible(text).replace(_CLOSING, "‹/web_knowledge>").replace(_OPENING, "‹web_knowledge>")
