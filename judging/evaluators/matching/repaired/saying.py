"""What is compared: an answer, a reference, and what is known around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from judging.evaluators.matching.repaired.folding import fold, lower
from judging.evaluators.matching.repaired.rules import Rules


@dataclass(frozen=True, slots=True)
class Mention:
    """Where an answer says a reference. `number` where it says it as a number."""

    start: int
    end: int
    number: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, folded: `cased` and its lower-case twin `text` share positions."""

    raw: str
    cased: str
    text: str

    @classmethod
    def read(cls, raw: str, rules: Rules) -> Answer:
        """The answer under the rules in force."""
        cased = fold(raw, rules)
        return cls(raw=raw, cased=cased, text=lower(cased))


LONGEST_ANSWER = 10_000
"""Characters, of references too; the published verdict stands on longer ones."""
MOST_MENTIONS = 100
"""Of one reference in one answer: whether it is asserted is asked of the first ones."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is known besides the reference itself.

    `exact` where the reference is to be the whole answer; `siblings` are all references of the
    same list, folded and in lower case, this one included.
    """

    intent: str
    exact: bool
    siblings: tuple[str, ...] = ()
    host_aliases: tuple[tuple[str, ...], ...] = ()

    def asks(self, pattern: str) -> bool:
        """Whether the task's wording matches."""
        return re.search(pattern, self.intent) is not None

    @property
    def alone(self) -> bool:
        """Whether this is the only reference."""
        return self.exact or len(self.siblings) <= 1
