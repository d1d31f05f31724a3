"""Cut a page's tree to a number of tokens around what matters, saying what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from webagent.agents.generic.interest import Interest, Line, by_importance, read_lines
from webagent.agents.generic.wording import filled
from webagent.llm.tokens import count_tokens

CUT = "2"
"""Goes with each run of an agent; another one where other lines of an equal page are kept."""
LONGEST_LINE = 400
"""Characters of one line of a tree that is cut anyway."""
SMALL_GAP = 4
"""So few lines stand in for the note of their absence where that would be no shorter."""


def cut_tree(tree: str, tokens: int, interest: Interest, note: str) -> str:
    """The tree within so many tokens; empty if not even a note fits.

    Equal trees and interests are cut equally. Every line is kept with those that it stands in.

    Args:
        note: stands for lines left out; has slots for `lines` and `acting`.
    """
    if count_tokens(tree) <= tokens:
        return tree
    lines = read_lines(tree)
    drawer = _Drawer(lines, note)
    order = by_importance(lines, interest)
    best = ""
    low, high = 0, len(order)
    while low <= high:
        middle = (low + high) // 2
        text = drawer.drawn(order[:middle])
        if count_tokens(text) <= tokens:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


class _Drawer:
    def __init__(self, lines: Sequence[Line], note: str) -> None:
        self._lines = lines
        self._note = note
        self._shown = [_short(line.text) for line in lines]

    def drawn(self, chosen: Sequence[int]) -> str:
        """The chosen lines and all that they stand in, with notes in the gaps."""
        kept = set(chosen)
        for index in chosen:
            kept.update(self._lines[index].parents)
        shown: list[str] = []
        gap: list[int] = []
        for index, text in enumerate(self._shown):
            if index in kept:
                shown += self._noted(gap)
                gap = []
                shown.append(text)
            else:
                gap.append(index)
        return "\n".join(shown + self._noted(gap))

    def _noted(self, gap: Sequence[int]) -> list[str]:
        if not gap:
            return []
        lines = [self._lines[index] for index in gap]
        indent = "\t" * min(len(line.parents) for line in lines)
        acting = sum(line.acts for line in lines)
        note = indent + filled(self._note, lines=len(lines), acting=acting)
        if len(gap) <= SMALL_GAP:
            missing = [self._shown[index] for index in gap]
            if count_tokens("\n".join(missing)) <= count_tokens(note):
                return missing
        return [note]


def _short(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} characters left out)"
