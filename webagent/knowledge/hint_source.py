"""A successful run as those who write hints from it see it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from webagent.knowledge.literals import INTERFACE, Literals, literals_of, words_in
from webagent.knowledge.run_log import RunLog

SHORTEST_WORD = 4
"""Shorter words of a value that fills a slot are not told apart from those of any sentence."""
_SLOT = re.compile(r"\{\{[^{}\n]*\}\}")


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run that succeeded. `template` is its task's, with `{{slots}}`, where there is one."""

    log: RunLog
    template: str = ""

    @property
    def labels(self) -> str:
        """The words on the elements that were acted on, one element a line."""
        return "\n".join(label for step in self.log.steps for label in step.labels)

    @property
    def literals(self) -> Literals:
        """What belongs to this run alone: as `literals` says, and what its goal chose.

        That is what fills the slots of the template; without one, the labels that the goal names.
        """
        found = literals_of([self.log])
        phrases = set(found.phrases)
        if _SLOT.search(self.template):
            usual = set(words_in(f"{self.labels}\n{_SLOT.sub(' ', self.template)}"))
            chosen = [words_in(value) for value in self._slot_values()]
        else:
            usual = set()
            chosen = [words_in(label) for label in self._labels_in_goal()]
        for words in chosen:
            own = [word for word in words if word not in INTERFACE and word not in usual]
            if own:
                phrases.add(tuple(words))
                phrases.update((word,) for word in own if len(word) >= SHORTEST_WORD)
        return replace(found, phrases=frozenset(phrases))

    def _labels_in_goal(self) -> Iterator[str]:
        """Labels of elements that were acted on and that the goal names word for word."""
        goal = f" {' '.join(words_in(self.log.goal))} "
        for label in self.labels.splitlines():
            words = words_in(label)
            if words and f" {' '.join(words)} " in goal:
                yield label

    def _slot_values(self) -> list[str]:
        """What stands in the goal where its template has slots; nothing if they do not fit."""
        first, *others = _SLOT.split(self.template.strip())
        goal, position = self.log.goal.strip(), len(first)
        if not goal.startswith(first) or not others or not goal.endswith(others[-1]):
            return []
        values = []
        for following in others[:-1]:
            end = goal.find(following, position + 1)
            if end < 0:
                return []
            values.append(goal[position:end])
            position = end + len(following)
        values.append(goal[position : len(goal) - len(others[-1])])
        return values if len(goal) - len(others[-1]) > position else []
