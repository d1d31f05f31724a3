"""How much texts have to do with one another, by the words that they share (BM25)."""

import hashlib
import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from webagent.knowledge.entries import Relatedness

METHOD = "bm25-lucene k1=1.5 b=0.75"
"""What a stored score was computed by. This variant's scores are never negative."""

# What is written without spaces is compared by pairs of characters.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
_WORDS = re.compile(rf"{_UNSPACED}+|(?:(?!{_UNSPACED})\w)+")
_IS_UNSPACED = re.compile(_UNSPACED)


class Relevance:
    """Texts indexed once, to be asked as often as there are queries."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._n_texts = len(texts)
        words = [words_of(text) for text in texts]
        self._known = {word for each in words for word in each}
        # It takes a while to load, so those load it who compare.
        import bm25s

        # It sets its own logger to the lowest level as it is loaded.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        if self._known:
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of each text, in their order: 0 where no word is shared.

        Returns:
            shape (texts,), at least 0, no upper limit; comparable within one index only.
        """
        words = [word for word in words_of(query) if word in self._known]
        if not words:
            return np.zeros(self._n_texts)
        return np.asarray(self._index.get_scores(words), dtype=np.float64)

    def best(self, query: str, n: int) -> list[tuple[int, float]]:
        """Place and score of up to n texts that share words with the query, best first.

        Of equal scores the earlier text comes first.
        """
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:n]
        return [(int(place), float(scores[place])) for place in order if scores[place] > 0]


def words_of(text: str) -> list[str]:
    """The words that are compared: without case and width, long runs of kanji or kana in pairs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words: list[str] = []
    for word in _WORDS.findall(folded):
        if _IS_UNSPACED.match(word) and len(word) > 2:
            words += [word[place : place + 2] for place in range(len(word) - 1)]
        else:
            words.append(word)
    return words


def share_in_common(words: Iterable[str], others: Iterable[str]) -> float:
    """Of all different words of two texts the share that both have; 1 where there are none."""
    first, second = set(words), set(others)
    return len(first & second) / len(first | second) if first | second else 1.0


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


@dataclass(frozen=True, slots=True)
class Ties:
    """Of `n` sources of a relatedness, how many were drawn by lot among equal scores.

    `median`: how many candidates shared the score where one was drawn; None where none was.
    """

    n: int
    drawn: int
    median: float | None


def ties_among(n_tied: Sequence[int]) -> Ties:
    """The ties of these sources, each told by how many candidates had its score."""
    among = [n for n in n_tied if n > 1]
    return Ties(len(n_tied), len(among), median(among) if among else None)


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
