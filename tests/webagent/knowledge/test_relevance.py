"""BM25 over texts: the formula, words of several scripts, and what has no words."""

from __future__ import annotations

from math import log

import pytest

from webagent.knowledge.relevance import Relevance, words_of

TEXTS = [
    "Show the order history of March",
    "Cancel the order 302",
    "Find the cheapest lamp",
]


def test_scores_are_those_of_the_formula() -> None:
    found = Relevance(TEXTS).scores("cancel order")

    lengths = [6, 4, 4]
    mean = sum(lengths) / 3

    def weight(of_texts: int, length: int) -> float:
        idf = log(1 + (3 - of_texts + 0.5) / (of_texts + 0.5))
        return idf / (1 + 1.5 * (1 - 0.75 + 0.75 * length / mean))

    expected = [weight(2, 6), weight(2, 4) + weight(1, 4), 0]
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_the_best_share_words_and_come_best_first() -> None:
    relevance = Relevance(TEXTS)

    assert [place for place, _score in relevance.best("the order 302", 5)] == [1, 0, 2]
    assert [place for place, _score in relevance.best("the order 302", 1)] == [1]
    assert relevance.best("nothing in common", 5) == []


def test_equal_scores_keep_the_order_of_the_texts() -> None:
    assert [place for place, _ in Relevance(["a lamp", "a lamp", "a lamp"]).best("lamp", 2)] == [
        0,
        1,
    ]


@pytest.mark.parametrize("texts", [[], [""], ["", "!?"]])
def test_what_has_no_words_scores_nothing(texts: list[str]) -> None:
    relevance = Relevance(texts)

    assert relevance.scores("order").tolist() == [0.0] * len(texts)
    assert relevance.best("", 3) == []


def test_case_width_and_japanese() -> None:
    assert words_of("Ｏｒｄｅｒ #302, ORDER") == ["order", "302", "order"]
    assert words_of("注文履歴を見る LAMP") == [
        "注文",
        "文履",
        "履歴",
        "歴を",
        "を見",
        "見る",
        "lamp",
    ]
    places = Relevance(["注文履歴を表示する", "ランプを探す"]).best("先月の注文履歴", 2)
    assert [place for place, _score in places] == [0]
