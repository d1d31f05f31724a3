"""A successful run as those who write hints from it see it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from webagent.knowledge.literals import INTERFACE, Literals, literals_of, words_in
from webagent.knowledge.run_log import RunLog

SHORTEST_WORD = 4
"""Shorter words of a value that fills a slot are not told apart from those of any sentence."""
_SLOT = re.compile(r"\\\{\\\{.*?\\\}\\\}")
_SLOTS = re.compile(r"\{\{.*?\}\}")


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
        """What belongs to this run alone: as `literals` says, and what fills the template."""
        found = literals_of([self.log])
        usual = set(words_in(f"{self.labels}\n{_SLOTS.sub(' ', self.template)}"))
        phrases = set(found.phrases)
        for value in self._slot_values():
            words = words_in(value)
            own = [word for word in words if word not in INTERFACE and word not in usual]
            if own:
                phrases.add(tuple(words))
                phrases.update((word,) for word in own if len(word) >= SHORTEST_WORD)
        return replace(found, phrases=frozenset(phrases))

    def _slot_values(self) -> Iterator[str]:
        """What stands in the goal where its template has slots; nothing if they do not fit."""
        if _SLOTS.search(self.template):
            pattern = _SLOT.sub("(.+?)", re.escape(self.template.strip()))
            if fitting := re.fullmatch(pattern, self.log.goal.strip(), re.DOTALL):
                yield from fitting.groups()
