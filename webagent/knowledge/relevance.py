"""How much texts have to do with one another, by the words that they share (BM25)."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
