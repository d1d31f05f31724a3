"""Whose experience a hint is taken from: source tasks by how much they have to do with a task."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from webagent.knowledge.levels import Relatedness
from webagent.knowledge.relevance import Relevance


@dataclass(frozen=True, slots=True)
class DescribedTask:
    """A task as sources are chosen by. `key` is the same for all versions of one task."""

    key: str
    sites: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The source that was chosen: its place among the candidates, and the score of its text.

    `n_tied`: how many candidates have this very score; one of them was drawn.
    """

    place: int
    score: float
    n_tied: int


class Sources:
    """The tasks that hints can come from, each once."""

    def __init__(self, candidates: Sequence[DescribedTask]) -> None:
        self._candidates = tuple(candidates)
        self._relevance = Relevance([each.text for each in self._candidates])

    def choose(self, target: DescribedTask, relatedness: Relatedness) -> Chosen | None:
        """The one source of this relatedness; None if no candidate has it.

        Sites are the same if all of them are, and others if none is shared. The task itself is
        a source for `same_task` alone. Among equal scores one is drawn that hangs on both tasks
        only, so that not all tasks get the same one, and the same choice is made every time.
        """
        places = [
            place
            for place, each in enumerate(self._candidates)
            if _is_of(each, target, relatedness)
        ]
        if not places:
            return None
        scores = self._relevance.scores(target.text)[places]
        is_highest = relatedness in (Relatedness.SAME_TASK, Relatedness.SAME_SITE_HIGHEST)
        wanted = float(scores.max() if is_highest else scores.min())
        tied = [
            place
            for place, is_tied in zip(places, np.isclose(scores, wanted), strict=True)
            if is_tied
        ]
        place = min(tied, key=lambda each: _draw(target.key, self._candidates[each].key))
        return Chosen(place=place, score=wanted, n_tied=len(tied))


def _is_of(candidate: DescribedTask, target: DescribedTask, relatedness: Relatedness) -> bool:
    if relatedness is Relatedness.SAME_TASK or candidate.key == target.key:
        return relatedness is Relatedness.SAME_TASK and candidate.key == target.key
    if relatedness is Relatedness.OTHER_SITE_LOWEST:
        return not candidate.sites & target.sites
    return candidate.sites == target.sites


def _draw(target: str, source: str) -> str:
    return hashlib.sha256(f"{target}\0{source}".encode()).hexdigest()
