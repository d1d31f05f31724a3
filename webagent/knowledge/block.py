"""What agents are told of a set of knowledge: all of it or what is relevant, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from webagent.knowledge.entries import Entry
from webagent.knowledge.relevance import Relevance, words_of

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
    count: Callable[[str], int],
    selection: Selection = Selection.ALL,
    top: int = 10,
) -> Block:
    """The entries as an agent reads them, whole ones only, within so many tokens.

    Args:
        count: how many tokens a text has at most; joining two must not count more than both.
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
        taken = count(f"\n{text}" if texts else text)
        if tokens + taken > budget:
            continue
        texts.append(text)
        shown.append(place)
        tokens += taken
    return Block(text="\n".join(texts), shown=tuple(shown), tokens=tokens)
