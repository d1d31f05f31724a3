"""BM25 over texts: the formula, words of several scripts, and what has no words."""

from math import log

import pytest

from webagent.knowledge.entries import Relatedness
from webagent.knowledge.relevance import DescribedTask, Relevance, Sources, words_of

TEXTS = ["Show the order history of March", "Cancel the order 302", "Find the cheapest lamp"]


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


def task(key: str, site: str, text: str) -> DescribedTask:
    return DescribedTask(key, frozenset({site}), text)


POOL = [
    task("orders-march", "shop", "Show the orders of March"),
    task("orders-may", "shop", "Show the orders of May"),
    task("refund", "shop", "Refund an invoice"),
    task("issue", "forge", "Close an issue"),
    task("show-orders", "forge", "Show the orders of merge requests"),
]
TARGET = task("orders-march", "shop", "Show the orders of March")


def key_of(target: DescribedTask, relatedness: Relatedness) -> str | None:
    chosen = Sources(POOL).choose(target, relatedness)
    return POOL[chosen.place].key if chosen else None


@pytest.mark.parametrize(
    ("relatedness", "expected"),
    [
        (Relatedness.SAME_TASK, "orders-march"),
        (Relatedness.SAME_SITE_HIGHEST, "orders-may"),
        (Relatedness.SAME_SITE_LOWEST, "refund"),
        (Relatedness.OTHER_SITE_LOWEST, "issue"),
    ],
)
def test_each_relatedness_has_one_source(relatedness: Relatedness, expected: str) -> None:
    assert key_of(TARGET, relatedness) == expected


def test_the_task_itself_is_a_source_for_the_same_task_alone() -> None:
    only = Sources([TARGET])

    assert only.choose(TARGET, Relatedness.SAME_TASK) is not None
    for relatedness in set(Relatedness) - {Relatedness.SAME_TASK}:
        assert only.choose(TARGET, relatedness) is None


def test_a_task_on_two_sites_is_neither_the_same_site_nor_another() -> None:
    both = DescribedTask("both", frozenset({"shop", "forge"}), "Show the orders")
    target = task("new", "shop", "Show the orders")

    for relatedness in set(Relatedness) - {Relatedness.SAME_TASK}:
        assert Sources([both]).choose(target, relatedness) is None


def test_among_equal_scores_the_draw_hangs_on_both_tasks_and_is_told() -> None:
    pool = [task(f"other-{n}", "forge", f"unlike{n}") for n in range(20)]
    sources = Sources(pool)
    targets = [task(f"task-{n}", "shop", "Refund an invoice") for n in range(20)]
    found = [sources.choose(each, Relatedness.OTHER_SITE_LOWEST) for each in targets]
    turned = Sources(pool[::-1])
    again = [turned.choose(each, Relatedness.OTHER_SITE_LOWEST) for each in targets]

    assert all(each is not None and each.n_tied == 20 and each.score == 0 for each in found)
    assert len({each.place for each in found if each}) > 5
    assert [pool[each.place].key for each in found if each] == [
        pool[::-1][each.place].key for each in again if each
    ]
