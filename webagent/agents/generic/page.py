"""Cut a page's tree to a number of tokens around what matters, saying what was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from webagent.agents.generic.wording import filled
from webagent.llm.tokens import count_tokens
from webagent.trajectory.axtree import Node, parse_axtree

LONGEST_LINE = 400
"""Characters of one line of a tree that is cut anyway."""
NEAR = 2
"""Lines before and after one that matters that matter with it."""

_ACTING = (
    "button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio"
    " option radio searchbox slider spinbutton switch tab textbox treeitem"
)
ACTING_ROLES = frozenset(_ACTING.split())
_STRUCTURE = "heading LabelText columnheader rowheader dialog alert status"
_STRUCTURE_ROLES = frozenset(_STRUCTURE.split())
_WORD = re.compile(r"\w{3,}")
_QUOTED = re.compile(r"[\"“]([^\"”]{2,200})[\"”]|'([^']{2,200})'")
_COMMON_SHARE = 0.1


def can_be_acted_on(node: Node) -> bool:
    """Whether an element is there to be clicked, filled or chosen."""
    return node.bid is not None and (node.role in ACTING_ROLES or node.has("clickable"))


@dataclass(frozen=True, slots=True)
class Interest:
    """What a page is looked at for: texts with words that matter, and elements by their bid."""

    texts: tuple[str, ...] = ()
    bids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    node: Node | None
    parents: tuple[int, ...]

    @property
    def acts(self) -> bool:
        return self.node is not None and can_be_acted_on(self.node)


def cut_tree(tree: str, tokens: int, interest: Interest, note: str) -> str:
    """The tree within so many tokens; empty if not even a note fits.

    Kept come first the page itself, the elements of interest and what they stand in, then their
    neighbours, then what can be acted on, then headings and labels, then the rest from near to
    far. Equal trees and interests are cut equally.

    Args:
        note: stands for lines left out; has slots for `lines` and `acting`.
    """
    if count_tokens(tree) <= tokens:
        return tree
    lines = _read(tree)
    order = _by_importance(lines, interest)
    best = ""
    low, high = 0, len(order)
    while low <= high:
        middle = (low + high) // 2
        text = _drawn(lines, order[:middle], note)
        if count_tokens(text) <= tokens:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


def _read(tree: str) -> list[_Line]:
    lines: list[_Line] = []
    above: list[tuple[int, int]] = []
    for index, text in enumerate(tree.split("\n")):
        nodes = parse_axtree(text)
        depth = len(text) - len(text.lstrip("\t"))
        while above and above[-1][0] >= depth:
            above.pop()
        parents = tuple(parent for _, parent in above)
        lines.append(_Line(_short(text), nodes[0] if nodes else None, parents))
        above.append((depth, index))
    return lines


def _short(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} characters left out)"


def _by_importance(lines: Sequence[_Line], interest: Interest) -> list[int]:
    """The lines, most important first."""
    matching = _matching(lines, interest.texts)
    anchors = {
        index
        for index, line in enumerate(lines)
        if index in matching or (line.node is not None and line.node.bid in interest.bids)
    }
    near = {index + offset for index in anchors for offset in range(-NEAR, NEAR + 1)} & set(
        range(len(lines))
    )
    distance = _distances(len(lines), anchors)

    def rank(index: int) -> tuple[int, int, int]:
        line = lines[index]
        if index == 0:
            return 0, 0, 0
        if line.node is not None and line.node.bid in interest.bids:
            return 0, 0, index
        if index in matching:
            return 1, -matching[index], index
        if index in near:
            return 2, distance[index], index
        if line.acts:
            return 3, distance[index], index
        if line.node is not None and line.node.role in _STRUCTURE_ROLES:
            return 4, distance[index], index
        return 5, distance[index], index

    return sorted(range(len(lines)), key=rank)


def _matching(lines: Sequence[_Line], texts: Iterable[str]) -> dict[int, int]:
    """How many words of interest each line has; a quoted phrase counts for ten.

    Words that stand in many lines tell nothing and are passed over.
    """
    texts = list(texts)
    phrases = {
        phrase.casefold()
        for text in texts
        for pair in _QUOTED.findall(text)
        for phrase in pair
        if phrase
    }
    words = {word for text in texts for word in _words(text)}
    found: dict[int, tuple[set[str], int]] = {}
    spread: Counter[str] = Counter()
    for index, line in enumerate(lines):
        shown = f"{line.node.name} {line.node.value or ''}" if line.node else line.text
        shared = words & _words(shown)
        spread.update(shared)
        n_phrases = sum(phrase in shown.casefold() for phrase in phrases)
        if shared or n_phrases:
            found[index] = (shared, n_phrases)
    most = max(3, int(len(lines) * _COMMON_SHARE))
    scores = {
        index: 10 * n_phrases + sum(spread[word] <= most for word in shared)
        for index, (shared, n_phrases) in found.items()
    }
    return {index: score for index, score in scores.items() if score}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _distances(n: int, anchors: Collection[int]) -> list[int]:
    """How far each line is from the nearest anchor; from the top if there is none."""
    far = [n + index for index in range(n)]
    for indices in (range(n), range(n - 1, -1, -1)):
        last: int | None = None
        for index in indices:
            last = index if index in anchors else last
            if last is not None:
                far[index] = min(far[index], abs(index - last))
    return far


def _drawn(lines: Sequence[_Line], chosen: Sequence[int], note: str) -> str:
    """The chosen lines and all that they stand in, with notes in the gaps."""
    kept = set(chosen)
    for index in chosen:
        kept.update(lines[index].parents)
    shown: list[str] = []
    gap: list[_Line] = []
    for index, line in enumerate(lines):
        if index in kept:
            shown += _noted(gap, note)
            gap = []
            shown.append(line.text)
        else:
            gap.append(line)
    return "\n".join(shown + _noted(gap, note))


def _noted(gap: Sequence[_Line], note: str) -> list[str]:
    if not gap:
        return []
    indent = "\t" * min(len(line.parents) for line in gap)
    return [indent + filled(note, lines=len(gap), acting=sum(line.acts for line in gap))]
